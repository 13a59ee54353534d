//! `switchboard completions`: a script for the shell.

use std::process::ExitCode;

use crate::{cli::CompletionsArgs, completion, terminal};

pub(super) fn run(completions: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let script = completion::script(completions.shell)?;
    terminal::print(String::from_utf8_lossy(&script).trim())?;
    Ok(ExitCode::SUCCESS)
}
