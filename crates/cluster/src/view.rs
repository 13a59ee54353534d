//! A command's look at the fleet: it reads and changes what gateways know together, and is none of them.

use std::{sync::Arc, time::Duration};

use switchboard_approvals::ApprovalQueue;
use switchboard_workers::Cluster;
use tokio::task::JoinSet;

use crate::{
    Error, approvals::ClusterApprovals, gateways::Gateways, mirror::Mirror, tokens::ClusterTokens,
};

/// How long a command waits for NATS.
const WAIT: Duration = Duration::from_secs(5);

/// What a command sees of the fleet.
pub struct ClusterView {
    cluster: Cluster,
    tasks: JoinSet<()>,
}

impl ClusterView {
    /// Begins to look at a cluster.
    pub fn new(cluster: &Cluster) -> Self {
        Self { cluster: cluster.clone(), tasks: JoinSet::new() }
    }

    /// The tokens of all gateways, as they are now.
    ///
    /// # Errors
    /// NATS cannot be reached.
    pub async fn tokens(&mut self) -> Result<ClusterTokens, Error> {
        let tokens = ClusterTokens::new(&self.cluster);
        self.know(tokens.mirror()).await?;
        Ok(tokens)
    }

    /// The calls that wait for a person at any gateway.
    ///
    /// # Errors
    /// NATS cannot be reached.
    pub async fn queue(&mut self) -> Result<ApprovalQueue, Error> {
        let gateways = Arc::new(Gateways::new(&self.cluster));
        self.know(gateways.mirror()).await?;
        let queue = ClusterApprovals::new(&self.cluster, gateways);
        self.know(queue.mirror()).await?;
        Ok(ApprovalQueue::new(Arc::new(queue)))
    }

    async fn know(&mut self, mirror: &Arc<Mirror>) -> Result<(), Error> {
        self.tasks.spawn(mirror.clone().follow());
        mirror.known(WAIT).await
    }
}
