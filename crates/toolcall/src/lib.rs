//! The words every Switchboard crate shares: what a tool is, how it is called and what it answers.
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

pub mod call;
pub mod context;
pub mod error;
pub mod function;
pub mod human;
pub mod json;
pub mod numbers;
pub mod output;
mod part_text;
pub mod pattern;
pub mod result;
pub mod spec;
pub mod sse;
pub mod text;
pub mod tool;
pub mod trace;
pub mod visibility;
pub mod way_back;

pub use call::{CallId, ToolCall};
pub use context::{CallContext, Progress, ProgressUpdate, client_name};
pub use error::{BoxError, ErrorKind, ToolError};
pub use function::{FunctionTool, tool_fn};
pub use human::{HumanDuration, Size};
pub use output::{Binary, Content, IntoOutput, Json, Part, ToolOutput};
pub use pattern::{PatternError, ToolPattern, ToolPatterns};
pub use result::{Answer, Artifact, Reused, ToolMessage, ToolResult};
pub use spec::{Annotations, FixedArgument, Normalize, Origin, Strictness, ToolSettings, ToolSpec};
pub use tool::{BoxFuture, Tool};
pub use trace::TraceContext;
pub use visibility::Visibility;
pub use way_back::{LogLevel, QuestionKind, ServerQuestion, ServerQuestions, WayBack};

// What users of the typed tools need beside us, in the versions we were built with.
pub use schemars;
pub use serde_json;
pub use tokio_util::sync::CancellationToken;
