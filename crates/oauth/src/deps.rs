//! What signing in needs, for all servers and APIs.

use std::{fmt, sync::Arc};

use super::{
    authorizer::Authorizer, config::OauthConfig, credential::CredentialKey,
    credential_store::CredentialStore, http::HttpClient, secret_observer::SecretObserver,
    server_auth::ServerAuth, sign_in_pages::SignInPages,
};

/// What signing in needs: the same for all servers and APIs.
#[derive(Clone)]
pub struct OauthDeps {
    /// Speaks to authorization servers.
    pub http: HttpClient,
    /// Holds the sign-ins.
    pub store: Arc<dyn CredentialStore>,
    /// Where callers sign in to servers with `auth = "user"`.
    pub pages: Arc<SignInPages>,
    /// Is told every secret of a sign-in.
    pub observe: SecretObserver,
}

impl OauthDeps {
    /// Signs in with this client and store. No caller can sign in before a gateway serves the pages.
    pub fn new(http: HttpClient, store: Arc<dyn CredentialStore>, observe: SecretObserver) -> Self {
        let http = http.observed_by(observe.clone());
        Self { http, store, pages: Arc::default(), observe }
    }

    /// Creates the authorizer of a sign-in with these settings.
    pub fn authorizer(
        &self,
        key: CredentialKey,
        auth: ServerAuth,
        oauth: &OauthConfig,
    ) -> Arc<Authorizer> {
        let (http, store, observe) = (self.http.clone(), self.store.clone(), self.observe.clone());
        Arc::new(Authorizer::granted_by(auth.grant(), oauth.clone(), http, store, key, observe))
    }
}

impl fmt::Debug for OauthDeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OauthDeps").field("store", &self.store).finish_non_exhaustive()
    }
}
