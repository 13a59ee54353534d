//! Changes of the config's servers, which the program that holds the config makes.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use switchboard_toolcall::BoxFuture;
use utoipa::ToSchema;

/// Writes servers into the config, and applies it before it returns.
pub trait ServerEditor: Send + Sync {
    /// Connects to a server to test it, writes it into the config if it responds, and starts it. If the future is dropped,
    /// nothing is written, unless writing has begun.
    fn add(&self, server: NewServer) -> BoxFuture<'_, Result<AddedServer, EditError>>;

    /// Switches a server on or off in the config.
    fn enable(&self, name: String, is_enabled: bool) -> BoxFuture<'_, Result<(), EditError>>;

    /// Removes a server from the config.
    fn remove(&self, name: String) -> BoxFuture<'_, Result<(), EditError>>;
}

/// A server to be added, as `switchboard add` is given one.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NewServer {
    /// Its name; one follows from a package or a URL.
    #[schema(min_length = 1)]
    pub name: Option<String>,
    /// A URL, `npm:PACKAGE` or `pypi:PACKAGE`; none for a command.
    pub source: Option<String>,
    /// The command that starts it, word by word; arguments of a package.
    #[schema(required = false)]
    pub command: Vec<String>,
    /// Variables of its environment.
    #[schema(required = false, value_type = HashMap<String, String>)]
    pub env: IndexMap<String, String>,
    /// Headers for a server with a URL.
    #[schema(required = false, value_type = HashMap<String, String>)]
    pub headers: IndexMap<String, String>,
    /// Whether the URL is one of the old HTTP+SSE transport.
    #[schema(required = false)]
    pub sse: bool,
}

/// A server that was added.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AddedServer {
    /// Its name.
    pub name: String,
    /// Names of its tools, with the server's before them.
    pub tools: Vec<String>,
    /// What the person should know, such as where a secret was stored; never the secret.
    pub notes: Vec<String>,
}

/// Why the config was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The server is invalid.
    #[error("{0}")]
    Wrong(String),
    /// The server does not respond; nothing was written.
    #[error("{0}")]
    NoAnswer(String),
    /// The config names no such server.
    #[error("{0}")]
    Unknown(String),
    /// The config does not allow it: the name is taken, it is not TOML, or its current version was refused.
    #[error("{0}")]
    Conflict(String),
    /// The config cannot be written.
    #[error("{0}")]
    NotWritten(String),
}
