//! Workers and gateways as real processes around a real NATS: called, killed, stopped, told to leave; what callers are told is
//! compared with what the tools themselves wrote down.

pub(crate) mod worker_setup;
mod calls;
mod deaths;
