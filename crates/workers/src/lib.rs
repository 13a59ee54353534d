//! Tools that run elsewhere: on workers, reached through NATS, as [`Tool`](switchboard_toolcall::Tool)s.
//!
//! [`Cluster`] is the connection; `transport.rs` is the trait behind it, which `nats.rs` implements, and `memory.rs`
//! for tests. `names.rs` has the names of subjects and buckets, `wire.rs` the messages, `offer.rs` what a worker
//! offers, `sign.rs` the signatures. [`Worker`] offers the tools of its own executor to a group; [`Groups`] discovers
//! workers and registers each group as a server of the `ToolManager`, whose tools ([`WorkerTool`]) call a worker.
//! `jobs.rs` is the queue of durable calls.
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
mod cluster;
mod config;
mod error;
pub mod names;
pub mod transport;
pub mod nats;
#[cfg(feature = "memory")]
pub mod memory;
pub mod wire;
pub mod sign;
pub mod offer;
mod large_objects;
mod worker;
mod replies;
mod tool;
pub mod groups;
pub mod jobs;

pub use cluster::Cluster;
pub use config::{Config, WorkerConfig};
pub use error::Error;
pub use groups::Groups;
pub use jobs::{JobQueue, JobRunner, Jobs};
pub use names::{Bucket, ClusterNames, Partitions};
pub use sign::{ClusterSecrets, Purpose, Signer};
pub use tool::WorkerTool;
pub use worker::{OfferFilter, Worker, check_group};
