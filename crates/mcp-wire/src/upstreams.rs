//! The trait for the servers behind an MCP server, however they are connected.

use std::sync::Arc;

use switchboard_toolcall::{BoxError, BoxFuture, LogLevel};
use tokio::sync::broadcast;

use crate::{List, ListResult, ServerChange};

/// The servers behind an MCP server.
pub trait Upstreams: Send + Sync {
    /// Returns all servers, in the order of the config.
    fn all(&self) -> Vec<Arc<dyn Upstream>>;

    /// Returns the servers that are added from now on.
    fn added(&self) -> broadcast::Receiver<Arc<dyn Upstream>>;

    /// Sets the lowest level of log messages. Modern servers get it with each request instead.
    fn set_log_level(&self, level: LogLevel);

    /// Releases what servers hold for a client's session that has ended.
    fn release(&self, session: &str);
}

/// One server behind an MCP server.
pub trait Upstream: Send + Sync {
    /// Its name in the config.
    fn name(&self) -> &Arc<str>;

    /// Returns the prefix of its tools, `None` if that is its name.
    fn prefix(&self) -> Option<&str>;

    /// Returns whether it is connected and declares that it has the list.
    fn has(&self, list: List) -> bool;

    /// Reads a list, all pages of it.
    fn list(&self, list: List) -> BoxFuture<'_, Result<ListResult, BoxError>>;

    /// Returns a number that grows if its resources or prompts may have changed.
    fn edition(&self) -> u64;

    /// Returns its changes from now on.
    fn changes(&self) -> broadcast::Receiver<ServerChange>;

    /// Ends the subscription to a resource that was made by a call of [`Method::Subscribe`](crate::Method::Subscribe).
    fn unsubscribe(&self, uri: &str);
}
