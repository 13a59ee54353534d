//! The types that every Switchboard crate shares: what a tool is, how it is called and what it returns.
//!
//! Nothing here does I/O. The runtime crate runs calls; other crates offer tools or make calls.
//!
//! ```
//! use switchboard_toolcall::{tool_fn, CallContext, Json, Tool};
//!
//! /// Adds two numbers.
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Add { a: i64, b: i64 }
//!
//! let add = tool_fn("add", |Add { a, b }, _cx: CallContext| async move { Json(a + b) });
//! assert_eq!(add.spec().description, "Adds two numbers.");
//! ```

mod call;
mod call_key;
mod context;
mod error;
mod function;
mod human;
pub mod json;
pub mod numbers;
mod output;
mod part_text;
mod pattern;
mod principal;
mod profile;
mod result;
mod spec;
pub mod sse;
pub mod text;
pub mod time;
mod tool;
mod tool_budget;
mod trace;
mod visibility;
mod caller_channel;
mod caller_token;

pub use call::{CallId, ToolCall};
pub use call_key::{CallKey, RunTurn};
pub use caller_channel::{CallerChannel, LogLevel, QuestionKind, ServerQuestion, ServerQuestions};
pub use caller_token::CallerToken;
pub use context::{BeforeClose, BeforeRun, CallContext, Progress, ProgressUpdate, client_name};
pub use error::{BoxError, ErrorKind, ToolError};
pub use function::{FunctionTool, tool_fn};
pub use human::{HumanDuration, HumanSize};
pub use output::{BinaryPart, Content, IntoOutput, Json, Part, ToolOutput};
pub use pattern::{PatternError, ToolPattern, ToolPatterns};
pub use principal::Principal;
pub use profile::{
    ArgumentChange, DiscoveryMode, Profile, ProfileConfig, ProfileError, ProfileRules, ToolChange,
};
pub use result::{Artifact, BoundedOutput, ReuseReason, ToolMessage, ToolResult};
pub use spec::{
    Annotations, FixedArgument, Normalize, Strictness, ToolOrigin, ToolSettings, ToolSpec,
};
pub use tool::{BoxFuture, Tool};
pub use tool_budget::ToolBudget;
pub use trace::TraceContext;
pub use visibility::Visibility;

// What users of typed tools need besides, in the versions that we were built with.
pub use schemars;
pub use serde_json;
pub use tokio_util::sync::CancellationToken;
