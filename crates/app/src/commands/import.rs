//! `switchboard import`: copies servers from the configs of other programs into ours.

mod merge;
mod report;
mod sources;

use std::{path::Path, process::ExitCode};

pub(crate) use sources::program_words;

use self::{
    merge::{ImportOutcome, Merge},
    sources::ConfigSource,
};
use super::{
    connect::difference,
    edit_servers,
    secret_values::{MovedSecrets, SecretChoice},
};
use crate::{
    cli::{Cli, ImportArgs},
    environment,
    settings::{
        FILE_NAME,
        edit::ConfigEditor,
        import::{self, ForeignServer},
        own_config, trust,
    },
    terminal::{self, Paint, ask, text},
    vault,
};

/// The servers of one config.
struct FoundServers {
    source: ConfigSource,
    servers: Vec<ForeignServer>,
}

pub(super) fn run(import: &ImportArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let target = open_target(import, cli)?;
    let is_own = own_config().as_deref() == Some(target.file());
    let found = find(import, &target, is_own)?;
    let before = target.text();
    let was_trusted = !target.file().exists() || trust::is_trusted(target.file());
    let secrets = MovedSecrets::new(SecretChoice::of_terminal(import.plain_secrets));
    let mut merge = Merge::new(target, secrets);
    let mut outcomes = Vec::new();
    for FoundServers { source, servers } in &found {
        for server in servers {
            outcomes.push(merge.take(server, source)?);
        }
    }
    let (target, moved) = merge.finish();
    let is_changed = outcomes.iter().any(ImportOutcome::is_change);
    if is_changed && !import.print {
        // Secrets first: a config that refers to them cannot be used without them.
        let notes = if vault::open().is_ok() { moved.store()? } else { Vec::new() };
        target.back_up()?;
        target.save()?;
        for note in notes {
            terminal::tell(&text::one_line(&note));
        }
        settle_trust(&target, &found, was_trusted, is_own, cli);
    }
    let report = report::ImportReport { found: &found, target: &target, outcomes: &outcomes };
    let paint = Paint::stdout(cli.color);
    let mut shown = match import.json {
        true => report.json().to_string(),
        false => report.text(import.print, paint),
    };
    if import.print && !import.json && is_changed {
        shown = format!("{}\n\n{shown}", difference(&before, &target.text(), paint));
    }
    terminal::print(&shown)?;
    if is_changed && !import.print {
        edit_servers::tell_if_shadowed(&import.place, cli);
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens the config that is named, the folder's, or the user's own; without a home folder, the folder's (SPEC MC-8).
fn open_target(import: &ImportArgs, cli: &Cli) -> anyhow::Result<ConfigEditor> {
    let is_named = cli.config.is_some() || environment::is_set("SWITCHBOARD_CONFIG");
    match is_named || import.place.here || own_config().is_some() {
        true => edit_servers::open(&import.place, cli),
        false => ConfigEditor::open(FILE_NAME.into()),
    }
}

/// Reads the configs that the arguments select. A config of the current folder may be somebody else's: its servers get
/// into the user's own config only if the person confirms that, or names the file.
fn find(
    import: &ImportArgs,
    target: &ConfigEditor,
    is_own: bool,
) -> anyhow::Result<Vec<FoundServers>> {
    let sources = match import.all {
        true => sources::all(),
        false => {
            let each: Vec<_> =
                import.source.iter().map(|word| sources::find(word)).collect::<Result<_, _>>()?;
            each.concat()
        }
    };
    let mut found = Vec::new();
    for source in sources {
        let servers = match import::servers_of(&source.file, source.dialect(), target.separator()) {
            // With `--all`, a broken config does not stop the import of the others.
            Err(error) if import.all => {
                terminal::tell(&format!("note: skipped a config: {error:#}"));
                continue;
            }
            servers => servers?,
        };
        let is_many = import.all || import.source.len() > 1;
        if servers.is_empty() && (is_many || source.program.is_some()) {
            continue;
        }
        if source.is_folders && is_own && !is_wanted(&source, servers.len()) {
            let file = source.file.display();
            terminal::tell(&format!(
                "note: {file} belongs to this folder, and its {} left out; `switchboard import {file}` imports it, --here into ./{FILE_NAME}",
                report::count(servers.len(), "server was", "servers were")
            ));
            continue;
        }
        found.push(FoundServers { source, servers });
    }
    Ok(found)
}

fn is_wanted(source: &ConfigSource, servers: usize) -> bool {
    let question = format!(
        "{} belongs to this folder, and may be somebody else's. Import its {} into your own config? [y/N] ",
        source.file.display(),
        report::count(servers, "server", "servers")
    );
    // No answer means no.
    ask::is_possible()
        && ask::line(&question).is_ok_and(|answer| matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Keeps a config trusted if it was, unless servers were added to it that the person did not name.
fn settle_trust(
    target: &ConfigEditor,
    found: &[FoundServers],
    was_trusted: bool,
    is_own: bool,
    cli: &Cli,
) {
    let file = target.file();
    let is_persons = found.iter().all(|found| !found.source.is_folders);
    let is_named = cli.config.is_some() || environment::is_set("SWITCHBOARD_CONFIG");
    if was_trusted && is_persons && file.ends_with(FILE_NAME) {
        keep_trust(file);
    } else if !is_named && !is_own {
        terminal::tell(&format!(
            "note: {} has servers that you did not name, and is not trusted; `switchboard trust .` trusts it",
            file.display()
        ));
    }
}

/// Trusts a config that the person has just written by a command (SPEC PO-3).
pub(super) fn keep_trust(file: &Path) {
    if let Err(error) = trust::trust(file) {
        let file = file.display();
        terminal::tell(&format!("note: {file} will be asked about when it is found: {error:#}"));
    }
}
