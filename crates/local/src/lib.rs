//! Local tools: those that the config defines (mocks, handlers) and the built-in ones (SPEC §7).
//!
//! A [`ToolDefinition`] is what the config says; with the host's [`Handlers`] it becomes a tool. The
//! [`builtins`] are tools as they are. Running them (deadlines, validation, records) is left to the
//! runtime.
//!
//! ```
//! use serde_json::json;
//! use switchboard_local::{Handlers, ToolDefinition, handler_fn};
//! use switchboard_toolcall::{CallContext, Tool};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let handlers = Handlers::new();
//! handlers.register_internal("inventory", handler_fn(|args, _| async move { format!("7 of {}", args["item"]) }));
//! let definition: ToolDefinition = serde_json::from_value(json!({
//!     "name": "stock",
//!     "description": "Returns how many of an item are in stock.",
//!     "parameters": {"type": "object", "properties": {"item": {"type": "string"}}},
//!     "implementation": {"type": "internal", "handler": "inventory"},
//! }))?;
//! let stock = definition.into_tool(&handlers)?;
//! let output = stock.call(json!({"item": "lamp"}), &CallContext::default()).await?;
//! assert_eq!(output.text(), "7 of \"lamp\"");
//! # Ok(()) }
//! ```

mod definition;
mod handlers;
pub mod builtins;
pub mod replay;
pub mod http;
mod faults;
mod binary;
mod command;
mod handler_tool;
mod mock;
mod responses;
mod template;

pub use builtins::BuiltinsConfig;
pub use definition::{
    ArgumentSettings, CommandOutput, DefinitionError, Implementation, ImplementationType,
    MockError, MockResponse, ToolDefinition,
};
pub use faults::{FaultError, FaultRule, Faults};
pub use handlers::{Handler, HandlerKind, Handlers, handler_fn};
pub use switchboard_process::{ProcessGuard, guard};
