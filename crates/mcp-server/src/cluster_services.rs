//! What a server shares with those beside it; alone, it needs none of it.

use std::sync::Arc;

use switchboard_runtime::DurableCalls;

use super::{Seal, SessionPeers};

/// What one of several gateways shares with the others.
#[derive(Clone, Default)]
pub struct ClusterServices {
    /// The queue for calls that outlive their requests; with it clients get them as tasks.
    pub calls: Option<Arc<dyn DurableCalls>>,
    /// What seals sessions into their ids; with it every gateway of the same secret takes them in.
    pub seal: Option<Arc<Seal>>,
    /// The way to the other gateways.
    pub peers: Option<Arc<dyn SessionPeers>>,
}
