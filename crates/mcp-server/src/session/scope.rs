//! What a session is made of, and how far it reaches.

use std::sync::Arc;

use serde_json::Value;

/// What was agreed on when a session was opened.
pub(crate) struct SessionInit {
    /// The revision.
    pub(crate) version: &'static str,
    /// What the client can do.
    pub(crate) capabilities: Value,
    /// What the client calls itself.
    pub(crate) client: Option<Arc<str>>,
}

/// How far a session reaches.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SessionScope {
    /// It lives and ends with this process.
    Local,
    /// Other gateways may have it too. What each of them numbers must not be mistaken for another's, so that each counts
    /// from elsewhere.
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
