//! Against what the providers themselves ship.
//!
//! `cargo xtask test` installs it and says where it is. What is not there fails its test; none is skipped.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod conversation;
mod sdks;
#[path = "../it/light.rs"]
mod light;
mod small_model;
