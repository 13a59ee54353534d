//! Puts the token of a sign-in into the requests to one server, and renews it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use switchboard_vault::{Secret, Vault};
use tokio::sync::Mutex as AsyncMutex;

use super::{
    challenge::Challenge,
    credential::{Credential, CredentialKey, blocking},
    error::Error,
    http::{HttpClient, trusted},
    metadata,
    token::{self, now},
};

/// How many seconds before its end a token is renewed.
const AHEAD: u64 = 60;

/// Called with every secret that a sign-in has, so that it can be redacted.
pub type SecretObserver = Arc<dyn Fn(&Secret) + Send + Sync>;

/// The sign-in of one server. Requests that share it renew it once, and so do processes that share the vault.
pub struct Authorizer {
    http: HttpClient,
    vault: Vault,
    key: CredentialKey,
    observe: SecretObserver,
    current: Mutex<Option<Arc<Credential>>>,
    /// Held while the sign-in is loaded or renewed.
    renewing: AsyncMutex<bool>,
    /// What the server last asked for.
    challenge: Mutex<Option<Challenge>>,
}

/// What to do about a request that the server refused.
#[derive(Debug)]
pub enum Remedy {
    /// Send it again, once, with this token.
    Retry(Secret),
    /// A person has to sign in.
    SignIn(SignInNeeded),
}

/// What is known of a sign-in that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInStatus {
    /// Who gave it.
    pub issuer: String,
    /// What was granted.
    pub scopes: Vec<String>,
    /// When its token ends, if that is known.
    pub until: Option<SystemTime>,
    /// Whether it is then renewed without a person.
    pub renews: bool,
}

/// Why a person has to sign in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignInNeeded {
    /// Nobody has, or the sign-in has ended.
    #[error("it wants a sign-in")]
    Missing,
    /// The server has moved to another authorization server.
    #[error("it wants a new sign-in, at another authorization server")]
    Moved,
    /// The sign-in has ended, and renewing it failed.
    #[error("its sign-in has ended: {0}")]
    Ended(String),
    /// The sign-in lacks scopes.
    #[error("it wants a sign-in with more scopes: {}", .0.join(" "))]
    Scopes(Vec<String>),
}

impl Authorizer {
    /// The sign-in `key` of the vault. Nothing is read yet.
    pub fn new(
        http: HttpClient,
        vault: Vault,
        key: CredentialKey,
        observe: SecretObserver,
    ) -> Self {
        let (current, renewing, challenge) =
            (Mutex::default(), AsyncMutex::new(false), Mutex::default());
        Self { http, vault, key, observe, current, renewing, challenge }
    }

    /// What the sign-in is for.
    pub fn key(&self) -> &CredentialKey {
        &self.key
    }

    /// The sign-in that requests use; `None` if they use none.
    pub fn status(&self) -> Option<SignInStatus> {
        self.current().map(|current| current.status())
    }

    /// What the server last asked for; the next sign-in asks for that.
    pub fn challenge(&self) -> Option<Challenge> {
        self.challenge.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the token for the next request, renewed if it is about to end; `None` if nobody has signed in. A token that
    /// cannot be renewed is returned as long as it may be good: the server decides.
    pub async fn token(&self) -> Option<Secret> {
        let current = self.current();
        if let Some(current) = current.filter(|current| !is_ending(current)) {
            return Some(current.access_token.clone());
        }
        let mut is_loaded = self.renewing.lock().await;
        let mut credential = self.current();
        if credential.is_none() && !*is_loaded {
            *is_loaded = true;
            credential = self.load().await;
        }
        let credential = credential?;
        if !is_ending(&credential) || !credential.is_renewable() {
            return Some(credential.access_token.clone());
        }
        match self.renew(&credential.access_token).await {
            Ok(renewed) => Some(renewed.access_token.clone()),
            Err(error) => {
                tracing::warn!(server = self.key.server, %error, "the sign-in could not be renewed");
                Some(credential.access_token.clone())
            }
        }
    }

    /// Decides about a request that was refused with 401, or with 403 for its scopes. `used` is the token that it had. The
    /// server has not begun to work on such a request, so it may be sent again.
    pub async fn refused(&self, challenge: Challenge, used: Option<&Secret>) -> Remedy {
        *self.challenge.lock().unwrap_or_else(PoisonError::into_inner) = Some(challenge.clone());
        let _renewing = self.renewing.lock().await;
        // Somebody may have renewed it, or signed in, meanwhile: in this process or another one.
        let Some(stored) = self.load().await else { return Remedy::SignIn(SignInNeeded::Missing) };
        if used != Some(&stored.access_token) {
            return Remedy::Retry(stored.access_token.clone());
        }
        if challenge.wants_more_scopes() {
            return Remedy::SignIn(self.want_scopes(challenge.scopes.unwrap_or_default()).await);
        }
        if self.has_moved(&stored, &challenge).await {
            return Remedy::SignIn(SignInNeeded::Moved);
        }
        if !stored.is_renewable() {
            return Remedy::SignIn(SignInNeeded::Missing);
        }
        match self.renew(&stored.access_token).await {
            Ok(renewed) => Remedy::Retry(renewed.access_token.clone()),
            Err(error) => Remedy::SignIn(SignInNeeded::Ended(error.to_string())),
        }
    }

    /// Renews the sign-in unless somebody else has: one process at a time, as each refresh token may be good for one use.
    async fn renew(&self, used: &Secret) -> Result<Arc<Credential>, Error> {
        let (key, used) = (self.key.clone(), used.clone());
        let name = key.name();
        let lock = blocking(&self.vault, move |vault| Ok(vault.lock(&name)?)).await?;
        let stored = blocking(&self.vault, move |vault| Credential::load(vault, &key)).await?;
        let mut credential =
            stored.ok_or_else(|| Error::Response("nobody is signed in any more".to_owned()))?;
        if credential.access_token == used {
            let refresh = credential.refresh_token.clone().unwrap_or_default();
            let grant = [
                ("grant_type", "refresh_token"),
                ("refresh_token", refresh.expose()),
                ("resource", &*credential.resource),
            ];
            let endpoint = trusted(&credential.token_endpoint, &self.key.url)?;
            let tokens = token::request(&self.http, &endpoint, &credential.client, &grant).await?;
            credential.renew(tokens);
            let (renewed, key) = (credential.clone(), self.key.clone());
            blocking(&self.vault, move |vault| renewed.store(vault, &key)).await?;
        }
        drop(lock);
        Ok(self.take_over(credential))
    }

    /// Whether the server names other authorization servers than the one that the sign-in is from. If that cannot be found
    /// out, the sign-in stays where it is.
    async fn has_moved(&self, stored: &Credential, challenge: &Challenge) -> bool {
        let found = metadata::protected_resource(&self.http, &self.key.url, challenge).await;
        let named =
            found.ok().flatten().map(|found| found.authorization_servers).unwrap_or_default();
        let plain = |issuer: &str| issuer.trim_end_matches('/').to_owned();
        !named.is_empty() && !named.iter().any(|named| plain(named) == plain(&stored.issuer))
    }

    /// Notes which scopes the next sign-in is to ask for.
    async fn want_scopes(&self, scopes: Vec<String>) -> SignInNeeded {
        let (key, wanted) = (self.key.clone(), scopes.clone());
        let noted = blocking(&self.vault, move |vault| {
            let _lock = vault.lock(&key.name())?;
            let Some(mut credential) = Credential::load(vault, &key)? else { return Ok(()) };
            let new = wanted.into_iter().filter(|scope| !credential.wanted_scopes.contains(scope));
            let new: Vec<_> = new.collect();
            credential.wanted_scopes.extend(new);
            credential.store(vault, &key)
        });
        if let Err(error) = noted.await {
            tracing::warn!(server = self.key.server, %error, "the wanted scopes could not be stored");
        }
        SignInNeeded::Scopes(scopes)
    }

    async fn load(&self) -> Option<Arc<Credential>> {
        let key = self.key.clone();
        match blocking(&self.vault, move |vault| Credential::load(vault, &key)).await {
            Ok(credential) => credential.map(|credential| self.take_over(credential)),
            Err(error) => {
                tracing::warn!(server = self.key.server, %error, "the sign-in could not be read");
                None
            }
        }
    }

    fn take_over(&self, credential: Credential) -> Arc<Credential> {
        credential.secrets().for_each(|secret| (self.observe)(secret));
        let credential = Arc::new(credential);
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(credential.clone());
        credential
    }

    fn current(&self) -> Option<Arc<Credential>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Credential {
    /// What may be shown of it.
    pub fn status(&self) -> SignInStatus {
        SignInStatus {
            issuer: self.issuer.clone(),
            scopes: self.scopes.clone(),
            until: self.expires_at.map(|end| UNIX_EPOCH + Duration::from_secs(end)),
            renews: self.refresh_token.is_some(),
        }
    }
}

fn is_ending(credential: &Credential) -> bool {
    credential.expires_at.is_some_and(|end| end <= now().saturating_add(AHEAD))
}
