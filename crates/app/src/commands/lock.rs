//! `switchboard lock`: writes down what servers say, and compares (SPEC LK-1).

pub(super) mod journal;
pub(super) mod observe;
pub(super) mod report;

use std::{path::Path, process::ExitCode};

use anyhow::bail;
use serde_json::json;
use switchboard_lock::{
    Change, ChangeKind, DefinitionKind, FILE_NAME, LockFile, LockStore, LockableDefinition,
    LockedServer, Screen, TrustStamp, compare,
};
use switchboard_runtime::lookup::close_names;

use crate::{
    cli::{Cli, LockArgs},
    environment, overrides,
    settings::LoadedConfig,
    terminal::{self, CommandFailed, Paint, is_watched, text},
};
use journal::recorded;
use observe::{ObservedServer, observe};
use report::ServerComparison;

pub(super) fn run(args: &LockArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = overrides::load(cli)?;
    let store = store(&loaded)?;
    for server in &args.update {
        known_server(&loaded, server)?;
    }
    // A file that cannot be read is reported before servers are started.
    let found = store.read()?;
    if args.check && found.is_none() {
        let text = format!("there is no {FILE_NAME}; `switchboard lock` writes one");
        return Err(CommandFailed(text).into());
    }
    let only = (!args.update.is_empty()).then_some(&args.update[..]);
    let observed = observe(&loaded, only, is_watched(args.json))?;
    let before = store.read()?.unwrap_or_default();
    let compared = compare_all(&observed, &before, &loaded);
    show(args, cli, &compared)?;
    if !args.check {
        write(args, &store, &observed, &compared, &loaded)?;
    }
    conclude(args, &store, &loaded, &compared)?;
    let is_unreachable = compared.iter().any(|server| server.error.is_some());
    let differs = args.check && compared.iter().any(ServerComparison::waits);
    Ok(if is_unreachable || differs { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Returns the place of the lock file.
///
/// # Errors
/// There is no config.
pub(super) fn store(loaded: &LoadedConfig) -> anyhow::Result<LockStore> {
    match &loaded.file {
        Some(config) => Ok(LockStore::beside(config)),
        None => bail!(
            "there is no config, so there are no servers to lock; `switchboard init` writes one"
        ),
    }
}

/// Checks that the config has a server of this name, and uses it.
///
/// # Errors
/// The config has no server of this name.
pub(super) fn known_server(loaded: &LoadedConfig, name: &str) -> anyhow::Result<()> {
    if let Some(advice) = loaded.advice_to_enable(name) {
        bail!("{advice}");
    }
    let names: Vec<_> = loaded.enabled_servers().map(|(name, _)| name.as_str()).collect();
    if names.contains(&name) {
        return Ok(());
    }
    let close = close_names(name, names.iter().copied()).first().copied();
    let advice = close.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
    bail!("there is no server `{}` in the config{advice}", text::one_line(name))
}

/// Compares what servers say with the lock, and screens what differs.
pub(super) fn compare_all(
    observed: &[ObservedServer],
    file: &LockFile,
    loaded: &LoadedConfig,
) -> Vec<ServerComparison> {
    let changes: Vec<Vec<Change>> = observed
        .iter()
        .map(|server| match &server.outcome {
            Ok(now) => compare(file.servers.get(&server.name), &now.definitions, true),
            Err(_) => Vec::new(),
        })
        .collect();
    let waiting = observed.iter().zip(&changes).flat_map(|(server, changes)| {
        let waiting = changes.iter().filter(|change| change.change.waits());
        let tools = waiting.filter(|change| change.kind == DefinitionKind::Tool);
        tools.map(|tool| (server.name.as_str(), tool.name.as_str()))
    });
    let screen = Screen::new(tool_names(observed, file)).with_waiting(waiting);
    let compared = observed.iter().zip(&changes).map(|(server, changes)| {
        let locked = file.servers.get(&server.name);
        let (now, error) = match &server.outcome {
            Ok(now) => (Some(now), None),
            Err(error) => (None, Some(error.clone())),
        };
        let identity = match (now, locked) {
            (Some(now), Some(locked)) => now.identity.differences(&locked.identity),
            _ => Vec::new(),
        };
        let findings = |change: &Change| {
            let definitions = now.into_iter().flat_map(|now| &now.definitions);
            let mut own =
                definitions.filter(|one| one.kind == change.kind && one.name == change.name);
            own.next().map(|one| screen.findings(&server.name, one)).unwrap_or_default()
        };
        ServerComparison {
            name: server.name.clone(),
            separator: loaded.settings.executor.separator.clone(),
            count: now.map_or(0, |now| now.definitions.len()),
            is_new: locked.is_none(),
            error,
            identity,
            changes: changes.iter().map(|change| (change.clone(), findings(change))).collect(),
        }
    });
    compared.collect()
}

/// The tools of all servers, of those that were not asked as the lock has them.
fn tool_names<'a>(
    observed: &'a [ObservedServer],
    file: &'a LockFile,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    let now = observed.iter().flat_map(|server| {
        let definitions = server.outcome.iter().flat_map(|now| &now.definitions);
        let tools = definitions.filter(|one| one.kind == DefinitionKind::Tool);
        tools.map(|tool| (server.name.as_str(), tool.name.as_str()))
    });
    let locked = file.servers.iter().flat_map(|(name, server)| {
        let tools = server.definitions.keys().filter(|(kind, _)| *kind == DefinitionKind::Tool);
        tools.map(|(_, tool)| (name.as_str(), tool.as_str()))
    });
    let is_observed = |name: &str| observed.iter().any(|server| server.name == name);
    now.chain(locked.filter(move |(name, _)| !is_observed(name)))
}

/// Returns the stamp of a decision to trust: the user and the time.
pub(super) fn trust_stamp() -> TrustStamp {
    let now = jiff::Timestamp::now();
    let at = now.round(jiff::Unit::Second).unwrap_or(now).to_string();
    TrustStamp { by: environment::user(), at }
}

/// Adds what is not in the lock; a server that is to be updated is replaced.
fn write(
    args: &LockArgs,
    store: &LockStore,
    observed: &[ObservedServer],
    compared: &[ServerComparison],
    loaded: &LoadedConfig,
) -> anyhow::Result<()> {
    let trusted = trust_stamp();
    let change = |file: &mut LockFile| {
        for server in observed {
            if let Ok(now) = &server.outcome {
                let is_update = args.update.contains(&server.name);
                let is_new = !file.servers.contains_key(&server.name);
                let locked = file.servers.entry(server.name.clone()).or_default();
                if is_new || is_update {
                    locked.identity = now.identity.clone();
                }
                put(locked, &now.definitions, is_update, &trusted);
            }
        }
    };
    let is_taken = |server: &&ServerComparison| {
        let is_left = |change: &Change| args.update.is_empty() && is_left(change);
        let mut changes = server.changes.iter();
        server.error.is_none() && changes.any(|(change, _)| !is_left(change))
    };
    let names: Vec<_> =
        compared.iter().filter(is_taken).map(|server| server.name.as_str()).collect();
    if names.is_empty() {
        return Ok(store.update(change).map(drop)?);
    }
    let action = json!({"servers": names, "update": !args.update.is_empty(), "by": trusted.by});
    recorded(loaded, "switchboard/lock", &action, || store.update(change)).map(drop)
}

/// Puts definitions into a server's lock. Unless it is updated, those that differ stay as they are.
fn put(
    locked: &mut LockedServer,
    now: &[LockableDefinition],
    is_update: bool,
    trusted: &TrustStamp,
) {
    let before = match is_update {
        true => std::mem::take(&mut locked.definitions),
        false => locked.definitions.clone(),
    };
    for definition in now {
        let key = (definition.kind, definition.name.clone());
        match before.get(&key) {
            Some(same)
                if same.is_sound
                    && same.hash == definition.hash()
                    && (!is_update || same.definition.is_same(definition)) =>
            {
                locked.definitions.insert(key, same.clone());
            }
            Some(_) if !is_update => {}
            _ => locked.put(definition.clone(), Some(trusted.clone())),
        }
    }
}

/// Shows what differs, before anything is written.
fn show(args: &LockArgs, cli: &Cli, compared: &[ServerComparison]) -> anyhow::Result<()> {
    for line in compared.iter().flat_map(ServerComparison::warnings) {
        terminal::tell(&line);
    }
    if args.json {
        return Ok(());
    }
    for error in compared.iter().filter_map(ServerComparison::error_line) {
        terminal::tell(&error);
    }
    let paint = Paint::stdout(cli.color);
    let shows = |change: &Change| args.check || !args.update.is_empty() || is_left(change);
    let lines: Vec<_> = compared.iter().flat_map(|server| server.lines(shows, paint)).collect();
    match lines.is_empty() {
        true => Ok(()),
        false => Ok(terminal::print(&lines.join("\n"))?),
    }
}

/// Says what came of it.
fn conclude(
    args: &LockArgs,
    store: &LockStore,
    loaded: &LoadedConfig,
    compared: &[ServerComparison],
) -> anyhow::Result<()> {
    if args.json {
        let servers: Vec<_> = compared.iter().map(ServerComparison::json).collect();
        let is_well =
            compared.iter().all(|server| server.error.is_none() && !(args.check && server.waits()));
        let file = store.file().display().to_string();
        let found = json!({"ok": is_well, "file": file, "servers": servers});
        return Ok(terminal::print(&found.to_string())?);
    }
    let mut lines = summary(args, store.file(), compared);
    if args.check {
        lines.extend(not_in_config(store, loaded)?);
    }
    Ok(terminal::print(&lines.join("\n"))?)
}

/// Whether `lock` leaves the entry as it is.
fn is_left(change: &Change) -> bool {
    !matches!(change.change, ChangeKind::New | ChangeKind::Renamed { .. })
}

fn summary(args: &LockArgs, file: &Path, compared: &[ServerComparison]) -> Vec<String> {
    let file = text::one_line(&file.display().to_string());
    let reached: Vec<_> = compared.iter().filter(|server| server.error.is_none()).collect();
    if !args.check {
        let each = reached.iter().map(|server| outcome(args, server));
        return each.chain([format!("written to {file}")]).collect();
    }
    let count: usize = reached.iter().map(|server| server.count).sum();
    let servers = if reached.len() == 1 { "server" } else { "servers" };
    let what = format!("{} of {} {servers}", definitions(count), reached.len());
    match reached.iter().all(|server| !server.waits()) {
        true => vec![format!("{file} has {what} as they are")],
        false => vec!["`switchboard trust SERVER` takes what waits into the lock".to_owned()],
    }
}

/// Says what was locked of a server.
fn outcome(args: &LockArgs, server: &ServerComparison) -> String {
    let (name, all) = (text::one_line(&server.name), definitions(server.count));
    if !args.update.is_empty() {
        return format!("{name}: {all}, locked as they are now");
    }
    let waiting = server.changes.iter().filter(|(change, _)| change.change.waits());
    let (left, added): (Vec<_>, Vec<_>) = waiting.partition(|(change, _)| is_left(change));
    let left = match left.len() {
        0 => String::new(),
        left => {
            format!(", {left} left as they were (`switchboard lock --update {name}` takes them)")
        }
    };
    format!("{name}: {all}, {} added{left}", added.len())
}

fn definitions(count: usize) -> String {
    format!("{count} {}", if count == 1 { "definition" } else { "definitions" })
}

/// Names the servers of the lock that the config does not have.
fn not_in_config(store: &LockStore, loaded: &LoadedConfig) -> anyhow::Result<Option<String>> {
    let file = store.read()?.unwrap_or_default();
    let names = file.servers.keys().filter(|name| !loaded.settings.servers.contains_key(*name));
    let names: Vec<_> = names.map(|name| text::one_line(name)).collect();
    Ok((!names.is_empty())
        .then(|| format!("in the lock, but not in the config: {}", names.join(", "))))
}
