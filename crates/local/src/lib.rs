//! Local tools: those that the config defines (mocks, handlers) and the built-in ones (SPEC §7).
//!
//! A [`ToolDefinition`] is what the config says; with the host's [`Handlers`] it becomes a tool. The
//! [`builtins`] are tools as they are. Running them (deadlines, validation, records) is left to the
//! runtime.

pub mod definition;
pub mod handlers;
pub mod builtins;
pub mod replay;
pub mod faults;
mod binary;
mod command;
mod handled;
mod http;
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
