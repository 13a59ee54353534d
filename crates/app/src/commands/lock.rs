//! `switchboard lock`: writes down what servers say, and compares (SPEC LK-1).

pub(super) mod observe;
pub(super) mod report;

use std::{path::Path, process::ExitCode};

use anyhow::bail;
use switchboard_lock::{
    Change, ChangeKind, DefinitionKind, FILE_NAME, LockFile, LockStore, LockedServer, Screen,
    Trusted, compare,
};
use switchboard_runtime::lookup::close_names;

use crate::{
    cli::{Cli, LockArgs},
    environment, overrides,
    settings::Loaded,
    terminal::{self, CommandFailed, Paint, is_watched, text},
};
use observe::{ObservedServer, observe};
use report::ServerComparison;

pub(super) fn run(args: &LockArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = overrides::load(cli)?;
    let store = store(&loaded)?;
    for server in &args.update {
        known_server(&loaded, server)?;
    }
    if args.check && store.read()?.is_none() {
        let text = format!("there is no {FILE_NAME}; `switchboard lock` writes one");
        return Err(CommandFailed(text).into());
    }
    // A file that cannot be read is told before servers are started.
    store.read()?;
    let only = (!args.update.is_empty()).then_some(&args.update[..]);
    let observed = observe(&loaded, only, is_watched(args.json))?;
    let before = store.read()?.unwrap_or_default();
    let compared = compare_all(&observed, &before, &loaded);
    if !args.check {
        write(args, &store, &observed)?;
    }
    tell(args, cli, &store, &loaded, &compared)?;
    let is_unreachable = compared.iter().any(|server| server.error.is_some());
    let differs = args.check && compared.iter().any(ServerComparison::waits);
    Ok(if is_unreachable || differs { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Returns the place of the lock file.
///
/// # Errors
/// There is no config.
pub(super) fn store(loaded: &Loaded) -> anyhow::Result<LockStore> {
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
/// It has none.
pub(super) fn known_server(loaded: &Loaded, name: &str) -> anyhow::Result<()> {
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
    loaded: &Loaded,
) -> Vec<ServerComparison> {
    let screen = Screen::new(tool_names(observed, file));
    let compared = observed.iter().map(|server| {
        let locked = file.servers.get(&server.name);
        let (now, error) = match &server.outcome {
            Ok(now) => (Some(now), None),
            Err(error) => (None, Some(error.clone())),
        };
        let changes = now.map(|now| compare(locked, &now.definitions, true)).unwrap_or_default();
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
            changes: changes
                .into_iter()
                .map(|change| (findings(&change), change))
                .map(|(found, change)| (change, found))
                .collect(),
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

/// Who trusts something now.
pub(super) fn trusted_now() -> Trusted {
    let now = jiff::Timestamp::now();
    let at = now.round(jiff::Unit::Second).unwrap_or(now).to_string();
    Trusted { by: environment::user(), at }
}

/// Adds what is not in the lock; a server that is to be updated is replaced.
fn write(args: &LockArgs, store: &LockStore, observed: &[ObservedServer]) -> anyhow::Result<()> {
    let trusted = trusted_now();
    store.update(|file| {
        for server in observed {
            let Ok(now) = &server.outcome else { continue };
            let is_new = !file.servers.contains_key(&server.name);
            let locked = file.servers.entry(server.name.clone()).or_default();
            let is_update = args.update.contains(&server.name);
            let before = if is_update { std::mem::take(locked) } else { LockedServer::default() };
            if is_new || is_update {
                locked.identity = now.identity.clone();
            }
            for definition in &now.definitions {
                let key = (definition.kind, definition.name.clone());
                let same = before.definitions.get(&key);
                let same = same.filter(|same| same.is_sound && same.hash == definition.hash());
                match same {
                    Some(same) => _ = locked.definitions.insert(key, same.clone()),
                    None if locked.definitions.contains_key(&key) && !is_update => {}
                    None => locked.put(definition.clone(), Some(trusted.clone())),
                }
            }
        }
    })?;
    Ok(())
}

fn tell(
    args: &LockArgs,
    cli: &Cli,
    store: &LockStore,
    loaded: &Loaded,
    compared: &[ServerComparison],
) -> anyhow::Result<()> {
    for line in compared.iter().flat_map(ServerComparison::warnings) {
        terminal::tell(&line);
    }
    if args.json {
        let servers: Vec<_> = compared.iter().map(ServerComparison::json).collect();
        let is_well =
            compared.iter().all(|server| server.error.is_none() && !(args.check && server.waits()));
        let file = store.file().display().to_string();
        let found = serde_json::json!({"ok": is_well, "file": file, "servers": servers});
        return Ok(terminal::print(&found.to_string())?);
    }
    for error in compared.iter().filter_map(ServerComparison::error_line) {
        terminal::tell(&error);
    }
    let paint = Paint::stdout(cli.color);
    let shown = compared.iter().flat_map(|server| {
        let shows = |change: &Change| args.check || !args.update.is_empty() || is_left(change);
        server.lines(shows, paint)
    });
    let mut lines: Vec<_> = shown.collect();
    lines.extend(summary(args, store.file(), compared));
    if args.check
        && let Some(unknown) = not_in_config(store, loaded)?
    {
        lines.push(unknown);
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
    if args.check {
        let count: usize = reached.iter().map(|server| server.count).sum();
        let is_same = reached.iter().all(|server| !server.waits());
        let what = format!("{count} definitions of {} servers", reached.len());
        return match is_same {
            true => vec![format!("{file} has {what} as they are")],
            false => vec!["`switchboard trust SERVER` takes what waits into the lock".to_owned()],
        };
    }
    reached
        .iter()
        .map(|server| {
            let name = text::one_line(&server.name);
            let added = server
                .changes
                .iter()
                .filter(|(change, _)| !is_left(change) && change.change.waits());
            let (added, count) = (added.count(), server.count);
            let left = server
                .changes
                .iter()
                .filter(|(change, _)| is_left(change) && change.change.waits());
            let left = match (left.count(), args.update.is_empty()) {
                (0, _) | (_, false) => String::new(),
                (left, true) => {
                    format!(
                        ", {left} left as they were (`switchboard lock --update {name}` takes them)"
                    )
                }
            };
            match args.update.is_empty() {
                true => format!("{name}: {count} definitions, {added} added{left}"),
                false => format!("{name}: {count} definitions, locked as they are now"),
            }
        })
        .chain([format!("written to {file}")])
        .collect()
}

/// Names the servers of the lock that the config does not have.
fn not_in_config(store: &LockStore, loaded: &Loaded) -> anyhow::Result<Option<String>> {
    let file = store.read()?.unwrap_or_default();
    let names = file.servers.keys().filter(|name| !loaded.settings.servers.contains_key(*name));
    let names: Vec<_> = names.map(|name| text::one_line(name)).collect();
    Ok((!names.is_empty())
        .then(|| format!("in the lock, but not in the config: {}", names.join(", "))))
}
