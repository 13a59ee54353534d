//! What many gateways know together, so that a request may reach any of them: who may call what, how much of it, which
//! calls wait for a person, and what happened.
//!
//! All of it lies in buckets and streams of NATS. What is read often is read from a [`Mirror`](mirror::Mirror) in memory, which
//! follows its bucket; what must be so once and for all is settled there by compare-and-set.

mod state;
pub mod error;
pub mod mirror;
pub mod gateways;
pub mod tokens;
pub mod rates;
pub mod approvals;
pub mod mcp_sessions;
mod view;
mod sign_ins;
pub mod streams;
pub mod records;
pub mod figures;

pub use error::Error;
pub use state::ClusterState;
pub use view::ClusterView;
