//! The lock: whether it can be read, what of the servers waits to be trusted, and what the screen finds (SPEC LK-2).

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use switchboard_lock::{DefinitionKind, FILE_NAME, LockFile, LockMode, LockStore, Screen};
use switchboard_mcp_client::Server;

use super::{CheckStatus, DoctorCheck};
use crate::{lock_watch, settings::LoadedConfig, terminal::text};

/// What the screen found, as lines, by server.
pub(super) type FindingLines = BTreeMap<String, Vec<String>>;

/// A definition that waits.
#[derive(Debug, Serialize)]
pub(super) struct WaitingDefinition {
    kind: String,
    name: String,
    /// How it differs, as the rest of a sentence that begins with its name.
    says: String,
    #[serde(skip)]
    findings: Vec<String>,
}

/// Reads the lock of the config. Returns a row about it, if there is one, and what the screen finds in it.
pub(super) fn check(loaded: &LoadedConfig) -> (Option<DoctorCheck>, FindingLines) {
    let row = |status, message: String| Some(DoctorCheck::new("lock", status, message));
    let Some(config) = loaded.file.as_deref() else { return (None, FindingLines::new()) };
    let mode = loaded.settings.lock.mode;
    let mode_name = mode.unwrap_or(LockMode::Enforce).name();
    if lock_watch::is_off(loaded) {
        return (row(CheckStatus::Info, "off".to_owned()), FindingLines::new());
    }
    match LockStore::beside(config).read() {
        Ok(Some(file)) => {
            let count: usize = file.servers.values().map(|server| server.definitions.len()).sum();
            let text = format!(
                "{FILE_NAME} has {count} definitions of {} servers, {mode_name}",
                file.servers.len()
            );
            (row(CheckStatus::Ok, text), findings(&file, &loaded.settings.executor.separator))
        }
        Ok(None) if mode.is_none() => (None, FindingLines::new()),
        Ok(None) => {
            let text =
                format!("there is no {FILE_NAME}, {mode_name}; `switchboard lock` writes one");
            (row(CheckStatus::Info, text), FindingLines::new())
        }
        Err(error) => {
            (row(CheckStatus::Broken, text::one_line(&error.to_string())), FindingLines::new())
        }
    }
}

/// Screens everything that the lock has.
fn findings(file: &LockFile, separator: &str) -> FindingLines {
    let tools = file.servers.iter().flat_map(|(name, server)| {
        let tools = server.definitions.keys().filter(|(kind, _)| *kind == DefinitionKind::Tool);
        tools.map(|(_, tool)| (name.as_str(), tool.as_str()))
    });
    let screen = Screen::new(tools);
    let of = |name: &str, server: &switchboard_lock::LockedServer| -> Vec<String> {
        let definitions = server.definitions.values().map(|locked| &locked.definition);
        let found = definitions.flat_map(|definition| screen.findings(name, definition));
        found.map(|finding| finding.line(name, separator)).collect()
    };
    file.servers.iter().map(|(name, server)| (name.clone(), of(name, server))).collect()
}

/// What of a connected server waits.
pub(super) fn waiting(server: &Server) -> Vec<WaitingDefinition> {
    let separator = server.gate().locks().separator();
    let pending = server.pending_definitions().into_iter();
    let shown = pending.map(|one| WaitingDefinition {
        kind: one.definition.kind.name().to_owned(),
        says: one.change.change.text(),
        findings: one.findings.iter().map(|found| found.line(server.name(), separator)).collect(),
        name: one.definition.name,
    });
    shown.collect()
}

/// The same of a server of the gateway, as REST shows it.
pub(super) fn waiting_in_gateway(server: &Value) -> Vec<WaitingDefinition> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let pending = server["waiting"].as_array().into_iter().flatten();
    let shown = pending.map(|one| WaitingDefinition {
        kind: word(&one["kind"]),
        name: word(&one["name"]),
        says: word(&one["says"]),
        findings: one["findings"].as_array().into_iter().flatten().map(word).collect(),
    });
    shown.collect()
}

/// Returns lines about a server: what waits and is not among its skipped tools, and what the screen found.
pub(super) fn lines(
    server: &str,
    waiting: &[WaitingDefinition],
    skipped_tools: &[String],
    locked: &[String],
) -> Vec<String> {
    let mut lines = Vec::new();
    for one in waiting {
        let is_told = one.kind == DefinitionKind::Tool.name()
            && skipped_tools.iter().any(|told| told.starts_with(&format!("'{}' ", one.name)));
        if !is_told {
            let WaitingDefinition { kind, name, says, .. } = one;
            let kind = kind.replace('_', " ");
            lines.push(format!("waits: {kind} '{name}' {says}; switchboard trust {server} {name}"));
        }
    }
    let found = waiting.iter().flat_map(|one| &one.findings).chain(locked);
    for line in found {
        if !lines.contains(line) {
            lines.push(line.clone());
        }
    }
    lines
}
