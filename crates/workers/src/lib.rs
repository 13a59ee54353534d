//! Calls run elsewhere: tools of workers, reached through NATS, that look like any other [`Tool`](switchboard_toolcall::Tool).
//!
//! [`Cluster`] is the connection; `names.rs` says what is called how on it, `wire.rs` what is said. `jobs.rs` is the queue
//! of durable calls.

pub mod cluster;
pub mod config;
pub mod error;
pub mod jobs;
pub mod names;
pub mod wire;

pub use cluster::Cluster;
pub use config::Config;
pub use error::Error;
pub use jobs::{Jobs, Queue, Runner};
pub use names::{Bucket, Names};
