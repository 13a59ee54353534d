//! `switchboard calls gc`: drops what is too old or too much.

use std::process::ExitCode;

use switchboard_audit::retention;

use super::{failed, folder, format};
use crate::{cli::GcArgs, records, settings::LoadedConfig, terminal};

pub(super) fn run(gc: &GcArgs, loaded: &LoadedConfig) -> anyhow::Result<ExitCode> {
    let (folder, config) = (folder(loaded)?, &loaded.settings.audit);
    // First the runs: what only they need goes with them.
    if let (false, Some(runs)) = (gc.dry_run, records::runs(loaded)) {
        runs.forget(records::run_limits(config))?;
    }
    let collected = match gc.dry_run {
        true => retention::preview(&folder, config),
        false => retention::gc(&folder, config),
    };
    let collected = collected.map_err(failed)?;
    if gc.json {
        terminal::print(&serde_json::to_string(&collected)?)?;
    } else {
        let word = if gc.dry_run { "would go" } else { "went" };
        let (bytes, left) = (format::size(collected.bytes), format::size(collected.left));
        let calls = match collected.calls {
            0 => String::new(),
            calls => format!("the content of {calls} calls, "),
        };
        terminal::print(&format!(
            "{calls}{} segments and {} artifacts {word}, {bytes} in all; {left} stay",
            collected.segments, collected.artifacts
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
