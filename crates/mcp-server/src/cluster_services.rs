//! What a server shares with other gateways; a single gateway needs none of it.

use std::sync::Arc;

use switchboard_runtime::DurableCalls;

use super::{Seal, SessionPeers};

/// What one of several gateways shares with the others.
#[derive(Clone, Default)]
pub struct ClusterServices {
    /// The queue for calls that outlive their requests; if set, clients get them as tasks.
    pub calls: Option<Arc<dyn DurableCalls>>,
    /// Seals sessions into their ids; if set, every gateway with the same secret adopts them.
    pub seal: Option<Arc<Seal>>,
    /// The way to the other gateways.
    pub peers: Option<Arc<dyn SessionPeers>>,
}
