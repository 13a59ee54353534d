//! The store from outside: what executors write, what processes leave, what readers find.
#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]
#![expect(clippy::disallowed_methods, reason = "processes live in real time")]

mod support;

mod recording;
mod crashes;
mod damage;
mod failures;
mod usage;
mod sharing;
mod index;
mod claims;
mod retention;
mod rewritten;
mod questions;
mod clock;
mod export;
mod rollups;
mod search;
mod runs;
mod compression;
mod tool_ages;
