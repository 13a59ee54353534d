//! `switchboard trust`: takes what a server says now into the lock (SPEC LK-2), or trusts a config (SPEC PO-3).

mod config;

use std::{path::Path, process::ExitCode};

use anyhow::{anyhow, bail};
use serde_json::{Value, json};
use switchboard_lock::{Change, ChangeKind, FILE_NAME, LockFile, LockMode, LockableDefinition};

use super::lock::{
    journal::recorded,
    known_server,
    observe::{ObservedServer, observe},
    report::change_lines,
    store, trust_stamp,
};
use crate::{
    cli::{Cli, TrustArgs},
    overrides,
    own_gateway::{OwnGateway, path},
    runtime::on_runtime,
    settings::{LoadedConfig, trust::TrustPrompt},
    terminal::{self, CommandFailed, Paint, ask, is_watched, text},
};

pub(super) fn run(wanted: &TrustArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    match is_path(wanted, cli) {
        true => config::run(wanted),
        false => trust_server(wanted, cli),
    }
}

/// Whether a config is meant: it is written as a path, or no server has this name and there is a file or folder of it.
fn is_path(wanted: &TrustArgs, cli: &Cli) -> bool {
    let what = wanted.what.as_str();
    if wanted.tool.is_some() {
        return false;
    }
    if what == "." || what == ".." || what.contains('/') {
        return true;
    }
    let loaded = overrides::load_asking(cli, TrustPrompt::Forbidden);
    let is_server = loaded.is_ok_and(|loaded| loaded.settings.servers.contains_key(what));
    !is_server && Path::new(what).exists()
}

fn trust_server(wanted: &TrustArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = overrides::load(cli)?;
    let server = wanted.what.as_str();
    known_server(&loaded, server)
        .map_err(|error| anyhow!("{error}, and no file or folder of that name"))?;
    let store = store(&loaded)?;
    let own_mode = loaded.settings.servers.get(server).and_then(|config| config.lock);
    let mode = own_mode.or(loaded.settings.lock.mode);
    if store.read()?.is_none() && matches!(mode, None | Some(LockMode::Off)) {
        let text =
            format!("there is no {FILE_NAME}; `switchboard lock` writes one, for all servers");
        return Err(CommandFailed(text).into());
    }
    if let Some(gateway) = OwnGateway::find(cli, &loaded)
        && let Some(status) = trust_in_gateway(wanted, &loaded, &gateway)?
    {
        return Ok(status);
    }
    trust_here(wanted, cli, &loaded)
}

/// Takes in what waits in the running gateway, which may have been told something else than this process would be. Returns
/// `None` if nothing waits there.
fn trust_in_gateway(
    wanted: &TrustArgs,
    loaded: &LoadedConfig,
    gateway: &OwnGateway,
) -> anyhow::Result<Option<ExitCode>> {
    let server = wanted.what.as_str();
    let place = format!("/api/servers/{}", path(server));
    let shown = on_runtime(async { gateway.get(&place).await })?;
    let waiting = shown["waiting"].as_array().cloned().unwrap_or_default();
    let meant = own_name(wanted, loaded);
    let is_meant =
        |one: &&Value| meant.is_none_or(|name| one["name"] == name || one["title"] == name);
    let waiting: Vec<_> = waiting.iter().filter(is_meant).collect();
    if waiting.is_empty() {
        return Ok(None);
    }
    let separator = &loaded.settings.executor.separator;
    let texts = |value: &Value| -> Vec<String> {
        let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        texts.map(text::one_line).collect()
    };
    let mut lines = Vec::new();
    for one in &waiting {
        let name = format!("{server}{separator}{}", one["name"].as_str().unwrap_or_default());
        let says = one["says"].as_str().unwrap_or_default();
        lines.push(format!("{} {}", text::one_line(&name), text::one_line(says)));
        lines.extend(texts(&one["notes"]).into_iter().map(|note| format!("  ! {note}")));
        lines.extend(texts(&one["diff"]).into_iter().map(|line| format!("  {line}")));
        texts(&one["findings"]).iter().for_each(|line| terminal::tell(line));
    }
    if !is_confirmed(wanted, &lines)? {
        return Ok(Some(ExitCode::FAILURE));
    }
    let hashes: Vec<_> = waiting.iter().map(|one| one["hash"].clone()).collect();
    let body = json!({"hashes": hashes}).to_string().into_bytes();
    let headers = [("content-type", "application/json".to_owned())];
    let trusted = on_runtime(async {
        let place = format!("{place}/trust");
        gateway.send(http::Method::POST, &place, &headers, body).await?.successful().await
    })?;
    let names = trusted["trusted"].as_array().into_iter().flatten().filter_map(Value::as_str);
    tell(wanted, &names.map(str::to_owned).collect::<Vec<_>>())?;
    Ok(Some(ExitCode::SUCCESS))
}

/// Connects to the server, and takes in what it says.
fn trust_here(wanted: &TrustArgs, cli: &Cli, loaded: &LoadedConfig) -> anyhow::Result<ExitCode> {
    let server = wanted.what.as_str();
    let observed = observe(loaded, Some(&[server.to_owned()]), is_watched(wanted.json))?;
    let store = store(loaded)?;
    let before = store.read()?.unwrap_or_default();
    let compared = super::lock::compare_all(&observed, &before, loaded);
    let [compared] = &compared[..] else { bail!("server `{server}` is not used") };
    if let Some(error) = compared.error_line() {
        return Err(CommandFailed(error).into());
    }
    let definitions = definitions(&observed);
    let meant = own_name(wanted, loaded);
    let is_meant = |change: &Change| {
        let own =
            || definitions.iter().find(|one| one.kind == change.kind && one.name == change.name);
        meant.is_none_or(|name| change.name == name || own().is_some_and(|one| one.is_called(name)))
    };
    let changes: Vec<_> = compared
        .changes
        .iter()
        .filter(|(change, _)| change.change.waits() && is_meant(change))
        .collect();
    if changes.is_empty() {
        return nothing_waits(wanted, meant, definitions);
    }
    let separator = &loaded.settings.executor.separator;
    let found = changes.iter().flat_map(|(_, findings)| findings);
    found.for_each(|finding| terminal::tell(&text::one_line(&finding.line(server, separator))));
    let paint = Paint::stdout(cli.color);
    let lines =
        changes.iter().flat_map(|(change, _)| change_lines(server, separator, change, paint));
    if !is_confirmed(wanted, &lines.collect::<Vec<_>>())? {
        return Ok(ExitCode::FAILURE);
    }
    let trusted = trust_stamp();
    let names: Vec<_> = changes.iter().map(|(change, _)| change.name.clone()).collect();
    let action = json!({"server": server, "definitions": names, "by": trusted.by});
    let change = |file: &mut LockFile| {
        let is_new = !file.servers.contains_key(server);
        let locked = file.servers.entry(server.to_owned()).or_default();
        // With all of its definitions, the server itself is trusted as it is now.
        if let (Some(Ok(now)), true) =
            (observed.first().map(|one| &one.outcome), is_new || meant.is_none())
        {
            locked.identity = now.identity.clone();
        }
        for (change, _) in &changes {
            if let ChangeKind::Renamed { from } = &change.change {
                locked.definitions.remove(&(change.kind, from.clone()));
            }
            let own =
                definitions.iter().find(|one| one.kind == change.kind && one.name == change.name);
            if let Some(definition) = own {
                locked.put(definition.clone(), Some(trusted.clone()));
            }
        }
    };
    recorded(loaded, "switchboard/trust", &action, || store.update(change))?;
    tell(wanted, &names)?;
    Ok(ExitCode::SUCCESS)
}

fn definitions(observed: &[ObservedServer]) -> &[LockableDefinition] {
    match observed {
        [ObservedServer { outcome: Ok(now), .. }] => &now.definitions,
        _ => &[],
    }
}

/// Returns the name of the definition at its server: people may write the tool's full name.
fn own_name<'a>(wanted: &'a TrustArgs, loaded: &LoadedConfig) -> Option<&'a str> {
    let name = wanted.tool.as_deref()?;
    let prefix = format!("{}{}", wanted.what, loaded.settings.executor.separator);
    Some(name.strip_prefix(&prefix).unwrap_or(name))
}

fn nothing_waits(
    wanted: &TrustArgs,
    meant: Option<&str>,
    definitions: &[LockableDefinition],
) -> anyhow::Result<ExitCode> {
    let server = text::one_line(&wanted.what);
    if let Some(name) = meant.filter(|name| !definitions.iter().any(|one| one.is_called(name))) {
        let name = text::one_line(name);
        return Err(
            CommandFailed(format!("server `{server}` has no tool or prompt `{name}`")).into()
        );
    }
    match wanted.json {
        true => terminal::print(&json!({"server": wanted.what, "trusted": []}).to_string())?,
        false => terminal::tell(&format!("nothing of `{server}` waits to be trusted")),
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows what would be trusted, and asks.
///
/// # Errors
/// There is no terminal to ask on, and `--yes` is missing.
fn is_confirmed(wanted: &TrustArgs, lines: &[String]) -> anyhow::Result<bool> {
    match wanted.json {
        true => lines.iter().for_each(|line| terminal::tell(line)),
        false => terminal::print(&lines.join("\n"))?,
    }
    if wanted.yes {
        return Ok(true);
    }
    if !ask::is_possible() {
        bail!("nobody can be asked here; --yes trusts what is shown");
    }
    let answer = ask::line("Trust this? [y/N] ");
    // No answer means no.
    Ok(answer.is_ok_and(|answer| matches!(answer.trim(), "y" | "Y" | "yes")))
}

fn tell(wanted: &TrustArgs, names: &[String]) -> anyhow::Result<()> {
    if wanted.json {
        return Ok(terminal::print(&json!({"server": wanted.what, "trusted": names}).to_string())?);
    }
    let names: Vec<_> = names.iter().map(|name| text::one_line(name)).collect();
    let what = text::one_line(&wanted.what);
    terminal::tell(&format!("trusted of `{what}`: {}", names.join(", ")));
    Ok(())
}
