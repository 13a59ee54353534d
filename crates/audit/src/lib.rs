//! Keeps records of calls in an embedded store, and answers questions about them.
//!
//! [`Store`] is what an executor records with; [`Reader`] answers questions, in any process. The truth is the journal:
//! lines of JSON in a hash chain, written before a call is dispatched and after it ended. The index beside it can be
//! thrown away at any time. What is kept where, and how to check it by hand: docs/records.md.
//!
//! ```
//! use std::sync::Arc;
//! use switchboard_audit::{Config, Filter, Reader, Store};
//! use switchboard_runtime::ToolExecutor;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let store = Arc::new(Store::open(Config::default(), folder));
//! let executor = ToolExecutor::builder().store(store.clone()).artifacts(store).build();
//! executor.call("nobody", serde_json::json!({})).await;
//!
//! let records = Reader::open(folder)?.list(&Filter::default())?;
//! assert_eq!(records[0].outcome.code(), "not_found");
//! assert!(switchboard_audit::verify(folder)?.is_clean());
//! # Ok(()) }
//! ```

pub mod config;
pub mod error;
pub mod store;
pub mod reader;
pub mod filter;
pub mod moment;
pub mod record;
pub mod verify;
pub mod retention;
pub mod usage;
pub mod chain;
pub mod outbox;

mod key;
mod layout;
mod line;
mod manifest;
mod segment;
mod journal;
mod disk;
mod artifacts;
mod claims;
mod index;

pub use config::Config;
pub use error::Error;
pub use filter::Filter;
pub use key::{Key, StoreFolder};
pub use moment::Moment;
pub use outbox::{Node, Outbox, Stage, Told};
pub use reader::{Activity, By, Figure, Figures, Follow, Reader, ToolStats, Window};
pub use record::{Detail, Outcome, Record};
pub use retention::gc;
pub use store::Store;
pub use usage::{Usage, usage};
pub use verify::verify;
