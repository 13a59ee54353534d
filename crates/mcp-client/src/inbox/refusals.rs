//! Error responses to a server that sends too many requests at once.

use std::sync::{OnceLock, Weak};

use serde_json::value::RawValue;
use switchboard_mcp_wire::RpcError;
use tokio::sync::mpsc;
use tracing::{debug, warn};

use crate::transport::Transport;

/// How many error responses wait to be sent; further requests get no response.
const MOST_WAITING: usize = 1024;

/// The longest id of a request that is responded to, in bytes.
const LONGEST_ID: usize = 1024;

/// Requests that are refused; one task responds to all of them.
#[derive(Default)]
pub(super) struct Refusals(OnceLock<mpsc::Sender<Box<RawValue>>>);

impl Refusals {
    /// Refuses a request of the server, in the background. Only the first one is logged.
    pub(super) fn add(&self, server: &str, id: Box<RawValue>, transport: &Weak<dyn Transport>) {
        let waiting = self.0.get_or_init(|| {
            warn!(server, "MCP server '{server}' asks too much at once; some of it is refused");
            let (waiting, refused) = mpsc::channel(MOST_WAITING);
            tokio::spawn(send(refused, transport.clone()));
            waiting
        });
        if id.get().len() > LONGEST_ID || waiting.try_send(id).is_err() {
            debug!(server, "a request of the server is left without an answer");
        }
    }
}

/// Sends responses until the inbox is dropped.
async fn send(mut refused: mpsc::Receiver<Box<RawValue>>, transport: Weak<dyn Transport>) {
    while let Some(id) = refused.recv().await {
        let Some(transport) = transport.upgrade() else { return };
        let error = RpcError::new(RpcError::REFUSED, "too many requests at once");
        if let Err(error) = transport.respond(&id, Err(error)).await {
            debug!(%error, "a refusal was not sent");
        }
    }
}
