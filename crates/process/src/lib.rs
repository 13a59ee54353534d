//! Programs that Switchboard starts: MCP servers and the programs of `command` tools (SPEC MC-7).
//!
//! [`Program`] says what is started, with which environment; [`guard`] ends it when we are gone. What is said to the
//! program and what it answers is left to those who start it.

#[cfg(not(unix))]
compile_error!("Switchboard runs on Linux and macOS; this system is not supported");

pub mod capture;
pub mod environment;
pub mod excerpt;
pub mod group;
pub mod guard;
pub mod program;
pub mod run;

pub use capture::CapturedOutput;
pub use group::ProcessGroup;
pub use guard::ProcessGuard;
pub use program::{Program, StartError};
pub use run::{FinishedProcess, ProcessEnd};
