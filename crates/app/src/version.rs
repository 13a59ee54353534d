//! The version, with the commit that the program was built from and its date, if the build knew them.

use std::process::ExitCode;

use crate::terminal;

/// Such as `0.1.0 (c9615555 2026-11-18)`; build.rs makes it.
pub(crate) const VERSION: &str = env!("SWITCHBOARD_VERSION");

/// `switchboard version`: what `--version` prints.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    terminal::print(&format!("switchboard {VERSION}"))?;
    Ok(ExitCode::SUCCESS)
}
