//! The sign-in of an API: whose token its requests have, and what becomes of one that is refused (SPEC AU-1, AU-3).

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use reqwest::Url;
use switchboard_oauth::{
    Authorizer, CallerKey, CredentialKey, OauthConfig, OauthDeps, Secret, ServerAuth, SignInNeeded,
    SignInPage, SignInStatus, SignInTarget, StoredSignIn, principal_of, revoke,
};
use switchboard_toolcall::{BoxFuture, CallContext, ErrorKind, Principal, ToolError};

use crate::ApiConfig;

/// How many callers' own sign-ins are kept in memory; another is read from the store when it is needed.
const MAX_CALLERS: usize = 1024;

/// The sign-ins to one API.
pub(crate) struct ApiSignIn {
    name: Arc<str>,
    url: Url,
    auth: ServerAuth,
    oauth: OauthConfig,
    deps: OauthDeps,
    /// The sign-in that all callers share, unless each has its own.
    shared: Option<Arc<ApiCaller>>,
    callers: Mutex<HashMap<CallerKey, Arc<ApiCaller>>>,
}

/// One sign-in to an API: a caller's own, or the one that all share.
pub(crate) struct ApiCaller {
    name: Arc<str>,
    principal: Principal,
    pub(crate) authorizer: Arc<Authorizer>,
    /// Why a person has to sign in, as the API last said.
    needed: Mutex<Option<SignInNeeded>>,
    /// How often somebody has signed in since.
    sign_ins: AtomicU64,
}

impl ApiSignIn {
    /// Creates the sign-ins to the API whose requests go to `base`; `None` if the settings already have credentials.
    pub(crate) fn new(
        name: &str,
        config: &ApiConfig,
        base: &Url,
        deps: &OauthDeps,
    ) -> Option<Arc<Self>> {
        if !config.is_signed_in_to(base) {
            return None;
        }
        let mut sign_in = Self {
            name: name.into(),
            url: base.clone(),
            auth: config.auth,
            oauth: config.oauth.clone(),
            deps: deps.clone(),
            shared: None,
            callers: Mutex::default(),
        };
        if !sign_in.is_per_caller() {
            let key = CredentialKey::shared(name, base.as_str()).ok()?;
            sign_in.shared = Some(sign_in.caller(key, &Principal::Unknown));
        }
        Some(Arc::new(sign_in))
    }

    /// Whether each caller has a sign-in of its own.
    pub(crate) fn is_per_caller(&self) -> bool {
        self.auth.is_per_caller(&self.oauth)
    }

    /// Whether callers sign in themselves.
    pub(crate) fn signs_people_in(&self) -> bool {
        self.auth == ServerAuth::User
    }

    /// Whether the settings say that the API is to be signed in to.
    pub(crate) fn is_expected(&self) -> bool {
        self.auth != ServerAuth::Shared || self.oauth != OauthConfig::default()
    }

    /// Returns the sign-in that a call uses.
    ///
    /// # Errors
    /// The caller is not known, and each has its own.
    pub(crate) fn for_call(&self, cx: &CallContext) -> Result<Arc<ApiCaller>, ToolError> {
        let caller = CallerKey::new(&cx.principal, self.auth, cx.token.as_ref());
        let caller = self.of_key(&caller).ok_or_else(|| {
            let why = "it is used with each caller's own sign-in, and this caller is not known";
            self.error(&why, "Call through a gateway that knows the caller, by a token or a JWT.")
        })?;
        if let (ServerAuth::Exchange, Some(token)) = (self.auth, &cx.token) {
            caller.authorizer.set_subject_token(&Secret::from(token.expose()));
        }
        Ok(caller)
    }

    /// Returns the sign-in of one caller, or the one that all share; `None` if the caller is not known.
    fn of(&self, principal: &Principal) -> Option<Arc<ApiCaller>> {
        self.of_key(&CallerKey::new(principal, self.auth, None))
    }

    fn of_key(&self, own: &CallerKey) -> Option<Arc<ApiCaller>> {
        if let Some(shared) = &self.shared {
            return Some(shared.clone());
        }
        let key = self.key_of(&own.principal)?;
        let mut callers = self.lock();
        if let Some(known) = callers.get(own) {
            return Some(known.clone());
        }
        if callers.len() >= MAX_CALLERS {
            // One that no call uses now: it is stored, or got again for a JWT.
            let idle = callers.iter().find(|(_, caller)| Arc::strong_count(caller) == 1);
            let idle = idle.map(|(own, _)| own.clone());
            idle.inspect(|own| drop(callers.remove(own)));
        }
        let caller = self.caller(key, &own.principal);
        callers.insert(own.clone(), caller.clone());
        Some(caller)
    }

    fn caller(&self, key: CredentialKey, principal: &Principal) -> Arc<ApiCaller> {
        Arc::new(ApiCaller {
            name: self.name.clone(),
            principal: principal.clone(),
            authorizer: self.deps.authorizer(key, self.auth, &self.oauth),
            needed: Mutex::default(),
            sign_ins: AtomicU64::new(0),
        })
    }

    fn key_of(&self, principal: &Principal) -> Option<CredentialKey> {
        match self.is_per_caller() {
            true => CredentialKey::of_caller(&self.name, self.url.as_str(), principal.key()?).ok(),
            false => CredentialKey::shared(&self.name, self.url.as_str()).ok(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CallerKey, Arc<ApiCaller>>> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the error for a call that needs a sign-in first.
    pub(crate) fn needed(&self, caller: &ApiCaller, needed: &SignInNeeded) -> ToolError {
        let name = &self.name;
        let hint = match self.auth {
            ServerAuth::Shared => format!("Sign in with `switchboard login {name}`."),
            ServerAuth::User if caller.principal == Principal::Owner => {
                format!("Sign in with `switchboard login {name}`.")
            }
            ServerAuth::User => {
                "Callers sign in at a gateway: call through `switchboard serve`.".to_owned()
            }
            ServerAuth::Exchange if self.is_per_caller() => format!(
                "Call through a gateway with a JWT that it takes ([serve.jwt]), or check [apis.{name}.oauth]."
            ),
            _ => format!("Nobody can sign in to it; check [apis.{name}.oauth]."),
        };
        self.error(needed, &hint).caused_by(needed.clone())
    }

    pub(crate) fn error(&self, why: &dyn std::fmt::Display, hint: &str) -> ToolError {
        let text = format!("API '{}' cannot be used: {why}", self.name);
        ToolError::new(ErrorKind::Unavailable, text).with_hint(hint)
    }

    /// Opens the address at which a caller signs in; `None` if no gateway serves it, or the caller is not known.
    pub(crate) async fn open(&self, principal: &Principal) -> Option<Arc<SignInPage>> {
        let target: Arc<dyn SignInTarget> = self.of(principal)?;
        self.deps.pages.open(&target).await
    }

    /// Returns what a caller signs in to; `None` if callers do not sign in to it themselves.
    pub(crate) fn target(&self, principal: &Principal) -> Option<Arc<dyn SignInTarget>> {
        let caller = self.of(principal).filter(|_| self.signs_people_in())?;
        Some(caller)
    }

    /// Returns why a caller has to sign in, as far as that is known.
    pub(crate) fn why_needed(&self, principal: &Principal) -> Option<SignInNeeded> {
        self.of(principal)?.needed()
    }

    /// Returns the sign-in that calls of this caller use; `None` if there is none.
    pub(crate) async fn status(&self, principal: &Principal) -> Option<SignInStatus> {
        let known = match &self.shared {
            Some(shared) => shared.authorizer.status(),
            None => {
                let callers = self.lock();
                let own = callers.values().filter(|caller| caller.principal == *principal);
                own.filter_map(|caller| caller.authorizer.status()).max_by_key(|one| one.until)
            }
        };
        if known.is_some() || (self.auth == ServerAuth::Exchange && self.is_per_caller()) {
            return known;
        }
        let key = self.key_of(principal)?;
        let loaded = StoredSignIn::load(&*self.deps.store, &key).await;
        loaded.ok().flatten().map(|credential| credential.status())
    }

    /// Returns how many callers are signed in, if each has its own.
    pub(crate) async fn callers(&self) -> Option<usize> {
        match self.auth {
            _ if !self.is_per_caller() => None,
            ServerAuth::User => {
                let keys = CredentialKey::all(&*self.deps.store).await.unwrap_or_default();
                let is_own = |key: &&CredentialKey| {
                    *key.server == *self.name && key.url == self.url && principal_of(key).is_some()
                };
                Some(keys.iter().filter(is_own).count())
            }
            _ => {
                let callers = self.lock();
                let served = callers.values().filter(|one| one.authorizer.status().is_some());
                Some(served.map(|one| &one.principal).collect::<HashSet<_>>().len())
            }
        }
    }

    /// Signs one caller out; returns whether it was signed in.
    ///
    /// # Errors
    /// The store of sign-ins cannot be used.
    pub(crate) async fn sign_out(
        &self,
        principal: &Principal,
    ) -> Result<bool, switchboard_oauth::Error> {
        let Some(key) = self.key_of(principal) else { return Ok(false) };
        let revoked = revoke(&self.deps.http, &*self.deps.store, &key).await;
        self.lock().retain(|caller, _| caller.principal != *principal);
        Ok(revoked?.is_some())
    }

    /// Uses the sign-ins that are stored now.
    pub(crate) async fn reload(&self) {
        for caller in self.all() {
            caller.on_sign_in().await;
        }
    }

    /// Waits until no renewal is under way, and lets no other begin: the process is about to exit.
    pub(crate) async fn end(&self) {
        for caller in self.all() {
            caller.authorizer.end().await;
        }
    }

    fn all(&self) -> Vec<Arc<ApiCaller>> {
        let callers = self.lock();
        self.shared.iter().chain(callers.values()).cloned().collect()
    }
}

impl ApiCaller {
    /// Returns how often somebody has signed in.
    pub(crate) fn sign_ins(&self) -> u64 {
        self.sign_ins.load(Ordering::Acquire)
    }

    fn needed(&self) -> Option<SignInNeeded> {
        self.needed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes whether a person has to sign in.
    pub(crate) fn note(&self, needed: Option<SignInNeeded>) {
        *self.needed.lock().unwrap_or_else(PoisonError::into_inner) = needed;
    }
}

impl SignInTarget for ApiCaller {
    fn title(&self) -> &str {
        &self.name
    }

    fn principal(&self) -> &Principal {
        &self.principal
    }

    fn own_authorizer(&self) -> Option<&Authorizer> {
        Some(&self.authorizer)
    }

    fn on_sign_in(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.authorizer.reload().await;
            self.note(None);
            self.sign_ins.fetch_add(1, Ordering::AcqRel);
        })
    }
}
