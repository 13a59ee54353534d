//! With a real NATS.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod access;
mod figures;
mod records;
