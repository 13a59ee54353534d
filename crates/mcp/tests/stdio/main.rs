//! Servers that are child processes, with real processes: what they write, how they end, and that nothing is left.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod support;
mod garbage;
mod requests;
mod writing;
mod ending;
mod orphans;
mod starting;
mod stderr;
