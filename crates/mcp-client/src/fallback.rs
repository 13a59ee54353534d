//! A gateway of our own that has ended: the program of the settings is used in its place until it runs again.

use std::sync::{Arc, atomic::Ordering};

use switchboard_toolcall::{ErrorKind, ToolError, ToolOrigin, ToolSpec};
use tokio::time::timeout;

use super::{
    server::{Server, ServerState},
    servers::{QUIET, RETIRING},
};

impl Server {
    /// Connects again: to its program, or to its socket. Calls that run may end before, for a minute at most; new calls wait
    /// once they have.
    pub async fn use_program(self: &Arc<Self>, uses_program: bool) {
        if let ServerState::Ready(session) = self.state() {
            // Calls that take longer end as unavailable.
            _ = timeout(RETIRING, session.usage().idle_for(QUIET)).await;
        }
        self.uses_program.store(uses_program, Ordering::Release);
        self.reconnect();
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

    /// Whether its program is used in place of its socket.
    pub(super) fn uses_program(&self) -> bool {
        self.uses_program.load(Ordering::Acquire)
    }
}
