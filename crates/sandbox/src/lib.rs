//! Confines programs that Switchboard starts: MCP servers and the programs of `command` tools (SPEC SB-1).
//!
//! A [`Sandbox`] says what stands before a program when it is started: our own binary again, which fetches its policy from us,
//! confines itself and becomes the program ([`enter`]). Files, TCP, signals and abstract sockets are confined by Landlock,
//! other system calls by seccomp, and the network by being another one, whose only way out is a proxy of ours. No root, no
//! daemon, no container; Linux only. Starting programs is left to others.
//!
//! ```
//! use switchboard_sandbox::{SandboxAllow, SandboxConfig, SandboxMode, SandboxPreset};
//!
//! let allow = SandboxAllow {
//!     read: vec!["/srv/data".to_owned()],
//!     preset: SandboxPreset::of_command("npx").into_iter().collect(),
//!     ..SandboxAllow::default()
//! };
//! assert_eq!(allow.with_presets().connect, ["registry.npmjs.org:443"]);
//! let config = SandboxConfig { mode: SandboxMode::On, allow, ..SandboxConfig::default() };
//! assert!(config.check().is_ok());
//! ```

mod config;
mod control;
#[cfg(target_os = "linux")]
mod enter;
mod files;
mod hints;
mod learn;
#[cfg(target_os = "linux")]
mod memory;
mod policy;
mod preset;
mod proxy;
mod refusals;
mod start;
mod support;

pub use config::{SandboxAllow, SandboxConfig, SandboxHome, SandboxLimits, SandboxMode};
#[cfg(target_os = "linux")]
pub(crate) use enter::OWN_PROCESSES;
#[cfg(target_os = "linux")]
pub use enter::{ARGUMENT, run as enter};
pub use files::relocated_secrets;
pub use learn::{LearnedProfile, ProfileOwner};
pub use preset::SandboxPreset;
pub use refusals::{RefusalObserver, SandboxRefusal};
pub use start::{ProfileObserver, Sandbox, SandboxDeps, SandboxedProgram, missing};
pub use support::{SandboxSupport, network_problem};

/// What stands in place of a socket's path if it is only asked whether there can be networks.
pub(crate) const PROBE: &str = "--probe";

/// The argument that asks for processes of the program's own.
#[cfg(not(target_os = "linux"))]
pub(crate) const OWN_PROCESSES: &str = "--own-processes";

/// The argument by which our binary knows that it is to confine itself and become a program.
#[cfg(not(target_os = "linux"))]
pub const ARGUMENT: &str = "__sandbox";

/// Confines nothing: this system has no sandbox.
#[cfg(not(target_os = "linux"))]
pub fn enter(_: impl Iterator<Item = std::ffi::OsString>) -> std::process::ExitCode {
    eprintln!("programs cannot be confined on this system: the sandbox needs Linux");
    std::process::ExitCode::from(127)
}
