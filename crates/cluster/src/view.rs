//! A command's view of the cluster: reads and changes the shared state without being a gateway.

use std::{sync::Arc, time::Duration};

use switchboard_approvals::ApprovalQueue;
use switchboard_workers::{Bucket, Cluster};
use tokio::task::JoinSet;

use crate::{
    Error, approvals::ClusterApprovals, gateways::Gateways, mcp_sessions::SessionSecrets,
    mirror::Mirror, tokens::ClusterTokens,
};

/// How long a command waits for NATS.
const WAIT: Duration = Duration::from_secs(5);

/// A command's view of the cluster.
pub struct ClusterView {
    cluster: Cluster,
    tasks: JoinSet<()>,
}

impl ClusterView {
    /// Creates a view of a cluster.
    pub fn new(cluster: &Cluster) -> Self {
        Self { cluster: cluster.clone(), tasks: JoinSet::new() }
    }

    /// Returns the tokens of the cluster, once they have been read.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached.
    pub async fn tokens(&mut self) -> Result<ClusterTokens, Error> {
        let tokens = ClusterTokens::new(&self.cluster);
        self.know(tokens.mirror()).await?;
        Ok(tokens)
    }

    /// Returns the queue of held calls of all gateways.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached.
    pub async fn queue(&mut self) -> Result<ApprovalQueue, Error> {
        let gateways = Arc::new(Gateways::new(&self.cluster));
        self.know(gateways.mirror()).await?;
        let queue = ClusterApprovals::new(&self.cluster, gateways);
        self.know(queue.mirror()).await?;
        Ok(ApprovalQueue::new(Arc::new(queue)))
    }

    /// Replaces the secret that encrypts the ids of MCP sessions. Sessions of the one before stay valid for a day, unless
    /// `forget` is set. Returns `false` if no gateway has made a secret yet.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached, or the secret is derived from the key of the cluster.
    pub async fn rotate_session_secret(&mut self, forget: bool) -> Result<bool, Error> {
        if self.cluster.signer().has_key() {
            return Err(Error::DerivedSecret);
        }
        let mirror = Mirror::new(&self.cluster, Bucket::Sessions);
        self.know(&mirror).await?;
        SessionSecrets::rotate(&mirror, forget).await
    }

    async fn know(&mut self, mirror: &Arc<Mirror>) -> Result<(), Error> {
        self.tasks.spawn(mirror.clone().follow());
        mirror.known(WAIT).await
    }
}
