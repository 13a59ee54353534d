//! README.md and docs/*.md as a reader uses them: every fenced block is run, loaded, compared or, with a reason, only parsed.
//!
//! How a block says what it is stands in docs/writing.md. Without the feature `real-parts` everything is checked that needs no outside
//! part: that each block is understood, that the configs load, that `cargo` commands name things that exist, that excerpts stand in
//! the code. With it, each page is one story that is run from top to bottom, in a network of its own, where all addresses of the
//! examples are free (`pages.rs`).

#![expect(clippy::unwrap_used, reason = "helpers of tests may, like tests")]
#![expect(clippy::disallowed_methods, reason = "processes live in real time")]
#![cfg_attr(
    not(feature = "real-parts"),
    expect(dead_code, reason = "pages are run with real parts only")
)]

mod page;
mod notes;
mod commands;
mod cargo;
mod compare;
mod shell;
mod blocks;
mod configs;
mod links;
#[cfg(feature = "real-parts")]
mod pages;
#[cfg(feature = "real-parts")]
mod story;
#[cfg(feature = "real-parts")]
mod run;
#[cfg(feature = "real-parts")]
mod setups;
#[cfg(feature = "real-parts")]
mod provider;
#[cfg(feature = "real-parts")]
#[path = "../real/sound.rs"]
#[expect(dead_code, reason = "the tests of `real` listen, too")]
mod sound;

use std::path::PathBuf;

/// The folder of the repository.
fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Fails with every complaint on a line of its own, if there are any.
fn report(complaints: &[String]) {
    let count = complaints.len();
    assert!(count == 0, "the docs do not hold ({count}):\n\n{}\n", complaints.join("\n\n"));
}
