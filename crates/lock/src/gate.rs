//! The gate through which everything that a server lists goes: what is not in the lock waits.

mod log_line;
mod pending;
mod resources;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use serde_json::Value;
use switchboard_toolcall::text::one_line;

use crate::{
    config::LockMode,
    definition::{DefinitionKind, LockableDefinition, name_and_hash},
    file::{LockFile, LockedServer, TrustStamp},
    store::{LockStore, StoreError},
};

pub use pending::PendingDefinition;
use pending::PendingList;
use resources::ResourceFindings;

/// How many findings are told in the log at a time.
const MOST_TOLD: usize = 20;

/// The lock of a config, as it is now; shared by all servers.
#[derive(Debug)]
pub struct Locks {
    /// The user who runs this process.
    user: String,
    /// What stands between a server's name and a tool's.
    separator: String,
    state: RwLock<LockState>,
}

impl Default for Locks {
    fn default() -> Self {
        Self::new(String::new(), "__".to_owned())
    }
}

#[derive(Clone, Debug, Default)]
struct LockState {
    store: Option<LockStore>,
    file: Option<Arc<LockFile>>,
    mode: Option<LockMode>,
}

/// Why definitions could not be trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockTrustError {
    /// The lock is off for this server.
    #[error("there is no lock: `switchboard lock` writes one")]
    NoLock,
    /// None of the definitions that were named waits any more.
    #[error("nothing of that waits as it was shown")]
    NothingWaits,
    /// The file could not be changed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Locks {
    /// Creates a lock that is off, in a process of `user`; `separator` stands between a server's name and a tool's.
    pub fn new(user: String, separator: String) -> Self {
        Self { user, separator, state: RwLock::default() }
    }

    /// The user who runs this process.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// What stands between a server's name and a tool's.
    pub fn separator(&self) -> &str {
        &self.separator
    }

    /// Reads the lock file and takes over the mode of `[lock]`. Returns whether anything has changed.
    ///
    /// # Errors
    /// The file cannot be read; then everything stays as it was.
    pub fn load(&self, store: LockStore, mode: Option<LockMode>) -> Result<bool, StoreError> {
        let file = store.read()?.map(Arc::new);
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let has_changed = state.file != file || state.mode != mode;
        *state = LockState { store: Some(store), file, mode };
        Ok(has_changed)
    }

    /// Reads the file again. Returns whether it has changed.
    ///
    /// # Errors
    /// It cannot be read, or is gone: deleting the file must not switch the lock off. Then everything stays as it was.
    pub fn reload(&self) -> Result<bool, StoreError> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(store) = state.store else { return Ok(false) };
        if state.file.is_some() && store.read()?.is_none() {
            return Err(StoreError::Gone(store.file().to_owned()));
        }
        self.load(store, state.mode)
    }

    /// Forgets the lock, so that nothing waits.
    pub fn disable(&self) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = LockState::default();
    }

    /// Where the lock file is, if the config has a place.
    pub fn store(&self) -> Option<LockStore> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).store.clone()
    }

    /// Returns the file, if there is one and it counts.
    pub fn file(&self) -> Option<Arc<LockFile>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).file.clone()
    }

    /// Returns what happens to definitions that are not in the lock, for a server whose own settings say `own`.
    pub fn mode(&self, own: Option<LockMode>) -> LockMode {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        // Without a place for a file there is nothing to compare with.
        if state.store.is_none() {
            return LockMode::Off;
        }
        let usual = match state.file {
            Some(_) => LockMode::Enforce,
            None => LockMode::Off,
        };
        own.or(state.mode).unwrap_or(usual)
    }
}

/// The gate of one server of the config, whatever the number of its connections.
#[derive(Debug)]
pub struct ServerGate {
    server: Arc<str>,
    own_mode: Option<LockMode>,
    locks: Arc<Locks>,
    instances: AtomicU64,
    /// What each connection has listed that waits, by its number and the kind.
    pending: Mutex<BTreeMap<(u64, DefinitionKind), PendingList>>,
    /// What was last said in the log, each with its hash.
    logged: Mutex<BTreeSet<(DefinitionKind, String, String)>>,
    /// What was said of resources.
    resources: ResourceFindings,
}

impl ServerGate {
    /// Creates the gate of a server whose settings say `own_mode`.
    pub fn new(server: Arc<str>, own_mode: Option<LockMode>, locks: Arc<Locks>) -> Arc<Self> {
        Arc::new(Self {
            server,
            own_mode,
            locks,
            instances: AtomicU64::new(0),
            pending: Mutex::default(),
            logged: Mutex::default(),
            resources: ResourceFindings::default(),
        })
    }

    /// Creates the gate of one more connection to the server.
    pub fn instance(self: &Arc<Self>) -> InstanceGate {
        let number = self.instances.fetch_add(1, Ordering::Relaxed);
        InstanceGate { shared: self.clone(), number, has_pending_tools: AtomicBool::new(false) }
    }

    /// The lock of the config.
    pub fn locks(&self) -> &Arc<Locks> {
        &self.locks
    }

    /// Returns what happens to definitions that are not in the lock.
    pub fn mode(&self) -> LockMode {
        self.locks.mode(self.own_mode)
    }

    /// Returns what waits, each definition once, sorted by kind and name.
    pub fn pending(&self) -> Vec<PendingDefinition> {
        if self.mode() == LockMode::Off {
            return Vec::new();
        }
        let pending = self.lock();
        let mut all: Vec<_> = pending.values().flat_map(PendingList::all).cloned().collect();
        drop(pending);
        let key = |one: &PendingDefinition| {
            (one.definition.kind, one.definition.name.clone(), one.hash.clone())
        };
        all.sort_by_key(key);
        all.dedup_by_key(|one| key(one));
        all
    }

    /// Returns whether calls may name this definition: it is in the lock, and no connection says otherwise of it.
    pub fn allows(&self, kind: DefinitionKind, name: &str) -> bool {
        if self.mode() != LockMode::Enforce {
            return true;
        }
        let is_locked = || {
            let file = self.locks.file();
            let server = file.as_ref().and_then(|file| file.servers.get(&*self.server));
            server.is_some_and(|server| is_locked(server, kind, name))
        };
        let waits =
            |one: &PendingDefinition| one.definition.kind == kind && one.definition.is_called(name);
        is_locked() && !self.lock().values().flat_map(PendingList::all).any(waits)
    }

    /// Returns whether an entry of a list may be used as it is.
    pub fn has(&self, kind: DefinitionKind, entry: &Value) -> bool {
        if self.mode() != LockMode::Enforce {
            return true;
        }
        let Some((name, hash)) = name_and_hash(kind, entry) else { return true };
        let file = self.locks.file();
        let server = file.as_ref().and_then(|file| file.servers.get(&*self.server));
        server.and_then(|server| server.hash(kind, name)) == Some(&*hash)
    }

    /// Takes definitions that wait into the lock: those whose hashes are named. Returns their names.
    ///
    /// # Errors
    /// None of them waits, or the file cannot be changed.
    pub fn trust(
        &self,
        hashes: &[String],
        trusted: &TrustStamp,
    ) -> Result<Vec<String>, LockTrustError> {
        let store = self.locks.store().filter(|_| self.mode() != LockMode::Off);
        let store = store.ok_or(LockTrustError::NoLock)?;
        let mut wanted = self.pending();
        wanted.retain(|one| hashes.contains(&one.hash));
        if wanted.is_empty() {
            return Err(LockTrustError::NothingWaits);
        }
        let names = wanted.iter().map(|one| one.definition.name.clone()).collect();
        let server = self.server.to_string();
        store.update(|file| {
            let locked = file.servers.entry(server).or_default();
            for pending in wanted {
                if let crate::compare::ChangeKind::Renamed { from } = pending.change.change {
                    locked.definitions.remove(&(pending.definition.kind, from));
                }
                locked.put(pending.definition, Some(trusted.clone()));
            }
        })?;
        self.locks.reload()?;
        // What was trusted waits no more, although the server has not listed it again yet.
        let mut pending = self.lock();
        pending.values_mut().for_each(|list| list.remove(hashes));
        Ok(names)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(u64, DefinitionKind), PendingList>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says in one line of the log what waits, unless that was said already, and in one line each what the screen found there.
    fn log(&self, mode: LockMode) {
        let pending = self.pending();
        let key = |one: &PendingDefinition| {
            (one.definition.kind, one.definition.name.clone(), one.hash.clone())
        };
        let now: BTreeSet<_> = pending.iter().map(key).collect();
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *logged, now.clone());
        drop(logged);
        // What was trusted meanwhile is no news.
        if now.is_subset(&before) {
            return;
        }
        let server = &*self.server;
        let shown = log_line::summary(&pending);
        let done = match mode {
            LockMode::Enforce => "skipped until trusted",
            LockMode::Warn | LockMode::Off => "used all the same",
        };
        tracing::warn!(
            server,
            "server '{server}' differs from {}: {shown}, {done}; `switchboard trust {server}` shows what it says",
            crate::store::FILE_NAME
        );
        let new = pending.iter().filter(|one| !before.contains(&key(one)));
        for finding in new.flat_map(|one| &one.findings).take(MOST_TOLD) {
            tracing::warn!(server, "{}", one_line(&finding.line(server, &self.locks.separator)));
        }
    }
}

/// Returns whether the lock has it, under its own name or, for resource templates, under their `name`.
fn is_locked(server: &LockedServer, kind: DefinitionKind, name: &str) -> bool {
    server.hash(kind, name).is_some()
        || (kind == DefinitionKind::ResourceTemplate
            && server.definitions.values().any(|locked| {
                locked.definition.kind == kind
                    && locked.is_sound
                    && locked.definition.is_called(name)
            }))
}

/// The gate of one connection. What it listed is forgotten when it is dropped.
#[derive(Debug)]
pub struct InstanceGate {
    shared: Arc<ServerGate>,
    number: u64,
    /// Whether some of its tools wait, so that most calls need not look.
    has_pending_tools: AtomicBool,
}

impl InstanceGate {
    /// The gate of the server, whatever the number of its connections.
    pub fn server(&self) -> &Arc<ServerGate> {
        &self.shared
    }

    /// Returns the entries of a list that may be used. Those that are not in the lock, or differ from it, are kept as pending, and
    /// under `enforce` left out.
    pub fn admit(&self, kind: DefinitionKind, entries: Vec<Value>) -> Vec<Value> {
        let mode = self.shared.mode();
        if mode == LockMode::Off {
            return entries;
        }
        let file = self.shared.locks.file();
        let locked = file.as_ref().and_then(|file| file.servers.get(&*self.shared.server));
        let is_same = |entry: &Value| {
            let Some((name, hash)) = name_and_hash(kind, entry) else {
                // It is skipped later, because it has no name.
                return true;
            };
            locked.and_then(|locked| locked.hash(kind, name)) == Some(&*hash)
        };
        let same: Vec<bool> = entries.iter().map(is_same).collect();
        let others = entries.iter().zip(&same).filter(|(_, same)| !**same);
        let others: Vec<_> =
            others.filter_map(|(entry, _)| LockableDefinition::new(kind, entry)).collect();
        let pending = match others.is_empty() {
            true => PendingList::default(),
            false => {
                let now: Vec<_> = entries
                    .iter()
                    .filter_map(|entry| LockableDefinition::new(kind, entry))
                    .collect();
                PendingList::new(&self.shared.server, file.as_deref(), locked, kind, &now, others)
            }
        };
        if kind == DefinitionKind::Tool {
            self.has_pending_tools.store(!pending.is_empty(), Ordering::Release);
        }
        self.shared.lock().insert((self.number, kind), pending);
        self.shared.log(mode);
        match mode {
            LockMode::Enforce => {
                let kept = entries.into_iter().zip(same).filter(|(_, same)| *same);
                let as_locked = |(entry, _)| match locked {
                    Some(locked) => locked.with_locked_meta(kind, entry),
                    None => entry,
                };
                kept.map(as_locked).collect()
            }
            LockMode::Warn | LockMode::Off => entries,
        }
    }

    /// Says in the log what the screen finds in entries of `resources/list`, which are data and not in the lock; each finding once.
    pub fn screen_resources(&self, entries: &[Value]) {
        if self.shared.mode() == LockMode::Off {
            return;
        }
        let new = self.shared.resources.new_findings(&self.shared.server, entries);
        for finding in new.iter().take(MOST_TOLD) {
            let server = &*self.shared.server;
            let separator = &self.shared.locks.separator;
            tracing::warn!(server, "{}", one_line(&finding.line(server, separator)));
        }
    }

    /// Returns why calls of this tool are held back on this connection, if they are: another one may list it as in the lock.
    pub fn held_back(&self, tool: &str) -> Option<String> {
        if !self.has_pending_tools.load(Ordering::Acquire)
            || self.shared.mode() != LockMode::Enforce
        {
            return None;
        }
        let pending = self.shared.lock();
        let own = pending.get(&(self.number, DefinitionKind::Tool))?;
        own.find(tool).map(|one| one.change.change.text())
    }

    /// Returns whether models may read these instructions; of a server without any, what it said earlier is forgotten.
    pub fn admits_instructions(&self, text: Option<&str>) -> bool {
        if self.shared.mode() == LockMode::Off {
            return true;
        }
        let entry = text.filter(|text| !text.is_empty()).map(LockableDefinition::instructions);
        let entries: Vec<_> = entry.into_iter().map(|one| Value::Object(one.entry)).collect();
        let is_none = entries.is_empty();
        !self.admit(DefinitionKind::Instructions, entries).is_empty() || is_none
    }
}

impl Drop for InstanceGate {
    fn drop(&mut self) {
        self.shared.lock().retain(|(number, _), _| *number != self.number);
    }
}
