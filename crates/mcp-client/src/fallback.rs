//! A gateway of our own that has ended: calls wait, or the program of the settings is used in its place, until it runs again.

use std::sync::Arc;

use switchboard_toolcall::{ErrorKind, ToolError, ToolOrigin, ToolSpec};
use tokio::time::timeout;

use super::{
    server::{Server, ServerState},
    servers::{QUIET, RETIRING},
};

/// How a gateway of our own is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GatewayRoute {
    /// Over its socket.
    #[default]
    Socket,
    /// Not at all: calls wait for another route.
    None,
    /// By the program in its place.
    Program,
}

impl Server {
    /// Connects again, by this route. Calls that run may end before, for a minute at most; those that are made afterwards
    /// wait for the new connection.
    pub async fn take_route(self: &Arc<Self>, route: GatewayRoute) {
        if let ServerState::Ready(session) = self.state() {
            // Calls that take longer end as unavailable.
            _ = timeout(RETIRING, session.usage().idle_for(QUIET)).await;
        }
        // While there was none, an attempt waits for it.
        if self.route.send_replace(route) != GatewayRoute::None {
            self.reconnect();
        }
    }

    /// Waits until there is a route.
    pub(super) async fn has_route(&self) {
        // Cannot fail: `self` owns the sender.
        _ = self.route.subscribe().wait_for(|route| *route != GatewayRoute::None).await;
    }

    /// Whether its program is used in place of its socket.
    pub(super) fn uses_program(&self) -> bool {
        *self.route.borrow() == GatewayRoute::Program
    }

    /// The error of a call that was lost with the gateway, or with the program in its place.
    pub(super) fn gateway_ended(&self, spec: &ToolSpec) -> ToolError {
        let tool = match &spec.origin {
            ToolOrigin::Server { tool, .. } => tool,
            ToolOrigin::Local => &*spec.name,
        };
        let what = match self.uses_program() {
            true => "the process that stood in for the gateway ended",
            false => "the gateway was stopped or killed",
        };
        ToolError::new(ErrorKind::Unavailable, format!("Tool '{tool}' is unavailable: {what}"))
    }
}
