//! What each server lists beside tools, kept with an index, so that finding one entry needs no look at the others.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, timeout};
use tracing::debug;

use switchboard_mcp_client::{Server, Session};
use switchboard_mcp_wire::{List, ListResult};

/// How long one server may take to say what it has; the others do not wait longer for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// A server that is connected, with the session to ask.
pub(super) type ReadyServer = (Arc<Server>, Arc<Session>);

/// The lists that were read last, one per server and kind.
#[derive(Default)]
pub(super) struct Lists(Mutex<ByServer>);

type ByServer = HashMap<(Arc<str>, List), Arc<ServerList>>;

/// A list of a server's.
pub(super) struct ServerList {
    pub(super) listed: ListResult,
    /// The URIs of resources; empty for other lists.
    uris: HashSet<String>,
    session: Arc<Session>,
    edition: u64,
    fresh: Freshness,
}

/// How long a list counts as what the server has.
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

    /// Returns the list that was read last from this session, unless the server has said since that it changed.
    pub(super) fn known(&self, ready: &ReadyServer, list: List) -> Option<Arc<ServerList>> {
        let (server, session) = ready;
        let known = self.lock().get(&(server.name().clone(), list)).cloned();
        known.filter(|known| {
            Arc::ptr_eq(&known.session, session) && known.edition == server.edition()
        })
    }

    /// Returns the list as it is now: reads it, unless what is known is certain to be true. Empty if the server fails to
    /// give it.
    pub(super) async fn current(&self, ready: &ReadyServer, list: List) -> Arc<ServerList> {
        if let Some(known) = self.known(ready, list).filter(|known| known.fresh.holds()) {
            return known;
        }
        let (server, session) = ready;
        let edition = server.edition();
        let (listed, fresh) = match timeout(PATIENCE, session.list(list)).await {
            Ok(Ok(listed)) => {
                let fresh = Freshness::of(session, list, listed.ttl);
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
        let session = session.clone();
        let read = Arc::new(ServerList { uris, session, edition, fresh, listed });
        self.lock().insert((server.name().clone(), list), read.clone());
        read
    }
}

impl ServerList {
    /// Whether it lists a resource of this URI.
    pub(super) fn has_uri(&self, uri: &str) -> bool {
        self.uris.contains(uri)
    }
}

impl Freshness {
    fn of(session: &Session, list: List, ttl: Option<Duration>) -> Self {
        let capability = match list {
            List::Prompts => "prompts",
            _ => "resources",
        };
        match ttl {
            Some(ttl) if ttl.is_zero() => Self::No,
            Some(ttl) => Self::Until(Instant::now() + ttl),
            None if session.capabilities()[capability]["listChanged"] == true => Self::UntilTold,
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
