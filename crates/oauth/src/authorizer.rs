//! Puts the token of a sign-in into the requests to one server, and renews it.

mod renewal;

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use switchboard_vault::Secret;
use tokio::sync::Mutex as AsyncMutex;

use super::{
    challenge::Challenge,
    config::{GrantKind, OauthConfig},
    credential::{CredentialKey, Owner, StoredSignIn},
    credential_store::CredentialStore,
    error::Error,
    http::HttpClient,
    request_token::RequestToken,
    secret_observer::{SecretGuard, SecretObserver},
    sign_in::SignIn,
    status::{Remedy, SignInNeeded, SignInStatus},
};
use renewal::{RenewalFailure, RenewalState};

/// The sign-in of one server. Requests that share it renew it once, and so do processes that share the store.
pub struct Authorizer {
    shared: Arc<AuthorizerState>,
}

/// Outlives a request that is dropped while it renews the sign-in: a refresh token that was used must be replaced.
struct AuthorizerState {
    http: HttpClient,
    store: Arc<dyn CredentialStore>,
    key: CredentialKey,
    /// The key's name in the store.
    name: String,
    /// The version of the stored sign-in that was last looked at.
    version: AtomicU64,
    observe: SecretObserver,
    /// Says that the secrets of `current` are in use.
    in_use: Mutex<Vec<SecretGuard>>,
    grant: GrantKind,
    config: OauthConfig,
    /// The caller's own token, to be exchanged.
    subject: Mutex<Option<(Secret, SecretGuard)>>,
    /// What the server wants the next proof to have.
    nonce: Mutex<Option<String>>,
    current: Mutex<Option<Arc<StoredSignIn>>>,
    /// Held while the sign-in is loaded or renewed.
    renewing: Arc<AsyncMutex<RenewalState>>,
    /// The last renewal, if it failed.
    failure: Mutex<Option<RenewalFailure>>,
    /// What the server last asked for.
    challenge: Mutex<Option<Challenge>>,
    /// Whether the process is about to exit; set while `renewing` is held.
    is_ended: AtomicBool,
}

impl Authorizer {
    /// The sign-in `key` of the store. Nothing is read yet.
    pub fn new(
        http: HttpClient,
        store: Arc<dyn CredentialStore>,
        key: CredentialKey,
        observe: SecretObserver,
    ) -> Self {
        Self::granted_by(GrantKind::Person, OauthConfig::default(), http, store, key, observe)
    }

    /// As [`new`](Self::new); tokens may be got without a person.
    pub fn granted_by(
        grant: GrantKind,
        config: OauthConfig,
        http: HttpClient,
        store: Arc<dyn CredentialStore>,
        key: CredentialKey,
        observe: SecretObserver,
    ) -> Self {
        let (subject, nonce, current) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (renewing, challenge) = (Arc::default(), Mutex::default());
        let shared = AuthorizerState {
            http: http.observed_by(observe.clone()),
            store,
            name: key.name(),
            version: AtomicU64::new(0),
            key,
            observe,
            in_use: Mutex::default(),
            grant,
            config,
            subject,
            nonce,
            current,
            renewing,
            failure: Mutex::default(),
            challenge,
            is_ended: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared) }
    }

    /// What the sign-in is for.
    pub fn key(&self) -> &CredentialKey {
        &self.shared.key
    }

    pub(super) fn http(&self) -> &HttpClient {
        &self.shared.http
    }

    pub(super) fn store(&self) -> &Arc<dyn CredentialStore> {
        &self.shared.store
    }

    pub(super) fn config(&self) -> &OauthConfig {
        &self.shared.config
    }

    /// Whether it is one caller's own: then no request goes out without its token.
    pub fn is_personal(&self) -> bool {
        self.shared.key.owner != Owner::Everyone
    }

    /// Takes the sign-in that is stored now; returns whether it is another one than before.
    pub async fn reload(&self) -> bool {
        detached(self.shared.clone().reload()).await.unwrap_or(false)
    }

    /// How tokens are come by.
    pub fn grant(&self) -> GrantKind {
        self.shared.grant
    }

    /// The sign-in that requests use; `None` if they use none.
    pub fn status(&self) -> Option<SignInStatus> {
        let renews_itself = self.shared.grant != GrantKind::Person;
        let status = self.shared.current()?.status();
        Some(SignInStatus { renews: status.renews || renews_itself, ..status })
    }

    /// What the server last asked for; the next sign-in asks for that.
    pub fn challenge(&self) -> Option<Challenge> {
        lock(&self.shared.challenge).clone()
    }

    /// Prepares a new sign-in of this kind, as the server last asked for it.
    ///
    /// # Errors
    /// As [`SignIn::prepare`].
    pub async fn prepare(&self) -> Result<SignIn, Error> {
        let AuthorizerState { http, store, key, config, .. } = &*self.shared;
        SignIn::prepare(http, store, key.clone(), config, self.challenge()).await
    }

    /// Notes the caller's own token, which is exchanged when the server next wants one.
    pub fn set_subject_token(&self, subject: &Secret) {
        let shared = &self.shared;
        let mut current = lock(&shared.subject);
        if current.as_ref().is_none_or(|(before, _)| before != subject) {
            *current = Some((subject.clone(), (shared.observe)(subject)));
            shared.forget_failure();
        }
    }

    /// Notes the nonce that the server wants the next proof to have.
    pub fn note_nonce(&self, nonce: &str) {
        *lock(&self.shared.nonce) = Some(nonce.to_owned());
    }

    /// Waits until no renewal is under way: one that is cut off would lose the new refresh token.
    pub async fn wait_for_renewal(&self) {
        drop(self.shared.renewing.lock().await);
    }

    /// Waits until no renewal is under way, and lets no other begin: the process is about to exit.
    pub async fn end(&self) {
        let _renewing = self.shared.renewing.lock().await;
        self.shared.is_ended.store(true, Ordering::Release);
    }

    /// Returns the token for the next request; `None` if nobody has signed in. One that is about to end is renewed by a task
    /// of its own; one that has ended is waited for. A token that cannot be renewed is returned all the same: the server
    /// decides.
    pub async fn token(&self) -> Option<RequestToken> {
        let shared = &self.shared;
        if shared.has_changed_elsewhere() {
            detached(shared.clone().follow()).await;
        }
        if let Some(current) = shared.current() {
            if !current.ends_soon() || !shared.can_renew(&current) {
                return Some(shared.for_request(&current));
            }
            if !current.has_ended() {
                if let Ok(renewing) = shared.renewing.clone().try_lock_owned() {
                    tokio::spawn(shared.clone().renew_ahead(renewing));
                }
                return Some(shared.for_request(&current));
            }
        }
        let current = detached(shared.clone().load_or_renew()).await.flatten()?;
        Some(shared.for_request(&current))
    }

    /// Waits until the sign-in that is stored is another one than the one that was last looked at. Never returns if the store
    /// does not say.
    pub async fn changed_elsewhere(&self) {
        let shared = &self.shared;
        if let Some(mut changes) = shared.store.changes() {
            let is_changed = |_: &u64| {
                shared.store.version(&shared.name) != shared.version.load(Ordering::Acquire)
            };
            if changes.wait_for(is_changed).await.is_ok() {
                return;
            }
        }
        std::future::pending().await
    }

    /// Decides about a request that must not go out without a token while there is none.
    pub async fn missing(&self) -> Remedy {
        let remedy = detached(self.shared.clone().first_token()).await;
        remedy.unwrap_or(Remedy::SignIn(SignInNeeded::Missing))
    }

    /// Decides about a request that was refused with 401, or with 403 for its scopes. `used` is the token that it had. The
    /// server has not begun to work on such a request, so it may be sent again.
    pub async fn refused(&self, challenge: Challenge, used: Option<&RequestToken>) -> Remedy {
        if let Some(used) = used.filter(|used| challenge.wants_nonce() && used.dpop.is_some()) {
            let nonce = lock(&self.shared.nonce).clone();
            return Remedy::NewProof(RequestToken { nonce, ..used.clone() });
        }
        *lock(&self.shared.challenge) = Some(challenge.clone());
        let used = used.map(|used| used.token.clone());
        let remedy = detached(self.shared.clone().remedy(challenge, used)).await;
        remedy.unwrap_or(Remedy::SignIn(SignInNeeded::Missing))
    }
}

impl AuthorizerState {
    /// Whether somebody has changed the stored sign-in since this was last asked.
    fn has_changed_elsewhere(&self) -> bool {
        if self.is_in_memory() {
            return false;
        }
        let version = self.store.version(&self.name);
        self.version.swap(version, Ordering::AcqRel) != version
    }
}

/// Runs to its end even if nobody waits for it any more; `None` if it panicked.
async fn detached<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Option<T> {
    tokio::spawn(work).await.ok()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
