//! Loads a sign-in and renews it: one task at a time here, one process at a time by the store's lock.

use std::sync::{Arc, atomic::Ordering};

use switchboard_vault::Secret;
use tokio::{
    sync::OwnedMutexGuard,
    time::{Duration, Instant},
};

use super::{AuthorizerState, lock};
use crate::{
    challenge::Challenge,
    client_issuer::{self, is_same_issuer},
    config::GrantKind,
    credential::{Owner, StoredSignIn},
    credential_store::CredentialLock,
    error::Error,
    http::trusted,
    jwt, metadata,
    request_token::RequestToken,
    sign_in::SignIn,
    status::{NoToken, Remedy, SignInNeeded},
    token::TokenEndpoint,
};

/// How long nothing is asked of an authorization server after a renewal that failed: as long as that took, within these.
const SHORTEST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// How many scopes a server may ask for beside those that were granted, and how long each may be.
const MAX_SCOPES: usize = 64;
const MAX_SCOPE_CHARS: usize = 256;

/// What an authorization server says of a refresh token that has ended.
const OVER: &str = "invalid_grant";

/// What was tried.
#[derive(Default)]
pub(super) struct RenewalState {
    is_loaded: bool,
}

/// Why a renewal failed. Until it is tried again, that is the outcome for all requests: they do not wait for an authorization
/// server that hangs, one after the other.
pub(super) struct RenewalFailure {
    why: NoToken,
    next_try: Instant,
}

impl AuthorizerState {
    pub(super) fn current(&self) -> Option<Arc<StoredSignIn>> {
        lock(&self.current).clone()
    }

    pub(super) fn for_request(&self, credential: &StoredSignIn) -> RequestToken {
        let (token, dpop) = (credential.access_token.clone(), credential.dpop.clone());
        RequestToken { token, dpop, nonce: lock(&self.nonce).clone() }
    }

    pub(super) fn can_renew(&self, credential: &StoredSignIn) -> bool {
        credential.is_renewable() || self.grant != GrantKind::Person
    }

    /// Renews a token that is still good.
    pub(super) async fn renew_ahead(self: Arc<Self>, _renewing: OwnedMutexGuard<RenewalState>) {
        if let Some(current) = self.current().filter(|current| current.ends_soon()) {
            // If it fails, requests still have this one.
            _ = self.try_renewal(Some(&current.access_token)).await;
        }
    }

    /// Returns the sign-in: as it is, from the store, or renewed.
    pub(super) async fn load_or_renew(self: Arc<Self>) -> Option<Arc<StoredSignIn>> {
        let mut state = self.renewing.clone().lock_owned().await;
        let mut credential = self.current();
        if credential.is_none() && !state.is_loaded {
            state.is_loaded = true;
            credential = self.load_if_readable().await;
        }
        let credential = credential?;
        if !credential.has_ended() || !self.can_renew(&credential) {
            return Some(credential);
        }
        Some(self.try_renewal(Some(&credential.access_token)).await.unwrap_or(credential))
    }

    /// Takes the sign-in that is stored; returns whether it is another one than before.
    pub(super) async fn reload(self: Arc<Self>) -> bool {
        let mut state = self.renewing.clone().lock_owned().await;
        state.is_loaded = true;
        self.forget_failure();
        let before = lock(&self.current).take();
        let now = self.load_if_readable().await;
        now.is_some_and(|now| before.is_none_or(|before| before.access_token != now.access_token))
    }

    /// Follows what others did to the sign-in: it was renewed, replaced or ended elsewhere. One that cannot be read now stays.
    pub(super) async fn follow(self: Arc<Self>) {
        let mut state = self.renewing.clone().lock_owned().await;
        state.is_loaded = true;
        let stored = StoredSignIn::load(&*self.store, &self.key).await;
        match stored {
            Ok(Some(credential)) => drop(self.take_over(credential)),
            Ok(None) => drop(lock(&self.current).take()),
            Err(error) => self.unreadable(&error),
        }
    }

    /// Renews the sign-in, unless that has failed a moment ago.
    async fn try_renewal(&self, used: Option<&Secret>) -> Result<Arc<StoredSignIn>, NoToken> {
        if let Some(why) = self.recent_failure() {
            return Err(why);
        }
        let begun = Instant::now();
        let error = match self.renew(used).await {
            Ok(renewed) => return Ok(renewed),
            Err(error) => error,
        };
        tracing::warn!(server = self.key.server, %error, "the sign-in could not be renewed");
        let why = match error {
            error if error.is_transient() => NoToken::Unavailable(error.to_string()),
            Error::SignedOut => NoToken::SignIn(SignInNeeded::Missing),
            error if self.grant == GrantKind::Person => {
                NoToken::SignIn(SignInNeeded::Ended(error.to_string()))
            }
            error => NoToken::SignIn(SignInNeeded::NoAccess(error.to_string())),
        };
        let pause = begun.elapsed().clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        let failure = RenewalFailure { why: why.clone(), next_try: Instant::now() + pause };
        *lock(&self.failure) = Some(failure);
        Err(why)
    }

    /// Returns why the last renewal failed, while no other is tried.
    fn recent_failure(&self) -> Option<NoToken> {
        let failure = lock(&self.failure);
        failure.as_ref().filter(|one| one.next_try > Instant::now()).map(|one| one.why.clone())
    }

    /// Lets the next request that needs it renew the sign-in, although that has just failed: something is different now.
    pub(super) fn forget_failure(&self) {
        *lock(&self.failure) = None;
    }

    pub(super) async fn remedy(
        self: Arc<Self>,
        challenge: Challenge,
        used: Option<Secret>,
    ) -> Remedy {
        let _renewing = self.renewing.clone().lock_owned().await;
        // Somebody may have renewed it, or signed in, meanwhile: in this process or another one.
        let stored = match self.load().await {
            Ok(stored) => stored,
            Err(error) => return Remedy::Unavailable(error.to_string()),
        };
        let Some(stored) = stored else {
            return match self.grant {
                GrantKind::Person => Remedy::SignIn(SignInNeeded::Missing),
                _ => self.recover_after_refusal(None).await,
            };
        };
        if used.as_ref() != Some(&stored.access_token) {
            return Remedy::Retry(self.for_request(&stored));
        }
        if challenge.wants_more_scopes() {
            let needed = self.want_scopes(challenge.scopes.unwrap_or_default()).await;
            return match self.grant {
                GrantKind::Person => Remedy::SignIn(needed),
                _ => self.recover_after_refusal(used.as_ref()).await,
            };
        }
        if self.has_moved(&stored, &challenge).await {
            return Remedy::SignIn(SignInNeeded::Moved);
        }
        match self.can_renew(&stored) {
            true => self.recover_after_refusal(used.as_ref()).await,
            false => Remedy::SignIn(SignInNeeded::Missing),
        }
    }

    /// Gets a token without a person, if there is none yet and the settings say how.
    pub(super) async fn first_token(self: Arc<Self>) -> Remedy {
        let _renewing = self.renewing.clone().lock_owned().await;
        match (self.current(), self.grant) {
            (Some(current), _) => Remedy::Retry(self.for_request(&current)),
            // A store that cannot be read now does not say that nobody is signed in.
            (None, GrantKind::Person) => match self.load().await {
                Ok(Some(stored)) => Remedy::Retry(self.for_request(&stored)),
                Ok(None) => Remedy::SignIn(SignInNeeded::Missing),
                Err(error) => Remedy::Unavailable(error.to_string()),
            },
            (None, GrantKind::Client | GrantKind::Exchange) => {
                self.recover_after_refusal(None).await
            }
        }
    }

    /// Whether the tokens are kept in memory only: what is got for a caller's own token must not outlive the right that the
    /// token stands for, and can be got again.
    pub(super) fn is_in_memory(&self) -> bool {
        self.grant == GrantKind::Exchange && self.key.owner != Owner::Everyone
    }

    async fn recover_after_refusal(&self, used: Option<&Secret>) -> Remedy {
        // Who has said no may say yes now, and says so at once; who has said nothing is not asked for each request.
        if matches!(self.recent_failure(), Some(NoToken::SignIn(_))) {
            self.forget_failure();
        }
        match self.try_renewal(used).await {
            Ok(renewed) => Remedy::Retry(self.for_request(&renewed)),
            Err(why) => why.into(),
        }
    }

    /// Renews the sign-in unless somebody else has: one process at a time, as each refresh token may be good for one use.
    async fn renew(&self, used: Option<&Secret>) -> Result<Arc<StoredSignIn>, Error> {
        if self.is_ended.load(Ordering::Acquire) {
            return Err(Error::store("the program is about to exit"));
        }
        if self.is_in_memory() {
            let mut obtained = self.obtain().await?;
            obtained.refresh_token = None;
            let subject_end =
                lock(&self.subject).as_ref().and_then(|(subject, _)| jwt::end(subject));
            obtained.expires_at = obtained.expires_at.into_iter().chain(subject_end).min();
            return Ok(self.take_over(obtained));
        }
        let lock = self.store.lock(&self.name).await?;
        let renewed = self.renew_locked(&*lock, used).await;
        lock.release().await;
        renewed
    }

    async fn renew_locked(
        &self,
        lock: &dyn CredentialLock,
        used: Option<&Secret>,
    ) -> Result<Arc<StoredSignIn>, Error> {
        let stored = StoredSignIn::load_locked(lock, &self.key).await?;
        let is_renewed = stored.as_ref().map(|stored| &stored.access_token) != used;
        let renewed = match (stored, self.grant) {
            (Some(stored), _) if is_renewed => return Ok(self.take_over(stored)),
            (Some(stored), _) if stored.is_renewable() => self.refresh(lock, stored).await?,
            (_, GrantKind::Client | GrantKind::Exchange) => self.obtain().await?,
            (_, GrantKind::Person) => return Err(Error::SignedOut),
        };
        if let Err(error) = renewed.store(lock).await {
            // What was used up to get it is of no use to anybody, so here at least it goes on.
            tracing::warn!(server = self.key.server, %error, "a renewed sign-in could not be stored");
        }
        Ok(self.take_over(renewed))
    }

    async fn refresh(
        &self,
        lock: &dyn CredentialLock,
        mut credential: StoredSignIn,
    ) -> Result<StoredSignIn, Error> {
        if !lock.is_safe() {
            return Err(Error::store("another process may be renewing it"));
        }
        let issuer = credential.issuer.clone();
        if credential.client.is_of(&self.config) {
            client_issuer::bind(&*self.store, &self.key.url, &self.config, &issuer).await?;
            credential.client.follow(&self.config);
        }
        let refresh = credential.refresh_token.clone().unwrap_or_default();
        let resource = credential.resource.clone();
        let grant = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.expose()),
            ("resource", &resource),
        ];
        let url = &trusted(&credential.token_endpoint, &self.key.url)?;
        let http = credential.http(&self.http, &self.key.url).await?;
        let (issuer, client, dpop) =
            (issuer.as_str(), &credential.client, credential.dpop.as_ref());
        match (TokenEndpoint { url, issuer, client, dpop }).request(&http, &grant).await {
            Ok(tokens) => credential.renew(tokens),
            Err(error) => {
                if matches!(&error, Error::Refused { code, .. } if code == OVER) {
                    // It is worth nothing any more, and is not sent again.
                    credential.refresh_token = None;
                    credential.store(lock).await?;
                    self.take_over(credential);
                }
                return Err(error);
            }
        }
        Ok(credential)
    }

    /// Gets a token without a person, where the server says.
    async fn obtain(&self) -> Result<StoredSignIn, Error> {
        let (key, challenge) = (self.key.clone(), lock(&self.challenge).clone());
        let subject = lock(&self.subject).as_ref().map(|(subject, _)| subject.clone());
        let sign_in =
            SignIn::prepare(&self.http, &self.store, key, &self.config, challenge).await?;
        sign_in.without_person(self.grant, subject.as_ref()).await
    }

    /// Whether the server names other authorization servers than the one that the sign-in is from. If that cannot be found
    /// out, the sign-in stays where it is.
    async fn has_moved(&self, stored: &StoredSignIn, challenge: &Challenge) -> bool {
        let Ok(http) = self.http.for_metadata(&self.key.url, challenge).await else {
            return false;
        };
        let found = metadata::protected_resource(&http, &self.key.url, challenge).await;
        let named =
            found.ok().flatten().map(|found| found.authorization_servers).unwrap_or_default();
        !named.is_empty() && !named.iter().any(|named| is_same_issuer(named, &stored.issuer))
    }

    /// Notes which scopes the next sign-in is to ask for.
    async fn want_scopes(&self, scopes: Vec<String>) -> SignInNeeded {
        if let Err(error) = self.note_scopes(&scopes).await {
            tracing::warn!(server = self.key.server, %error, "the wanted scopes could not be stored");
        }
        SignInNeeded::Scopes(scopes)
    }

    async fn note_scopes(&self, wanted: &[String]) -> Result<(), Error> {
        let lock = self.store.lock(&self.name).await?;
        let noted = async {
            let stored = StoredSignIn::load_locked(&*lock, &self.key).await?;
            let Some(mut credential) = stored else { return Ok(()) };
            let is_new = |scope: &&String| {
                scope.len() <= MAX_SCOPE_CHARS && !credential.wanted_scopes.contains(scope)
            };
            let new: Vec<_> = wanted.iter().filter(is_new).cloned().collect();
            if new.is_empty() {
                return Ok(());
            }
            credential.wanted_scopes.extend(new);
            credential.wanted_scopes.truncate(MAX_SCOPES);
            credential.store(&*lock).await
        };
        let noted = noted.await;
        lock.release().await;
        noted
    }

    async fn load(&self) -> Result<Option<Arc<StoredSignIn>>, Error> {
        if self.is_in_memory() {
            return Ok(self.current());
        }
        let stored = StoredSignIn::load(&*self.store, &self.key).await?;
        Ok(stored.map(|credential| self.take_over(credential)))
    }

    async fn load_if_readable(&self) -> Option<Arc<StoredSignIn>> {
        self.load().await.inspect_err(|error| self.unreadable(error)).ok().flatten()
    }

    fn unreadable(&self, error: &Error) {
        tracing::warn!(server = self.key.server, %error, "the sign-in could not be read");
    }

    fn take_over(&self, credential: StoredSignIn) -> Arc<StoredSignIn> {
        let in_use = credential.secrets().map(|secret| (self.observe)(secret)).collect();
        // What both have is in use all the while.
        drop(std::mem::replace(&mut *lock(&self.in_use), in_use));
        let credential = Arc::new(credential);
        let before = lock(&self.current).replace(credential.clone());
        if before.is_some_and(|before| before.access_token != credential.access_token) {
            self.forget_failure();
        }
        credential
    }
}
