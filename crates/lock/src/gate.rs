//! The gate through which everything that a server lists goes: what is not in the lock waits.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::Value;
use switchboard_toolcall::text::visible;

use crate::{
    compare::{Change, compare},
    config::LockMode,
    definition::{Definition, DefinitionKind, name_and_hash},
    file::{LockFile, LockedServer, Trusted},
    screen::{Finding, Screen},
    store::{LockStore, StoreError},
};

/// How many waiting definitions are named in the log.
const MOST_NAMED: usize = 5;

/// The lock of a config, as it is now; shared by all servers.
#[derive(Debug, Default)]
pub struct Locks {
    /// The user who runs this process.
    user: String,
    state: RwLock<LockState>,
}

#[derive(Clone, Debug, Default)]
struct LockState {
    store: Option<LockStore>,
    file: Option<Arc<LockFile>>,
    mode: Option<LockMode>,
}

/// Why definitions could not be trusted.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
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
    /// Creates a lock that is off, in a process of `user`.
    pub fn new(user: String) -> Self {
        Self { user, ..Self::default() }
    }

    /// The user who runs this process.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Reads the lock file and takes over the mode of `[lock]`. Returns whether anything has changed.
    ///
    /// # Errors
    /// The file cannot be read; then everything stays as it was.
    pub fn load(&self, store: LockStore, mode: Option<LockMode>) -> Result<bool, StoreError> {
        let file = match mode {
            Some(LockMode::Off) => None,
            _ => store.read()?.map(Arc::new),
        };
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let has_changed = state.file != file || state.mode != mode;
        *state = LockState { store: Some(store), file, mode };
        Ok(has_changed)
    }

    /// Reads the file again. Returns whether it has changed.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn reload(&self) -> Result<bool, StoreError> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner).clone();
        match state.store {
            Some(store) => self.load(store, state.mode),
            None => Ok(false),
        }
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

/// A definition that is not in the lock, or differs from it.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingDefinition {
    /// What the server says.
    pub definition: Definition,
    /// The hash of that.
    pub hash: String,
    /// How it differs.
    pub change: Change,
    /// What the screen found in it.
    pub findings: Vec<Finding>,
}

/// The gate of one server of the config, whatever the number of its connections.
#[derive(Debug)]
pub struct ServerGate {
    server: Arc<str>,
    own_mode: Option<LockMode>,
    locks: Arc<Locks>,
    instances: AtomicU64,
    /// What each connection has listed that waits, by its number and the kind.
    pending: Mutex<BTreeMap<(u64, DefinitionKind), Vec<PendingDefinition>>>,
    /// What was last said in the log.
    logged: Mutex<Vec<(DefinitionKind, String)>>,
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
        })
    }

    /// Creates the gate of one more connection to the server.
    pub fn instance(self: &Arc<Self>) -> InstanceGate {
        let number = self.instances.fetch_add(1, Ordering::Relaxed);
        InstanceGate { shared: self.clone(), number }
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
        let mut all: Vec<_> = pending.values().flatten().cloned().collect();
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
        is_locked() && !self.lock().values().flatten().any(waits)
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
    pub fn trust(&self, hashes: &[String], trusted: &Trusted) -> Result<Vec<String>, TrustError> {
        let store = self.locks.store().filter(|_| self.mode() != LockMode::Off);
        let store = store.ok_or(TrustError::NoLock)?;
        let mut wanted = self.pending();
        wanted.retain(|one| hashes.contains(&one.hash));
        if wanted.is_empty() {
            return Err(TrustError::NothingWaits);
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
        Ok(names)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(u64, DefinitionKind), Vec<PendingDefinition>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says in one line of the log what waits, unless that was said already.
    fn log(&self, mode: LockMode) {
        let names: Vec<_> = self
            .pending()
            .into_iter()
            .map(|one| (one.definition.kind, one.definition.name + " " + one.change.change.name()))
            .collect();
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if *logged == names {
            return;
        }
        logged.clone_from(&names);
        drop(logged);
        if names.is_empty() {
            return;
        }
        let server = &*self.server;
        let shown = names.iter().take(MOST_NAMED).map(|(kind, name)| match kind {
            DefinitionKind::Tool => visible(name).into_owned(),
            kind => format!("{} {}", kind.noun(), visible(name)),
        });
        let shown = shown.collect::<Vec<_>>().join(", ");
        let more = match names.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let done = match mode {
            LockMode::Enforce => "skipped until trusted",
            LockMode::Warn | LockMode::Off => "used all the same",
        };
        tracing::warn!(
            server,
            "server '{server}' differs from {}: {shown}{more}, {done}; `switchboard trust {server}` shows what it says",
            crate::store::FILE_NAME
        );
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
        let others: Vec<_> = others.filter_map(|(entry, _)| Definition::new(kind, entry)).collect();
        let pending = match others.is_empty() {
            true => Vec::new(),
            false => {
                let now: Vec<_> =
                    entries.iter().filter_map(|entry| Definition::new(kind, entry)).collect();
                pending(&self.shared.server, file.as_deref(), locked, kind, &now, others)
            }
        };
        self.shared.lock().insert((self.number, kind), pending);
        self.shared.log(mode);
        match mode {
            LockMode::Enforce => {
                let kept = entries.into_iter().zip(same).filter(|(_, same)| *same);
                kept.map(|(entry, _)| entry).collect()
            }
            LockMode::Warn | LockMode::Off => entries,
        }
    }

    /// Returns whether models may read these instructions.
    pub fn admits_instructions(&self, text: &str) -> bool {
        let mode = self.shared.mode();
        if mode == LockMode::Off {
            return true;
        }
        let definition = Definition::instructions(text);
        let entry = Value::Object(definition.entry);
        !self.admit(DefinitionKind::Instructions, vec![entry]).is_empty()
    }
}

impl Drop for InstanceGate {
    fn drop(&mut self) {
        self.shared.lock().retain(|(number, _), _| *number != self.number);
    }
}

/// Describes the definitions that are not in the lock as they are.
fn pending(
    server: &str,
    file: Option<&LockFile>,
    locked: Option<&LockedServer>,
    kind: DefinitionKind,
    now: &[Definition],
    others: Vec<Definition>,
) -> Vec<PendingDefinition> {
    let of_kind = locked.map(|locked| LockedServer {
        identity: locked.identity.clone(),
        definitions: locked
            .definitions
            .iter()
            .filter(|((own, _), _)| *own == kind)
            .map(|(key, definition)| (key.clone(), definition.clone()))
            .collect(),
    });
    let screen = Screen::new(file.into_iter().flat_map(|file| {
        file.servers.iter().flat_map(|(name, locked)| {
            locked
                .definitions
                .keys()
                .filter(|(kind, _)| *kind == DefinitionKind::Tool)
                .map(|(_, tool)| (name.as_str(), tool.as_str()))
        })
    }));
    let changes = compare(of_kind.as_ref(), now, true);
    let describe = |definition: Definition| {
        let hash = definition.hash();
        // A name may be listed twice, once as in the lock.
        let own = || compare(of_kind.as_ref(), std::slice::from_ref(&definition), false).pop();
        let change =
            changes.iter().find(|change| change.name == definition.name && change.change.waits());
        let change = change.cloned().or_else(own)?;
        let findings = screen.findings(server, &definition);
        Some(PendingDefinition { definition, hash, change, findings })
    };
    others.into_iter().filter_map(describe).collect()
}
