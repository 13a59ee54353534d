//! Calls run elsewhere: tools of workers, reached through NATS, that look like any other [`Tool`](switchboard_toolcall::Tool).
//!
//! [`Cluster`] is the connection; `names.rs` says what is called how on it, `wire.rs` what is said, `offer.rs` what a worker
//! says of itself, `sign.rs` who is believed. [`Worker`] offers the tools of its own executor to a group; [`Groups`] watches who is there and makes
//! each group a server of the `ToolManager`, whose tools ([`WorkerTool`]) ask a worker to run them. `jobs.rs` is the queue
//! of durable calls.

mod clock;
pub mod cluster;
pub mod config;
pub mod error;
pub mod names;
pub mod wire;
pub mod sign;
pub mod offer;
mod large;
pub mod worker;
mod replies;
pub mod tool;
pub mod groups;
pub mod jobs;

mod health;

pub use cluster::Cluster;
pub use config::{Config, WorkerConfig};
pub use error::Error;
pub use groups::Groups;
pub use jobs::{Jobs, Queue, Runner};
pub use names::{Bucket, Names};
pub use sign::{Purpose, Secrets, Signer};
pub use tool::WorkerTool;
pub use worker::Worker;
