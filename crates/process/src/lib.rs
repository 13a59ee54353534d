//! Programs that Switchboard starts: MCP servers and the programs of `command` tools (SPEC MC-7).
//!
//! [`Program`] says what is started, with which environment; [`guard`] ends it when we are gone. What is said to the
//! program and what it answers is left to those who start it.
//!
//! ```
//! use switchboard_process::{CapturedOutput, ProcessEnd, Program};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let sort = Program {
//!     command: "sort".to_owned(),
//!     args: vec!["-r".to_owned()],
//!     env: [("LC_ALL".to_owned(), "C".to_owned())].into(),
//!     inherit_env: false,
//!     cwd: None,
//!     guard: None,
//!     entry: Vec::new(),
//! };
//! // Keeps the first and the last 1024 bytes of each stream.
//! let output = || CapturedOutput::keeping(1024, 1024);
//! let finished = sort.run(b"a\nc\nb\n", output(), output()).await?;
//! assert_eq!(finished.ending, ProcessEnd::Exited(0));
//! assert_eq!(finished.stdout.into_parts().0, b"c\nb\na\n");
//! # Ok(()) }
//! ```

#[cfg(not(unix))]
compile_error!("Switchboard runs on Linux and macOS; this system is not supported");

mod capture;
pub mod environment;
pub mod excerpt;
mod group;
pub mod guard;
mod program;
mod run;

pub use capture::CapturedOutput;
pub use group::{ProcessGroup, Signal};
pub use guard::ProcessGuard;
pub use program::{Program, StartError};
pub use run::{FinishedProcess, ProcessEnd};
