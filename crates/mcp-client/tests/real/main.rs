//! Real servers, through the whole client and executor: what they offer, what their tools do, and what is left.
//!
//! `cargo xtask test` installs the servers and says where they are. One that is not there fails its test; none is
//! skipped.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod parts;
mod test_servers;
mod http;
mod everything;
mod files;
mod python;
mod git;
mod sqlite;
mod rust_server;
mod rust_sdk;
mod names;
mod proxies;
mod starting;
