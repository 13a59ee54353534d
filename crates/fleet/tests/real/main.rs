//! With a real NATS.

mod records;
