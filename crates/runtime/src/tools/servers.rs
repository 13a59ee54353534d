//! What the collection of tools knows of servers.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use switchboard_toolcall::{BoxFuture, Tool, ToolError};

/// A server's connection, as far as finding its tools needs it.
pub trait Link: Send + Sync {
    /// Waits until the server's tools are known.
    ///
    /// # Errors
    /// The server was given up, as the call's error says.
    fn ready(&self) -> BoxFuture<'_, Result<(), ToolError>>;

    /// How long a call of its tool `tool` may take, by its own name at the server, if its settings say: so that waiting for
    /// the server to connect keeps to that, too.
    fn timeout(&self, tool: &str) -> Option<Duration> {
        _ = tool;
        None
    }

    /// How the server is, for people and models.
    fn status(&self) -> Value;

    /// How often the server was started or connected to.
    fn starts(&self) -> u64 {
        0
    }
}

/// How a server's tools are shown and bounded.
#[derive(Clone)]
pub struct ServerSettings {
    /// What stands before its tools' names; empty shows them bare. By default the server's name.
    pub prefix: Option<String>,
    /// How many calls to it may run at once.
    pub max_concurrent: usize,
    /// Its connection, where there is one to wait for.
    pub link: Option<Arc<dyn Link>>,
    /// Requests to the server that are no tools of its own, such as `resources/read`. They are called by their full
    /// name like any tool, but never listed, offered or suggested.
    pub methods: Vec<Arc<dyn Tool>>,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self { prefix: None, max_concurrent: 64, link: None, methods: Vec::new() }
    }
}

/// A server that is known, connected or not.
pub struct KnownServer {
    /// Its name.
    pub name: Arc<str>,
    /// How many tools it offers now.
    pub tools: usize,
    /// Its connection.
    pub link: Option<Arc<dyn Link>>,
}
