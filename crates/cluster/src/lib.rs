//! The state that several gateways share, so that a request may reach any of them: tokens, rate limits, held calls,
//! sign-ins to servers, and call records.
//!
//! All of it is in buckets and streams of NATS. What is read often is read from a `Mirror` in memory, which
//! follows its bucket; what must be decided only once is decided by compare-and-set.
//!
//! ```no_run
//! use std::sync::Arc;
//! use switchboard_access::{Access, Tokens};
//! use switchboard_cluster::ClusterState;
//! use switchboard_workers::{Cluster, Config};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config { nats: Some("nats://127.0.0.1:4222".to_owned()), ..Default::default() };
//! let cluster = Cluster::connect(&config).await?;
//! let tokens = Arc::new(Tokens::open("tokens.json")?);
//! let state = ClusterState::join(&cluster, tokens.clone()).await;
//!
//! // A token that is created at one gateway is accepted at all of them, and so are approvals.
//! let access = Access::among(Some(state.clone()), &Default::default(), "0.0.0.0:7070".parse()?, tokens)?;
//! println!("{} calls wait for approval", state.queue().pending()?.len());
//! state.leave().await;
//! # Ok(()) }
//! ```

mod state;
mod error;
mod mirror;
mod gateways;
mod tokens;
mod rates;
mod slots;
mod approvals;
mod mcp_sessions;
mod view;
mod sign_ins;
mod seal;
mod credentials;
mod sign_in_pages;
pub mod streams;
pub mod records;
pub mod figures;

pub use credentials::ClusterCredentials;
pub use error::Error;
pub use state::ClusterState;
pub use tokens::ClusterTokens;
pub use view::ClusterView;
