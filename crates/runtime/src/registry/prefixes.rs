//! Which server owns a prefix, so that no server gets calls that are meant for another.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use indexmap::IndexMap;
use tracing::warn;

use super::RegisteredServer;

/// The owner of each prefix.
pub(super) struct Prefixes<'a> {
    owners: HashMap<Arc<str>, Arc<str>>,
    separator: &'a str,
}

/// Names and prefixes that belong to another server, each with the server that wanted it.
pub(crate) type Refused = HashSet<(Arc<str>, Arc<str>)>;

impl<'a> Prefixes<'a> {
    /// Assigns every server its own name, connected or not, and each other prefix to the first server that sets it.
    pub(super) fn new(servers: &IndexMap<Arc<str>, RegisteredServer>, separator: &'a str) -> Self {
        let own = servers.keys().map(|server| (server.clone(), server.clone()));
        let mut owners: HashMap<Arc<str>, Arc<str>> = own.collect();
        for (server, entry) in servers {
            if let Some(prefix) = entry.prefix() {
                owners.entry(prefix.into()).or_insert_with(|| server.clone());
            }
        }
        Self { owners, separator }
    }

    /// Returns the server, other than `server`, whose prefix and separator `name` begins with.
    pub(super) fn other_owner(&self, name: &str, server: &Arc<str>) -> Option<&Arc<str>> {
        if !name.contains(self.separator) {
            return None;
        }
        // Every position counts, even overlapping ones: `a___b` may be `a` and `_b`, or `a_` and `b`.
        let places = name.char_indices().map(|(at, _)| at);
        let mut owners = places
            .filter(|at| name[*at..].starts_with(self.separator))
            .filter_map(|at| self.owners.get(&name[..at]));
        owners.find(|owner| *owner != server)
    }

    /// Returns the names and prefixes that belong to another server, and logs those that are not in `known`.
    pub(super) fn refuse(
        &self,
        servers: &IndexMap<Arc<str>, RegisteredServer>,
        known: &Refused,
    ) -> Refused {
        let mut refused = Refused::new();
        for (server, entry) in servers {
            let prefix = entry.prefix().unwrap_or_default();
            if let Some(owner) = self.owners.get(prefix).filter(|owner| *owner != server) {
                let name = (server.clone(), prefix.into());
                if !known.contains(&name) {
                    warn!(
                        server = &**server,
                        "the prefix '{prefix}' of server '{server}' belongs to server '{owner}'; its tools keep their full names"
                    );
                }
                refused.insert(name);
            }
            for bare in entry.tools.keys() {
                let Some(owner) = self.other_owner(bare, server) else { continue };
                let name = (server.clone(), bare.clone());
                if !known.contains(&name) {
                    let full = format!("{server}{}{bare}", self.separator);
                    warn!(
                        server = &**server,
                        tool = &**bare,
                        "server '{server}' lists '{bare}', which is a name of server '{owner}'; it is found as '{full}' only"
                    );
                }
                refused.insert(name);
            }
        }
        refused
    }
}
