//! Real clients before our server, over HTTP and stdio, with a server of either era behind it.
//!
//! `cargo xtask test` installs the clients and says where they are. One that is not there fails its test; none is
//! skipped.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod faces;
mod gateway;
mod scripts;
mod inspector;
mod rust_sdk;
