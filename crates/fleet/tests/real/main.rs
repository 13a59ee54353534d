//! With a real NATS.

mod access;
mod records;
