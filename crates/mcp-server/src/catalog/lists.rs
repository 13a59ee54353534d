//! Each server's lists besides tools, with an index for finding single entries.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, timeout};
use tracing::debug;

use switchboard_mcp_wire::{List, ListResult, Upstream};

/// How long one server may take to list; the others do not wait longer for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// The lists that were read last, one per server and kind.
#[derive(Default)]
pub(super) struct Lists(Mutex<ByServer>);

type ByServer = HashMap<(Arc<str>, List), Arc<ServerList>>;

/// A list of a server.
pub(super) struct ServerList {
    pub(super) listed: ListResult,
    /// The URIs of resources; empty for other lists.
    uris: HashSet<String>,
    /// The server object: after a config change, a new one of the same name restarts its version counter.
    server: Arc<dyn Upstream>,
    edition: u64,
    fresh: Freshness,
}

/// How long a list may be cached.
enum Freshness {
    /// The list may have changed without notice.
    No,
    /// Until the `ttlMs` of the server is over.
    Until(Instant),
    /// Until the server says that it has changed.
    UntilTold,
}

impl Lists {
    fn lock(&self) -> MutexGuard<'_, ByServer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the list that was read last, unless it has changed since, by a notification or a new session.
    pub(super) fn known(&self, server: &Arc<dyn Upstream>, list: List) -> Option<Arc<ServerList>> {
        let known = self.lock().get(&(server.name().clone(), list)).cloned();
        known
            .filter(|known| Arc::ptr_eq(&known.server, server) && known.edition == server.edition())
    }

    /// Returns the current list: reads it, unless the cached one is certain to be current. Returns an empty list if the server
    /// fails.
    pub(super) async fn current(&self, server: &Arc<dyn Upstream>, list: List) -> Arc<ServerList> {
        if let Some(known) = self.known(server, list).filter(|known| known.fresh.holds()) {
            return known;
        }
        let edition = server.edition();
        let (listed, fresh) = match timeout(PATIENCE, server.list(list)).await {
            Ok(Ok(listed)) => {
                let fresh = Freshness::of(&listed);
                (listed, fresh)
            }
            Ok(Err(failure)) => {
                debug!(server = &**server.name(), %failure, list = list.key(), "not listed");
                (ListResult::default(), Freshness::No)
            }
            Err(_) => {
                debug!(server = &**server.name(), list = list.key(), "too slow to be listed");
                (ListResult::default(), Freshness::No)
            }
        };
        let resources: &[_] = if list == List::Resources { &listed.entries } else { &[] };
        let uris = resources.iter().filter_map(|entry| entry["uri"].as_str());
        let uris = uris.map(str::to_owned).collect();
        let read = Arc::new(ServerList { uris, server: server.clone(), edition, fresh, listed });
        self.lock().insert((server.name().clone(), list), read.clone());
        read
    }
}

impl ServerList {
    /// Whether it lists a resource with this URI.
    pub(super) fn has_uri(&self, uri: &str) -> bool {
        self.uris.contains(uri)
    }
}

impl Freshness {
    fn of(listed: &ListResult) -> Self {
        match listed.ttl {
            Some(ttl) if ttl.is_zero() => Self::No,
            Some(ttl) => Self::Until(Instant::now() + ttl),
            None if listed.announced => Self::UntilTold,
            None => Self::No,
        }
    }

    fn holds(&self) -> bool {
        match self {
            Self::No => false,
            Self::Until(end) => Instant::now() < *end,
            Self::UntilTold => true,
        }
    }
}
