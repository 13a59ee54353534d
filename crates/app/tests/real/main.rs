//! The binary with a real model behind it, with real MCP clients before it, and with those who watch it: an OpenTelemetry
//! collector, Prometheus, a browser.
//!
//! `cargo xtask test` installs it and says where it is. If it is not there the test fails; none is skipped.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod rotel;
mod serving;
mod clients;
mod console;
mod prometheus;
mod small_model;
mod traces;
