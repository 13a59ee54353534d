//! The loop against a scripted model and fake tools.
#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod scripted;
mod endings;
mod held;
mod foreign;
mod replies;
mod cancelling;
mod repeating;
mod saved;
mod property;
mod recovered;
mod traps;
mod searching;
mod deferring;
mod deferring_openai;
mod fitting;
mod provider_context;
mod schemas;
mod resuming;
mod interrupted;
mod partial_turns;
mod opt_in;
