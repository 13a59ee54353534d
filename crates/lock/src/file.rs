//! The contents of a lock file: per server its identity and its definitions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    definition::{DefinitionKind, LockableDefinition, META},
    identity::Identity,
};

/// What servers said of themselves when somebody trusted it, by the servers' names in the config.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LockFile {
    /// The servers, sorted.
    pub servers: BTreeMap<String, LockedServer>,
}

/// One server of the lock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LockedServer {
    /// Which program or address it was.
    pub identity: Identity,
    /// Its definitions, sorted by kind and name.
    pub definitions: BTreeMap<(DefinitionKind, String), LockedDefinition>,
}

/// A definition that somebody trusts.
#[derive(Clone, Debug, PartialEq)]
pub struct LockedDefinition {
    /// The hash that the file has.
    pub hash: String,
    /// Who trusted it, and when.
    pub trusted: Option<TrustStamp>,
    /// What it said.
    pub definition: LockableDefinition,
    /// Whether the text in the file has the hash in the file. If not, somebody edited one of them, and it counts as not locked: a
    /// reviewer who read the text did not read what the hash stands for.
    pub is_sound: bool,
}

/// Who trusted a definition, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustStamp {
    /// A user of this machine, or the name of a token.
    pub by: String,
    /// When, in RFC 3339.
    pub at: String,
}

impl LockedDefinition {
    /// Locks a definition as it is.
    pub fn new(definition: LockableDefinition, trusted: Option<TrustStamp>) -> Self {
        Self { hash: definition.hash(), trusted, definition, is_sound: true }
    }
}

impl LockedServer {
    /// Returns the hash of a definition, unless it is not locked or the file contradicts itself.
    pub fn hash(&self, kind: DefinitionKind, name: &str) -> Option<&str> {
        let locked = self.definitions.get(&(kind, name.to_owned()))?;
        locked.is_sound.then_some(&*locked.hash)
    }

    /// Returns the entry of a list whose hash is locked, with the `_meta` that is locked: what a server says there may differ each
    /// time, and programs read it.
    pub(crate) fn with_locked_meta(&self, kind: DefinitionKind, mut entry: Value) -> Value {
        let name = entry.get(kind.name_field()).and_then(Value::as_str);
        let Some(name) = name.map(str::to_owned) else { return entry };
        let locked = self.definitions.get(&(kind, name));
        let meta = locked.and_then(|locked| locked.definition.meta());
        match (&mut entry, meta) {
            (Value::Object(fields), Some(meta)) => {
                fields.insert(META.to_owned(), meta.clone());
            }
            (Value::Object(fields), None) => _ = fields.shift_remove(META),
            _ => {}
        }
        entry
    }

    /// Takes in a definition, or replaces the one of this name.
    pub fn put(&mut self, definition: LockableDefinition, trusted: Option<TrustStamp>) {
        let key = (definition.kind, definition.name.clone());
        self.definitions.insert(key, LockedDefinition::new(definition, trusted));
    }
}
