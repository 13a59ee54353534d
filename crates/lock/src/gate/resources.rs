//! What the screen finds in entries of `resources/list`. They are data that changes all the time, so they are not locked.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use serde_json::Value;

use crate::{
    definition::{DefinitionKind, LockableDefinition},
    screen::{Finding, screen},
};

/// How many entries of a list are screened: a server must not keep us busy by listing thousands.
const MOST_SCREENED: usize = 2000;

/// How many findings are remembered; after that they are told once more.
const MOST_REMEMBERED: usize = 10_000;

/// The findings in resources of a server that were told.
#[derive(Debug, Default)]
pub(super) struct ResourceFindings(Mutex<HashSet<(String, String)>>);

impl ResourceFindings {
    /// Returns what is suspicious in entries of the list and was not told yet.
    pub(super) fn new_findings(&self, server: &str, entries: &[Value]) -> Vec<Finding> {
        let resource = |entry: &Value| {
            let entry = entry.as_object()?.clone();
            let name = entry.get("uri")?.as_str()?.to_owned();
            // As a template, of which its names and texts are read too.
            Some(LockableDefinition { kind: DefinitionKind::ResourceTemplate, name, entry })
        };
        let resources = entries.iter().take(MOST_SCREENED).filter_map(resource);
        let found: Vec<_> = resources.flat_map(|resource| screen(server, &resource)).collect();
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() > MOST_REMEMBERED {
            told.clear();
        }
        let is_new =
            |finding: &Finding| told.insert((finding.name.clone(), finding.sentence.clone()));
        found.into_iter().filter(is_new).collect()
    }
}
