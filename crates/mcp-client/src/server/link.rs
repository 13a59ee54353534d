//! Implements what the tool manager needs of a server.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_runtime::ServerLink;
use switchboard_toolcall::{BoxFuture, ErrorKind, ToolError};

use super::{Server, ServerState};

impl ServerLink for Server {
    fn ready(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async {
            if !self.is_per_user() {
                return self.session().await.map(|_| ());
            }
            self.wait_until_ready().await;
            match self.state() {
                ServerState::Failed(reason) => {
                    Err(ToolError::new(ErrorKind::Unavailable, &*reason))
                }
                ServerState::Stopped => Err(self.stopped()),
                ServerState::Skipped(reason) => Err(self.skipped(&reason)),
                _ => Ok(()),
            }
        })
    }

    fn starts(&self) -> u64 {
        Server::starts(self)
    }

    fn timeout(&self, tool: &str) -> Option<Duration> {
        self.config.tool_settings(tool).timeout
    }

    fn instructions(&self) -> Option<String> {
        match self.state() {
            ServerState::Ready(session) => session.instructions().map(str::to_owned),
            _ => None,
        }
    }

    fn status(&self) -> Value {
        let state = self.state();
        let name = state.name();
        match state {
            ServerState::Ready(session) => {
                json!({"state": name, "protocol": session.era().version()})
            }
            ServerState::Failed(reason) | ServerState::Skipped(reason) => {
                json!({"state": name, "error": &*reason})
            }
            _ => json!({"state": name}),
        }
    }
}
