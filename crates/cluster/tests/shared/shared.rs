//! What the tests in memory and those with a real NATS share.

pub(crate) mod credentials;
pub(crate) mod mcp_sessions;
