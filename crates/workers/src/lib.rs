//! Calls run elsewhere: tools of workers, reached through NATS, that look like any other [`Tool`](switchboard_toolcall::Tool).
//!
//! [`Cluster`] is the connection; `transport.rs` is what it needs of its servers, which `nats.rs` provides, and `memory.rs` for
//! tests. `names.rs` has the names of subjects and buckets, `wire.rs` the messages, `offer.rs` what a worker says of itself, `sign.rs`
//! who is believed. [`Worker`] offers the tools of its own executor to a group; [`Groups`] watches who is there and makes each group
//! a server of the `ToolManager`, whose tools ([`WorkerTool`]) ask a worker to run them. `jobs.rs` is the queue of durable calls.
//!
//! ```no_run
//! use std::sync::Arc;
//! use switchboard_runtime::ToolExecutor;
//! use switchboard_toolcall::CancellationToken;
//! use switchboard_workers::{Cluster, Config, Groups, Worker};
//!
//! # async fn example(executor: ToolExecutor) -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config { nats: Some("nats://127.0.0.1:4222".to_owned()), ..Default::default() };
//! let cluster = Cluster::connect(&config).await?;
//! // Offers all tools of `executor` to the group `gpu`, 4 calls at once.
//! let worker = Worker::new(cluster.clone(), "gpu", 4, executor, Arc::new(|_| true))?;
//! let stop = CancellationToken::new();
//! let running = tokio::spawn(worker.run(stop.clone()));
//!
//! // Elsewhere: the tools of all groups, as `gpu__transcribe`.
//! let remote = ToolExecutor::default();
//! let groups = Groups::start(cluster, remote.tools()).await?;
//! let result = remote.call("gpu__transcribe", serde_json::json!({"file": "a.wav"})).await;
//! # groups.close().await; stop.cancel(); running.await??;
//! # Ok(()) }
//! ```

mod clock;
pub mod cluster;
pub mod config;
pub mod error;
pub mod names;
pub mod transport;
pub mod nats;
#[cfg(feature = "memory")]
pub mod memory;
pub mod wire;
pub mod sign;
pub mod offer;
mod large;
pub mod worker;
mod replies;
pub mod tool;
pub mod groups;
pub mod jobs;

pub use cluster::Cluster;
pub use config::{Config, WorkerConfig};
pub use error::Error;
pub use groups::Groups;
pub use jobs::{Jobs, Queue, Runner};
pub use names::{Bucket, Names};
pub use sign::{Purpose, Secrets, Signer};
pub use tool::WorkerTool;
pub use worker::Worker;
