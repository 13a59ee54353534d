//! The loop around a real model.
//!
//! `cargo xtask test` installs it and says where it is. If it is not there the test fails; none is skipped.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod images;
mod small_model;
