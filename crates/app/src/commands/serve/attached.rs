//! `serve --stdio` in front of the running gateway, when that ends, is restarted or upgraded.

use std::{sync::Arc, time::Duration};

use switchboard_mcp_client::{GatewayRoute, Server};
use tokio::time::timeout;

use crate::{own_gateway::OwnGateway, terminal};

/// How long a gateway may be away, as in a restart, before a process of its own serves the client.
const RESTART_TIME: Duration = Duration::from_secs(3);

/// What is told when no gateway takes the place of one that ended.
const ALONE: &str = "the running gateway was stopped or killed: a process of its own serves this client, until \
                     `switchboard serve` starts it again";

/// Keeps the client's tools connected while the gateway ends and comes back. Never returns.
pub(super) async fn follow(
    gateway: Option<&OwnGateway>,
    servers: &[Arc<Server>],
    startup_wait: Duration,
) {
    let (Some(gateway), [server]) = (gateway, servers) else {
        return std::future::pending().await;
    };
    loop {
        gateway.ended().await;
        // Calls wait from here on, instead of failing.
        server.take_route(GatewayRoute::None).await;
        if timeout(RESTART_TIME, gateway.back()).await.is_err() {
            terminal::tell(ALONE);
            server.take_route(GatewayRoute::Program).await;
            gateway.back().await;
        }
        gateway.servers_settled(startup_wait).await;
        // Only MCP is spoken with it, so that it may be of another version.
        server.take_route(GatewayRoute::Socket).await;
        terminal::tell("the gateway was started again: calls of this client go to it");
    }
}
