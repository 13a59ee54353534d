//! What a session is created from, and whether other gateways can adopt it.

use std::sync::Arc;

use serde_json::Value;

/// What `initialize` negotiated.
pub(crate) struct SessionInit {
    /// The protocol version.
    pub(crate) version: &'static str,
    /// The client's capabilities.
    pub(crate) capabilities: Value,
    /// The client's name.
    pub(crate) client: Option<Arc<str>>,
}

/// Whether a session is bound to this process.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SessionScope {
    /// The session lives and ends with this process.
    Local,
    /// Other gateways may adopt the session. Their stream and request numbers must not collide, so each counts from its own
    /// random start.
    Cluster {
        /// The number of the session's own stream here; questions and other streams follow.
        first: u64,
    },
}

impl SessionScope {
    pub(super) fn first(self) -> u64 {
        match self {
            Self::Local => 0,
            Self::Cluster { first } => first,
        }
    }
}
