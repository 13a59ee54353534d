//! The one path every tool call takes.
//!
//! [`ToolManager`] holds the tools, [`ToolExecutor`] runs calls; `call.rs` shows all steps, and the modules below are
//! in their order. Tools, models and servers live in other crates.
//!
//! ```
//! use switchboard_runtime::{ToolExecutor, toolcall::{CallContext, tool_fn}};
//! use serde_json::json;
//!
//! /// Greets somebody.
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Greet { name: String }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let executor = ToolExecutor::default();
//! let greet = tool_fn("greet", |Greet { name }, _cx: CallContext| async move { format!("Hello, {name}!") });
//! executor.tools().add(greet).unwrap();
//!
//! let result = executor.call("greet", json!({"name": "Ada"})).await;
//! assert_eq!(result.text(), "Hello, Ada!");
//! let result = executor.call("greet", json!({})).await;
//! assert_eq!(result.text(), "Invalid parameters: missing 'name'. Required parameters: name (string)");
//! # }
//! ```

#[cfg(not(unix))]
compile_error!("Switchboard runs on Linux and macOS; this system is not supported");

mod call;
mod builder;
mod config;
pub mod record;
mod tools;
mod tool_index;
pub mod tool_cost;
pub mod lookup;
pub mod rename;
mod profiles;
mod fixed;
pub mod validate;
pub mod policy;
pub mod approval;
mod reuse;
mod dispatch;
mod normalise;
pub mod artifacts;
mod run_artifacts;
mod run_journal;
pub mod redact;
pub mod services;
pub mod durable;
pub mod private_files;

mod log;
mod registry;

pub use approval::{Approval, Approver, CallHeld, Ruling};
pub use artifacts::{ArtifactSource, ArtifactStore, MemoryArtifacts};
pub use builder::ExecutorBuilder;
pub use call::ToolExecutor;
pub use config::Config;
pub use durable::{DurableCalls, QueueState, QueuedCall, RemoteOutcome};
pub use policy::{
    ApprovalOptions, AskFirst, Policy, PolicyConfig, RulePolicy, SwapPolicy, Verdict,
};
pub use profiles::CallNames;
pub use record::{
    CallEnd, CallHistory, CallObserver, CallStart, Claim, ClaimOutcome, IdempotencyStore,
    MemoryRecorder, ModelTurn, RecordClose, RecordOpen, RecordedCall, Recorder, Span,
    SpanOperation, Stages, Tracer,
};
pub use reuse::{fingerprint, key_conflict};
pub use run_artifacts::RunArtifacts;
pub use run_journal::{EndedRun, RunJournal};
pub use tool_index::FoundTool;
pub use tools::{
    AddError, CheckedTools, KnownServer, RegisteredTool, ServerLink, ServerSettings, ToolManager,
    ToolWrapper, WithheldTool,
};

/// The types that every crate shares.
pub use switchboard_toolcall as toolcall;
