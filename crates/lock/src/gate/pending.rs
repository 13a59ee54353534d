//! What of a list is not in the lock as it is.

use std::collections::HashMap;

use crate::{
    compare::{Change, compare},
    definition::{DefinitionKind, LockableDefinition},
    file::{LockFile, LockedServer},
    screen::{Finding, Screen},
};

/// How many waiting definitions of a list are screened: a server must not keep us busy by listing thousands.
const MOST_SCREENED: usize = 2000;

/// A definition that is not in the lock, or differs from it.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingDefinition {
    /// What the server says.
    pub definition: LockableDefinition,
    /// The hash of that.
    pub hash: String,
    /// How it differs.
    pub change: Change,
    /// What the screen found in it.
    pub findings: Vec<Finding>,
}

/// What waits of one list of one connection.
#[derive(Debug, Default)]
pub(super) struct PendingList {
    definitions: Vec<PendingDefinition>,
    /// Where each name is first, so that a call need not look through all.
    by_name: HashMap<String, usize>,
}

impl PendingList {
    /// Describes the definitions `others` of `server`, which are not in the lock as they are; `now` is the whole list.
    pub(super) fn new(
        server: &str,
        file: Option<&LockFile>,
        locked: Option<&LockedServer>,
        kind: DefinitionKind,
        now: &[LockableDefinition],
        others: Vec<LockableDefinition>,
    ) -> Self {
        Self::of(describe(server, file, locked, kind, now, others))
    }

    fn of(definitions: Vec<PendingDefinition>) -> Self {
        let mut by_name = HashMap::new();
        for (index, one) in definitions.iter().enumerate() {
            by_name.entry(one.definition.name.clone()).or_insert(index);
        }
        Self { definitions, by_name }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    pub(super) fn all(&self) -> &[PendingDefinition] {
        &self.definitions
    }

    /// Returns the first one of this name.
    pub(super) fn find(&self, name: &str) -> Option<&PendingDefinition> {
        self.definitions.get(*self.by_name.get(name)?)
    }

    /// Removes those with these hashes.
    pub(super) fn remove(&mut self, hashes: &[String]) {
        let mut left = std::mem::take(&mut self.definitions);
        left.retain(|one| !hashes.contains(&one.hash));
        *self = Self::of(left);
    }
}

/// Describes the definitions that are not in the lock as they are.
fn describe(
    server: &str,
    file: Option<&LockFile>,
    locked: Option<&LockedServer>,
    kind: DefinitionKind,
    now: &[LockableDefinition],
    others: Vec<LockableDefinition>,
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
    let waiting = changes.iter().filter(|change| change.change.waits());
    let by_name: HashMap<_, _> = waiting.map(|change| (change.name.as_str(), change)).collect();
    let describe = |(number, definition): (usize, LockableDefinition)| {
        let hash = definition.hash();
        // A name may be listed twice, once as in the lock.
        let own = || compare(of_kind.as_ref(), std::slice::from_ref(&definition), false).pop();
        let change = by_name.get(&*definition.name).map(|change| (*change).clone()).or_else(own)?;
        let findings = match number < MOST_SCREENED {
            true => screen.findings(server, &definition),
            false => Vec::new(),
        };
        Some(PendingDefinition { definition, hash, change, findings })
    };
    others.into_iter().enumerate().filter_map(describe).collect()
}
