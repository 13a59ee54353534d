//! Stores records of calls in an embedded store, and queries them.
//!
//! [`Store`] is the recorder of an executor; [`Reader`] queries records, in any process. The source of truth is the
//! journal: hash-chained lines of JSON, written before a call is dispatched and after it ended. The index beside it can
//! be rebuilt at any time. What is stored where, and how to check it by hand: docs/records.md.
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

mod config;
mod error;
mod store;
mod reader;
mod filter;
mod human_time;
mod record;
mod verify;
pub mod retention;
mod usage;
#[doc(hidden)]
pub mod generate;
mod chain;
mod export;
mod shared_records;

mod key;
mod layout;
mod line;
mod manifest;
mod segment;
mod journal;
mod sync_thread;
mod artifacts;
mod claims;
mod index;

pub use chain::Hash;
pub use config::{Config, Durability, OnFailure, Results, ToolAges};
pub use error::Error;
pub use export::{
    CallStage, CallUpdate, ExportTarget, JournalExport, RecordDestination, ShippingProgress,
    ShippingTask, StoreNode, ship_once,
};
pub use filter::Filter;
pub use human_time::HumanTime;
pub use key::{SigningKey, StoreFolder};
pub use reader::{
    CallActivity, CallFigure, CallFigures, FigureQuery, FigureSums, FigureWindow, GroupBy, Reader,
    RecordFollower, ToolStats,
};
pub use record::{CallDetail, CallOutcome, LinePosition, Record};
pub use retention::gc;
pub use shared_records::{
    FigureSource, NodeFigures, RecordTest, SharedCallFollower, SharedFigures, SharedRecords,
    SharedRecordsError,
};
pub use store::Store;
pub use usage::{StoreUsage, usage};
pub use verify::{DamagedLine, OpenSegment, SignatureStatus, VerifyReport, verify};
