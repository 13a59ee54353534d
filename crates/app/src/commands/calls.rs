//! `switchboard calls`: what was called and what came of it (SPEC RC-2).

mod export;
mod cluster_records;
mod follow;
mod gc;
pub(super) mod list;
mod mocks;
mod queued;
mod show;
mod stats;
mod verify;
pub(crate) mod format;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{anyhow, bail};
use switchboard_audit::{Error, Reader, StoreFolder};

use crate::{
    cli::{CallsAction, CallsArgs, Cli},
    records,
    settings::{self, LoadedConfig},
    terminal::CommandFailed,
};

pub(super) fn run(calls: &CallsArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    if calls.action.is_some() && calls.is_about_list() {
        bail!(
            "what belongs to a subcommand stands after it, as in `switchboard calls stats --since 1h`"
        );
    }
    let loaded = settings::load(cli.config.as_deref())?;
    match &calls.action {
        None if calls.follow => follow::run(calls, &loaded, cli),
        None => list::run(calls, &loaded, cli),
        Some(CallsAction::Show(call)) => show::run(call, &loaded, cli),
        Some(CallsAction::Stats(stats)) => stats::run(stats, &loaded, cli),
        Some(CallsAction::Export(export)) => export::run(export, cli, &loaded),
        Some(CallsAction::Verify { json }) => verify::run(*json, &loaded, cli),
        Some(CallsAction::Gc(gc)) => gc::run(gc, &loaded),
    }
}

/// Returns the folder of the records.
///
/// # Errors
/// There is no folder for them.
fn folder(loaded: &LoadedConfig) -> anyhow::Result<PathBuf> {
    records::folder(loaded).ok_or_else(|| {
        let text = "there are no records: neither XDG_STATE_HOME nor HOME is set, and `[audit] path` names no folder";
        anyhow!(CommandFailed(text.to_owned()))
    })
}

/// Returns the folder of the records, with the key that `[audit]` sets for them.
///
/// # Errors
/// There is no folder for them.
fn store_folder(loaded: &LoadedConfig) -> anyhow::Result<StoreFolder> {
    Ok(StoreFolder::with_key(&folder(loaded)?, loaded.settings.audit.key.clone()))
}

/// Opens the records.
///
/// # Errors
/// The records cannot be read.
pub(super) fn open(loaded: &LoadedConfig) -> anyhow::Result<Reader> {
    Reader::open(store_folder(loaded)?).map_err(failed)
}

/// An invalid glob is wrong usage; everything else is a failure of the store.
pub(super) fn failed(error: Error) -> anyhow::Error {
    match error {
        Error::Glob { .. } => error.into(),
        other => anyhow!(CommandFailed(format!("{:#}", anyhow!(other)))),
    }
}
