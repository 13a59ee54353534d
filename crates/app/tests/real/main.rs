//! The binary with a real model behind it, with real MCP clients before it, with those who watch it (an OpenTelemetry collector,
//! Prometheus, a browser), and in a household: real speech services, a real broker, simulated devices.
//!
//! `cargo xtask test` installs it and says where it is. If it is not there the test fails; none is skipped.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]
#![expect(clippy::disallowed_methods, reason = "processes live in real time")]

mod rotel;
mod serving;
mod clients;
mod config_by_command;
mod console;
mod gateways;
mod oauth;
mod prometheus;
#[expect(dead_code, reason = "the other tests use all of it")]
#[path = "../it/pty.rs"]
mod pty;
mod packages;
mod questions;
mod sandbox;
mod lock;
mod shells;
mod sign_in;
mod workers;
mod durable;
mod github_api;
mod ten_tasks;
mod small_model;
mod read_texts;
mod traces;
mod record_log;
mod household;
mod sound;
mod last_words;
mod voice_waits;
mod microphone;
mod voice;
mod cluster_records;
mod three_nodes;

/// What the terminal of the other tests needs.
mod fixture {
    pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
        crate::serving::wait_for(what, || is_so().then_some(()));
    }
}
