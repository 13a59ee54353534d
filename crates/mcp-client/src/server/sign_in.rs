//! The sign-in of a server behind HTTP.

use std::sync::{Arc, Mutex, PoisonError};

use http::header::AUTHORIZATION;
use switchboard_oauth::{
    Authorizer, CredentialKey, OauthDeps, ServerAuth, SignInNeeded, SignInStatus,
};
use switchboard_toolcall::Principal;

use super::Server;
use crate::config::{ServerConfig, TransportKind};

/// A server's sign-in: the authorizer, and whether a person has to sign in.
#[derive(Default)]
pub(super) struct ServerSignIn {
    authorizer: Option<Arc<Authorizer>>,
    needed: Mutex<Option<SignInNeeded>>,
}

impl ServerSignIn {
    /// Creates no authorizer if the settings already have credentials, in a header or in the URL, or if each caller has one.
    pub(super) fn new(
        name: &str,
        kind: TransportKind,
        config: &ServerConfig,
        deps: Option<&OauthDeps>,
    ) -> Self {
        let has_header =
            config.headers.keys().any(|name| name.eq_ignore_ascii_case(AUTHORIZATION.as_str()));
        let key = config.url.as_deref().and_then(|url| CredentialKey::shared(name, url).ok());
        let key = key.filter(|key| {
            let has_user = !key.url.username().is_empty() || key.url.password().is_some();
            let is_shared = !config.is_per_caller();
            let is_remote = kind != TransportKind::Stdio && config.socket.is_none();
            is_shared && is_remote && !has_header && !has_user
        });
        let authorizer =
            key.zip(deps).map(|(key, deps)| deps.authorizer(key, config.auth, &config.oauth));
        Self::of(authorizer)
    }

    /// Creates the sign-in with this authorizer.
    pub(super) fn of(authorizer: Option<Arc<Authorizer>>) -> Self {
        Self { authorizer, needed: Mutex::default() }
    }

    /// Clears the need to sign in: the server has accepted us.
    pub(super) fn is_settled(&self) {
        *self.needed.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Server {
    /// Returns its authorizer; `None` if it is not signed in to.
    pub fn authorizer(&self) -> Option<&Arc<Authorizer>> {
        self.sign_in.authorizer.as_ref()
    }

    /// Returns the current sign-in; `None` if there is none.
    pub fn signed_in(&self) -> Option<SignInStatus> {
        self.authorizer()?.status()
    }

    /// Returns why a person has to sign in; `None` if nobody has to.
    pub fn needs_sign_in(&self) -> Option<SignInNeeded> {
        self.sign_in.needed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until somebody has signed in at another gateway that shares the sign-ins.
    pub(crate) async fn signed_in_elsewhere(&self) {
        match self.authorizer() {
            Some(authorizer) => authorizer.changed_elsewhere().await,
            None => std::future::pending().await,
        }
    }

    pub(crate) fn want_sign_in(&self, needed: SignInNeeded) {
        *self.sign_in.needed.lock().unwrap_or_else(PoisonError::into_inner) = Some(needed);
    }

    /// Returns a hint about how to sign in, for people and models.
    pub(crate) fn sign_in_hint(&self) -> String {
        let name = self.name();
        match self.config().auth {
            ServerAuth::Shared => format!("Sign in with `switchboard login {name}`."),
            ServerAuth::User => match self.user.as_ref().map(|user| &user.principal) {
                None | Some(Principal::Owner) => {
                    format!("Sign in with `switchboard login {name}`.")
                }
                Some(_) => {
                    "Callers sign in at a gateway: call through `switchboard serve`.".to_owned()
                }
            },
            ServerAuth::Exchange if self.config().is_per_caller() => format!(
                "Call through a gateway with a JWT that it takes ([serve.jwt]), or check [servers.{name}.oauth]."
            ),
            _ => format!("Nobody can sign in to it; check [servers.{name}.oauth]."),
        }
    }
}
