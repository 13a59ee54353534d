//! Local tools: those that the config defines (mocks, handlers) and the built-in ones (SPEC §7).
//!
//! A [`ToolDefinition`] is what the config says; with the host's [`Handlers`] it becomes a tool. The
//! [`builtins`] are tools as they are. Running them (deadlines, validation, records) is left to the
//! runtime.

pub mod definition;
pub mod handlers;
pub mod builtins;
mod handled;
mod mock;

pub use builtins::BuiltinsConfig;
pub use definition::{DefinitionError, Implementation, ImplementationType, ToolDefinition};
pub use handlers::{Handler, HandlerKind, Handlers, handler_fn};
