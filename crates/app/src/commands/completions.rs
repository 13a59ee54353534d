//! `switchboard completions`: a script for the shell.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::{
    cli::{Cli, CompletionsArgs},
    terminal,
};

pub(super) fn run(completions: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    // Written to memory first, for the generator panics where its output is closed.
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut Cli::command(), "switchboard", &mut script);
    terminal::print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
