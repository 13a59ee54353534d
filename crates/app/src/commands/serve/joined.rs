//! The other gateways, where `[cluster]` names a place where they meet, and what this one is made of then.

use std::{net::SocketAddr, sync::Arc};

use switchboard_approvals::Desk;
use switchboard_fleet::Fleet;
use switchboard_gateway::{
    Access, Config,
    access::{self, AccessError, Tokens},
};
use switchboard_mcp_client::Servers;
use switchboard_mcp_server::{self as server, Server};
use switchboard_runtime::{DurableCalls, ToolExecutor};

use crate::{approvals, cluster, commands::token, settings::Loaded};

/// A gateway, alone or among others.
pub(super) struct Joined {
    fleet: Option<Arc<Fleet>>,
    tokens: Arc<Tokens>,
}

impl Joined {
    /// Joins the others, where there are any.
    ///
    /// # Errors
    /// Tokens cannot be read, or `[cluster]` cannot be used.
    pub(super) async fn new(loaded: &Loaded) -> anyhow::Result<Self> {
        let tokens = token::open_if_possible()?;
        let fleet = match cluster::connect(loaded).await? {
            Some(cluster) => Some(Fleet::join(&cluster, tokens.clone()).await),
            None => None,
        };
        Ok(Self { fleet, tokens })
    }

    /// Where held calls wait for a person.
    pub(super) fn desk(&self, loaded: &Loaded) -> Option<Arc<Desk>> {
        match &self.fleet {
            Some(fleet) => Some(Arc::new(fleet.desk())),
            None => approvals::desk(loaded),
        }
    }

    /// Who decides about requests to this address.
    ///
    /// # Errors
    /// Settings cannot be used.
    pub(super) fn access(
        &self,
        config: &Config,
        address: SocketAddr,
    ) -> Result<Access, AccessError> {
        let fleet = self.fleet.clone().map(|fleet| fleet as Arc<dyn access::Fleet>);
        Access::among(fleet, config, address, self.tokens.clone())
    }

    /// Who speaks to MCP clients.
    ///
    /// # Errors
    /// The others cannot be listened to.
    pub(super) async fn server(
        &self,
        executor: ToolExecutor,
        upstreams: Arc<Servers>,
        calls: Option<Arc<dyn DurableCalls>>,
    ) -> anyhow::Result<Server> {
        let config = server::Config::default();
        let Some(fleet) = &self.fleet else {
            return Ok(Server::new(executor, Some(upstreams), config));
        };
        let shared = server::Fleet { calls, ..fleet.mcp().await };
        let server = Server::in_fleet(executor, Some(upstreams), config, shared);
        fleet.attend(&server).await?;
        Ok(server)
    }

    /// Says good-bye to the others.
    pub(super) async fn leave(&self) {
        if let Some(fleet) = &self.fleet {
            fleet.leave().await;
        }
    }
}
