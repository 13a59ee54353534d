//! Servers, as the collection of tools knows them.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use switchboard_toolcall::{BoxFuture, Tool, ToolError};

/// A server's connection, as far as finding its tools needs it.
pub trait ServerLink: Send + Sync {
    /// Waits until the server's tools are known.
    ///
    /// # Errors
    /// The server could not be connected to.
    fn ready(&self) -> BoxFuture<'_, Result<(), ToolError>>;

    /// Returns how long a call of `tool`, by its name at the server, may take, if the settings say: waiting for the
    /// server to connect is limited by this too.
    fn timeout(&self, tool: &str) -> Option<Duration> {
        _ = tool;
        None
    }

    /// Returns the server's status, for people and models.
    fn status(&self) -> Value;

    /// Returns the server's instructions for models, once it is connected.
    fn instructions(&self) -> Option<String> {
        None
    }

    /// Returns how often the server was started or connected to.
    fn starts(&self) -> u64 {
        0
    }
}

/// How a server's tools are shown and limited.
#[derive(Clone)]
pub struct ServerSettings {
    /// The prefix of its tools' names; empty for none. The server's name by default.
    pub prefix: Option<String>,
    /// How many calls to it may run at once.
    pub max_concurrent: usize,
    /// Its connection, if there is one to wait for.
    pub link: Option<Arc<dyn ServerLink>>,
    /// Requests to the server besides its tools, such as `resources/read`. They are called by full name like any tool,
    /// but never listed, offered or suggested.
    pub methods: Vec<Arc<dyn Tool>>,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self { prefix: None, max_concurrent: 64, link: None, methods: Vec::new() }
    }
}

/// A known server, connected or not.
#[non_exhaustive]
pub struct KnownServer {
    /// Its name.
    pub name: Arc<str>,
    /// How many tools it offers now.
    pub tools: usize,
    /// Its connection.
    pub link: Option<Arc<dyn ServerLink>>,
}
