//! The parts of a gateway that differ if `[cluster]` names other gateways.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use switchboard_access::{Access, AccessError, Peers, Tokens};
use switchboard_approvals::ApprovalQueue;
use switchboard_audit::SharedRecords;
use switchboard_cluster::{ClusterState, records::CallerRecords};
use switchboard_gateway::Config;
use switchboard_mcp_client::Servers;
use switchboard_mcp_server::{self as server, Server};
use switchboard_runtime::{DurableCalls, ToolExecutor};
use switchboard_workers::{Cluster, Error};
use tokio::time::timeout;

use crate::{approvals, cluster::ClusterConnection, commands::token, settings::LoadedConfig};

/// How long NATS may take to say into how many partitions queued calls are divided.
const PATIENCE: Duration = Duration::from_secs(5);

/// A gateway, alone or among others.
pub(super) struct Membership {
    cluster: Option<Arc<ClusterState>>,
    records: Option<Arc<dyn SharedRecords>>,
    tokens: Arc<Tokens>,
}

impl Membership {
    /// Joins the others, if there are any.
    ///
    /// # Errors
    /// Tokens cannot be read, or `[cluster]` cannot be used, or differs from that of the others.
    pub(super) async fn new(
        loaded: &LoadedConfig,
        connection: &ClusterConnection,
    ) -> anyhow::Result<Self> {
        let tokens = token::open_if_possible()?;
        let Some(cluster) = connection.get(loaded).await? else {
            return Ok(Self { cluster: None, records: None, tokens });
        };
        let records: Arc<dyn SharedRecords> = Arc::new(CallerRecords::new(&cluster));
        let state = ClusterState::join(&cluster, tokens.clone()).await;
        check_partitions(&cluster).await?;
        Ok(Self { cluster: Some(state), records: Some(records), tokens })
    }

    /// Returns the call records of all nodes; `None` if there are no others.
    pub(super) fn shared_records(&self) -> Option<Arc<dyn SharedRecords>> {
        self.records.clone()
    }

    /// Where held calls wait for a person.
    pub(super) fn queue(&self, loaded: &LoadedConfig) -> Option<Arc<ApprovalQueue>> {
        match &self.cluster {
            Some(cluster) => Some(Arc::new(cluster.queue())),
            None => approvals::queue(loaded),
        }
    }

    /// Returns the access checks for requests to this address.
    ///
    /// # Errors
    /// Settings cannot be used.
    pub(super) fn access(
        &self,
        config: &Config,
        address: SocketAddr,
    ) -> Result<Access, AccessError> {
        let peers = self.cluster.clone().map(|cluster| cluster as Arc<dyn Peers>);
        Access::among(peers, &config.access(), address, self.tokens.clone())
    }

    /// Returns the server for MCP clients.
    ///
    /// # Errors
    /// The messages of the other gateways cannot be subscribed to.
    pub(super) async fn server(
        &self,
        executor: ToolExecutor,
        upstreams: Arc<Servers>,
        calls: Option<Arc<dyn DurableCalls>>,
        config: server::Config,
    ) -> anyhow::Result<Server> {
        let Some(cluster) = &self.cluster else {
            return Ok(Server::new(executor, Some(upstreams), config));
        };
        let shared = server::ClusterServices { calls, ..cluster.mcp().await };
        let server = Server::in_cluster(executor, Some(upstreams), config, shared);
        cluster.attend(&server).await?;
        Ok(server)
    }

    /// Tells the other gateways that this one stops.
    pub(super) async fn leave(&self) {
        if let Some(cluster) = &self.cluster {
            cluster.leave().await;
        }
    }
}

/// Checks that queued calls are divided as the other nodes divide them. If NATS does not answer, each call is checked.
async fn check_partitions(cluster: &Cluster) -> anyhow::Result<()> {
    if !cluster.is_connected() {
        return Ok(());
    }
    match timeout(PATIENCE, cluster.agree()).await {
        Ok(Err(error @ Error::Partitions { .. })) => Err(error.into()),
        _ => Ok(()),
    }
}
