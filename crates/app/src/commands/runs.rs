//! `switchboard runs`: what models were asked and did, and going on after a crash (SPEC RN-1, RN-2).

mod comparison;
mod diff;
mod export;
mod list;
mod rerun;
mod resume;
mod show;

use std::process::ExitCode;

use anyhow::{anyhow, bail};
use switchboard_agent::{RunError, RunStore};

use crate::{
    cli::{Cli, RunsAction, RunsArgs},
    overrides, records,
    settings::LoadedConfig,
    terminal::CommandFailed,
};

pub(super) fn run(runs: &RunsArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    if runs.action.is_some() && (runs.json || runs.limit.is_some()) {
        bail!(
            "what belongs to a subcommand stands after it, as in `switchboard runs show ID --json`"
        );
    }
    let loaded = overrides::load(cli)?;
    match &runs.action {
        None => list::run(runs, &loaded, cli),
        Some(RunsAction::Show(args)) => show::run(args, &loaded, cli),
        Some(RunsAction::Resume(args)) => resume::run(args, loaded, cli),
        Some(RunsAction::Rerun(args)) => rerun::run(args, cli, loaded),
        Some(RunsAction::Diff(args)) => diff::run(args, &loaded, cli),
        Some(RunsAction::Export(args)) => export::run(args, &loaded),
    }
}

/// Returns the runs of this user.
///
/// # Errors
/// There is no folder for them.
fn store(loaded: &LoadedConfig) -> anyhow::Result<RunStore> {
    let store = records::runs(loaded);
    store.ok_or_else(|| anyhow!(CommandFailed(records::NO_FOLDER.to_owned())))
}

fn failed(error: RunError) -> anyhow::Error {
    anyhow!(CommandFailed(format!("{:#}", anyhow!(error))))
}
