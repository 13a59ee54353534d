//! `switchboard remove`, `enable` and `disable`: the servers of a config, without an editor.

use std::{path::Path, process::ExitCode};

use anyhow::bail;
use switchboard_runtime::lookup::close_names;

use super::import::keep_trust;
use crate::{
    cli::{Cli, PlaceArgs, ServerNameArgs},
    environment,
    settings::{FILE_NAME, edit::ConfigEditor, own_config, trust},
    terminal::{self, text},
};

/// Opens the config that a command writes: the one that is named, the folder's, or the user's own.
///
/// # Errors
/// The config cannot be read, or there is no home folder.
pub(super) fn open(place: &PlaceArgs, cli: &Cli) -> anyhow::Result<ConfigEditor> {
    let file = match (&cli.config, place.here) {
        (Some(_), true) => bail!("--here and --config name two configs; leave one out"),
        (Some(file), false) => file.clone(),
        (None, true) => FILE_NAME.into(),
        (None, false) => match environment::path("SWITCHBOARD_CONFIG").or_else(own_config) {
            Some(file) => file,
            None => bail!("there is no home folder for your config; --here writes ./{FILE_NAME}"),
        },
    };
    ConfigEditor::open(file)
}

/// Writes a config that a person has changed; one that was trusted still is.
///
/// # Errors
/// The config cannot be written.
pub(super) fn save(config: &ConfigEditor) -> anyhow::Result<()> {
    let was_trusted = !config.file().exists() || trust::is_trusted(config.file());
    config.save()?;
    if was_trusted && config.file().ends_with(FILE_NAME) {
        keep_trust(config.file());
    }
    Ok(())
}

pub(super) fn remove(server: &ServerNameArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    edit(server, cli, "removed from", |config| config.remove(&server.name))
}

pub(super) fn enable(
    server: &ServerNameArgs,
    is_enabled: bool,
    cli: &Cli,
) -> anyhow::Result<ExitCode> {
    let done = if is_enabled { "enabled in" } else { "disabled in" };
    edit(server, cli, done, |config| config.enable(&server.name, is_enabled))
}

fn edit(
    server: &ServerNameArgs,
    cli: &Cli,
    done: &str,
    change: impl FnOnce(&mut ConfigEditor) -> bool,
) -> anyhow::Result<ExitCode> {
    let mut config = open(&server.place, cli)?;
    let shown = config.file().display().to_string();
    if !change(&mut config) {
        bail!("there is no server `{}` in {shown}{}", server.name, advice(server, &config, cli));
    }
    save(&config)?;
    terminal::print(&format!("{} is {done} {shown}", text::one_line(&server.name)))?;
    Ok(ExitCode::SUCCESS)
}

/// Suggests the server that was probably meant.
fn advice(server: &ServerNameArgs, config: &ConfigEditor, cli: &Cli) -> String {
    let is_elsewhere = !server.place.here
        && cli.config.is_none()
        && ConfigEditor::open(FILE_NAME.into()).is_ok_and(|here| here.get(&server.name).is_some());
    if is_elsewhere {
        return format!("; there is one in ./{FILE_NAME}, which --here changes");
    }
    let names = config.servers();
    match close_names(&server.name, names.iter().map(String::as_str)).first() {
        Some(name) => format!("; did you mean `{name}`?"),
        None if names.is_empty() => "; it names no servers".to_owned(),
        None => format!("; it has {}", names.join(", ")),
    }
}

/// Warns if a config in the current folder is used in place of the user's own, which was just changed.
pub(super) fn tell_if_shadowed(place: &PlaceArgs, cli: &Cli) {
    let is_named = cli.config.is_some() || environment::is_set("SWITCHBOARD_CONFIG");
    let is_own = !place.here && !is_named && own_config().is_some();
    if is_own && Path::new(FILE_NAME).exists() {
        terminal::tell(&format!(
            "note: in this folder ./{FILE_NAME} is used in place of your own config; --here changes it"
        ));
    }
}
