//! Further instances of a server with `auth = "user"`, one for each caller, each with that caller's sign-in (SPEC AU-3).
//!
//! The server of the config itself connects to nothing: it registers the tools that the callers' instances list, and gives
//! each call to the instance of the caller who was authenticated.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use futures_util::future::join_all;
use indexmap::{IndexMap, IndexSet};
use serde_json::Value;
use switchboard_lock::DefinitionKind;
use switchboard_oauth::{
    Authorizer, CallerKey, CredentialKey, OauthDeps, Secret, ServerAuth, SignInStatus,
    SignInTarget, StoredSignIn, principal_of, revoke,
};
use switchboard_toolcall::{CallerToken, ErrorKind, Principal, ToolError};
use tokio::{
    task::JoinHandle,
    time::{Duration, sleep, timeout},
};

use super::server::{Server, ServerState};

/// How many callers of one server may be connected at once.
const MAX_USERS: usize = 1024;

/// How long the first request of a caller waits until the tools of a server are listed with its token.
const LISTING: Duration = Duration::from_secs(5);

/// How long changes of the stored sign-ins are collected.
const SETTLE: Duration = Duration::from_millis(500);

/// The caller whose instance of a server this is.
#[derive(Clone)]
pub(super) struct ServerUser {
    pub(super) principal: Principal,
    pub(super) authorizer: Arc<Authorizer>,
    /// The server of the config, which registers the tools.
    pub(super) base: Weak<Server>,
}

/// The callers' instances of one server, and the tools that each of them listed.
#[derive(Default)]
pub(super) struct UserServers(Mutex<UserServersInner>);

#[derive(Default)]
struct UserServersInner {
    open: HashMap<CallerKey, (Arc<Server>, JoinHandle<()>)>,
    /// The tasks of instances that are stopping.
    ending: Vec<JoinHandle<()>>,
    /// What `tools/list` said to each caller; kept when a caller leaves, if nobody else is left.
    lists: IndexMap<Principal, Vec<Value>>,
}

impl UserServersInner {
    /// Stops the instances that `is_meant` names, without waiting.
    fn end(&mut self, mut is_meant: impl FnMut(&CallerKey, &Arc<Server>) -> bool) {
        self.ending.retain(|task| !task.is_finished());
        for (_, (server, task)) in self.open.extract_if(|key, (server, _)| is_meant(key, server)) {
            server.stop();
            self.ending.push(task);
        }
    }
}

impl UserServers {
    fn lock(&self) -> MutexGuard<'_, UserServersInner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops all instances, without waiting.
    pub(super) fn end_all(&self) {
        self.lock().end(|_, _| true);
    }

    /// Stops the copies of a client's session that has ended.
    pub(super) fn release(&self, client: &str) {
        self.lock().open.values().for_each(|(server, _)| server.release(client));
    }

    /// Waits until all instances have ended; they must have been told to stop.
    pub(super) async fn ended(&self) {
        let (open, ending) = {
            let mut all = self.lock();
            (std::mem::take(&mut all.open), std::mem::take(&mut all.ending))
        };
        // A task that panicked has ended too.
        join_all(open.into_values().map(|(_, task)| task).chain(ending)).await;
    }
}

impl Server {
    /// Returns whether each caller has a sign-in of its own, and this is the server that they have in common.
    pub fn is_per_user(&self) -> bool {
        self.config().is_per_caller() && self.user.is_none()
    }

    /// Returns the instance of one caller.
    ///
    /// # Errors
    /// The caller is not known, there are too many, or the server is stopped.
    pub fn for_user(self: &Arc<Self>, principal: &Principal) -> Result<Arc<Self>, ToolError> {
        self.instance(CallerKey::new(principal, self.config().auth, None))
    }

    fn instance(self: &Arc<Self>, caller: CallerKey) -> Result<Arc<Self>, ToolError> {
        let principal = &caller.principal;
        let unavailable = |text: String| ToolError::new(ErrorKind::Unavailable, text);
        match self.state() {
            ServerState::Stopped => return Err(self.stopped()),
            ServerState::Skipped(reason) => return Err(self.skipped(&reason)),
            _ => {}
        }
        let key = self.user_key(principal).ok_or_else(|| {
            unavailable(format!(
                "MCP server '{}' is used with each caller's own sign-in, and this caller is not known",
                self.name()
            ))
        })?;
        let deps = self.deps.oauth.as_ref().ok_or_else(|| {
            unavailable(format!("MCP server '{}' wants sign-ins, which are off", self.name()))
        })?;
        let mut all = self.users.lock();
        if let Some((server, _)) = all.open.get(&caller) {
            return Ok(server.clone());
        }
        if all.open.len() >= MAX_USERS {
            let is_idle = |server: &Arc<Self>| matches!(server.state(), ServerState::Idle);
            let idle = all.open.iter().find(|(_, (server, _))| is_idle(server));
            let Some(idle) = idle.map(|(caller, _)| caller.clone()) else {
                let text = format!("MCP server '{}' has {MAX_USERS} callers", self.name());
                return Err(ToolError::new(ErrorKind::Overloaded, text));
            };
            all.end(|caller, _| *caller == idle);
        }
        let config = self.config();
        let authorizer = deps.authorizer(key, config.auth, &config.oauth);
        let base = Arc::downgrade(self);
        let user = ServerUser { principal: principal.clone(), authorizer, base };
        let server = self.copy_for(Some(user));
        let server = server.map_err(|problem| ToolError::new(ErrorKind::Internal, problem))?;
        let task = tokio::spawn(run_instance(server.clone()));
        all.open.insert(caller, (server.clone(), task));
        Ok(server)
    }

    /// Returns the instance of one caller, which is to use the caller's `token` if tokens are exchanged.
    ///
    /// # Errors
    /// As [`for_user`](Self::for_user).
    pub(super) fn for_caller(
        self: &Arc<Self>,
        principal: &Principal,
        token: Option<&CallerToken>,
    ) -> Result<Arc<Self>, ToolError> {
        let server = self.instance(CallerKey::new(principal, self.config().auth, token))?;
        let (Some(token), false) = (token, server.signs_people_in()) else { return Ok(server) };
        if let Some(authorizer) = server.authorizer() {
            authorizer.set_subject_token(&Secret::from(token.expose()));
        }
        // It failed with an earlier token, or without one.
        if server.needs_sign_in().is_some() && matches!(server.state(), ServerState::Failed(_)) {
            server.reconnect();
        }
        Ok(server)
    }

    /// Returns whether this is a caller's instance, and callers get access by signing in.
    pub(super) fn signs_people_in(&self) -> bool {
        self.user.is_some() && self.config().auth == ServerAuth::User
    }

    /// Connects a caller whose token is exchanged, if nobody has listed the tools yet; waits for that a few seconds at most.
    /// Does nothing for a caller that was here before.
    pub(super) async fn list_with(self: &Arc<Self>, principal: &Principal, token: &CallerToken) {
        let is_wanted = {
            let all = self.users.lock();
            all.lists.is_empty() && !all.open.keys().any(|caller| caller.principal == *principal)
        };
        if is_wanted && let Ok(server) = self.for_caller(principal, Some(token)) {
            // Why it failed is told when a call needs it.
            _ = timeout(LISTING, server.session()).await;
        }
    }

    /// Returns the name of a caller's sign-in in the store; `None` if the caller is not known.
    fn user_key(&self, principal: &Principal) -> Option<CredentialKey> {
        let url = self.config().url.as_deref()?;
        CredentialKey::of_caller(self.name(), url, principal.key()?).ok()
    }

    /// Lists the tools with the sign-in of any caller who has one, and again when that is asked for. Never returns.
    pub(super) async fn keep_listed(self: &Arc<Self>) {
        self.offer(self.known_tools()).await;
        for tries in 1.. {
            match self.list_with_any().await {
                Ok(()) => {
                    self.enter(ServerState::Idle);
                    tokio::select! {
                        () = self.wake.notified() => {}
                        () = self.signed_in_somewhere() => {}
                    }
                }
                Err(error) => {
                    self.record_error(&error.for_model);
                    self.enter(ServerState::Failed(error.for_model.as_str().into()));
                    sleep(self.pause(tries)).await;
                }
            }
        }
    }

    /// Waits until a sign-in is stored while no tools are known: a caller may have signed in at another gateway.
    async fn signed_in_somewhere(&self) {
        let is_unlisted = self.users.lock().lists.is_empty();
        let changes = self.deps.oauth.as_ref().and_then(|deps| deps.store.changes());
        let Some(mut changes) = changes.filter(|_| is_unlisted) else {
            return std::future::pending().await;
        };
        changes.mark_unchanged();
        if changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        // Several come together.
        sleep(SETTLE).await;
    }

    /// Connects as the first caller whose sign-in is good. Without one nothing is tried.
    async fn list_with_any(self: &Arc<Self>) -> Result<(), ToolError> {
        let mut failed = Ok(());
        let users = match self.config().auth {
            ServerAuth::Exchange => self.users_with_token(),
            _ => {
                let callers = self.signed_in_callers().await;
                callers
                    .iter()
                    .map(|principal| self.for_user(principal))
                    .collect::<Result<_, _>>()?
            }
        };
        for user in users {
            match user.session().await {
                Ok(_) => return Ok(()),
                Err(_) if user.needs_sign_in().is_some() => {}
                Err(error) => failed = Err(error),
            }
        }
        failed
    }

    /// Returns the instances that have got a token for a caller's.
    fn users_with_token(&self) -> Vec<Arc<Self>> {
        let all = self.users.lock();
        let open = all.open.values().map(|(server, _)| server.clone());
        open.filter(|server| server.signed_in().is_some()).collect()
    }

    /// Takes over what `tools/list` said to one caller: offered are the tools of all.
    pub(super) async fn offer_for_user(self: &Arc<Self>, entries: Vec<Value>) {
        let Some(user) = &self.user else { return };
        let Some(base) = user.base.upgrade() else { return };
        base.users.lock().lists.insert(user.principal.clone(), entries);
        base.offer(base.known_tools()).await;
    }

    /// Compares the lists of all callers with the lock again.
    pub(super) fn users_lock_changed(self: &Arc<Self>) {
        let open: Vec<_> = self.users.lock().open.values().map(|(user, _)| user.clone()).collect();
        open.iter().for_each(Self::lock_changed);
        let server = self.clone();
        tokio::spawn(async move { server.offer(server.known_tools()).await });
    }

    fn known_tools(&self) -> Vec<Value> {
        let all = self.users.lock();
        let mut tools = IndexMap::new();
        // The lock may have changed since they were listed.
        let is_locked = |entry: &&Value| self.gate().has(DefinitionKind::Tool, entry);
        for entry in all.lists.values().flatten().filter(is_locked) {
            let name = entry["name"].as_str().unwrap_or_default();
            tools.entry(name.to_owned()).or_insert_with(|| entry.clone());
        }
        tools.into_values().collect()
    }

    /// Returns the callers who are signed in, the owner first.
    pub async fn signed_in_callers(&self) -> Vec<Principal> {
        if self.config().auth == ServerAuth::Exchange {
            let users = self.users_with_token();
            let callers = users.iter().filter_map(|server| server.user.as_ref());
            let callers: IndexSet<_> = callers.map(|user| user.principal.clone()).collect();
            return callers.into_iter().collect();
        }
        let Some(deps) = self.deps.oauth.as_ref() else { return Vec::new() };
        let name = self.name().clone();
        let url = self.user_key(&Principal::Owner).map(|key| key.url);
        let keys = CredentialKey::all(&*deps.store).await.unwrap_or_else(|error| {
            tracing::warn!(server = &*name, %error, "the sign-ins could not be read");
            Vec::new()
        });
        let own =
            keys.into_iter().filter(|key| *key.server == *name && Some(&key.url) == url.as_ref());
        let mut callers: Vec<_> = own.filter_map(|key| principal_of(&key)).collect();
        callers.sort_by_key(|caller| *caller != Principal::Owner);
        callers
    }

    /// Returns one caller's sign-in; `None` if it has none.
    pub async fn sign_in_of(&self, principal: &Principal) -> Option<SignInStatus> {
        if self.config().auth == ServerAuth::Exchange {
            let users = self.users_with_token().into_iter();
            let own = users.filter(|server| SignInTarget::principal(&**server) == principal);
            return own.filter_map(|server| server.signed_in()).max_by_key(|status| status.until);
        }
        let (key, deps) = (self.user_key(principal)?, self.deps.oauth.as_ref()?);
        let loaded = StoredSignIn::load(&*deps.store, &key).await;
        loaded.ok().flatten().map(|credential| credential.status())
    }

    /// Signs one caller out: revokes the sign-in, forgets it, and ends that caller's connection. Returns whether there was one.
    ///
    /// # Errors
    /// The store of sign-ins cannot be used.
    pub async fn sign_out(&self, principal: &Principal) -> Result<bool, switchboard_oauth::Error> {
        let (Some(key), Some(deps)) = (self.user_key(principal), self.deps.oauth.as_ref()) else {
            return Ok(false);
        };
        let revoked = revoke(&deps.http, &*deps.store, &key).await;
        let mut all = self.users.lock();
        all.end(|caller, _| caller.principal == *principal);
        if all.lists.len() > 1 {
            all.lists.shift_remove(principal);
        }
        Ok(revoked?.is_some())
    }

    /// Reconnects a caller, with the sign-in that is stored now, and waits for that: its tools are then known.
    pub(super) async fn sign_in_again(&self) {
        let Some(user) = &self.user else { return };
        user.authorizer.reload().await;
        self.reconnect();
        if let Err(error) = self.session().await {
            tracing::warn!(server = &**self.name(), %error, "not connected after a sign-in");
        }
    }
}

/// Runs the instance of a caller to its end. A message that is still being sent must not begin a renewal afterwards: the new
/// refresh token would be lost.
async fn run_instance(server: Arc<Server>) {
    server.clone().run().await;
    if let Some(authorizer) = server.authorizer() {
        authorizer.end().await;
    }
}

/// Revokes and forgets all sign-ins of the callers that `is_gone` names. Returns how many there were.
///
/// # Errors
/// The store of sign-ins cannot be used.
pub async fn revoke_sign_ins(
    deps: &OauthDeps,
    is_gone: impl Fn(&Principal) -> bool,
) -> Result<usize, switchboard_oauth::Error> {
    let keys = CredentialKey::all(&*deps.store).await?;
    let mut count = 0;
    for key in keys.iter().filter(|key| principal_of(key).is_some_and(|caller| is_gone(&caller))) {
        count += usize::from(revoke(&deps.http, &*deps.store, key).await?.is_some());
    }
    Ok(count)
}
