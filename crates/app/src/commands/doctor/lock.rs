//! The lock: whether it can be read, what of the servers waits to be trusted, and what the screen finds (SPEC LK-2).

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use switchboard_lock::{
    ChangeKind, DefinitionKind, FILE_NAME, LockFile, LockMode, LockStore, Screen,
};
use switchboard_mcp_client::Server;

use super::{CheckStatus, DoctorCheck};
use crate::{lock_watch, settings::LoadedConfig, terminal::text};

/// What the screen found, as lines, by server.
pub(super) type FindingLines = BTreeMap<String, Vec<String>>;

/// How many changed fields of a definition are shown.
const MOST_FIELDS: usize = 3;

/// A definition that waits.
#[derive(Debug, Serialize)]
pub(super) struct WaitingDefinition {
    kind: String,
    name: String,
    /// `new`, `renamed`, `changed` or `unsound`.
    change: String,
    /// How it differs, as the rest of a sentence that begins with its name.
    says: String,
    /// What matters most about it.
    notes: Vec<String>,
    /// What differs, field by field, as a word diff.
    diff: Vec<String>,
    #[serde(skip)]
    findings: Vec<String>,
}

impl WaitingDefinition {
    /// Says what matters most about it, and what differs.
    fn details(&self) -> Vec<String> {
        let name = &self.name;
        let notes = self.notes.iter().map(|note| format!("'{name}': ! {note}"));
        // All that a new one says is new.
        let is_new = self.change == ChangeKind::New.name();
        let shown = if is_new { 0 } else { MOST_FIELDS };
        let fields = self.diff.iter().take(shown);
        let fields = fields.map(|field| format!("'{name}': {}", around_change(field)));
        let left = self.diff.len().saturating_sub(MOST_FIELDS);
        let more = format!("'{name}': {left} more fields; switchboard lock --check shows them");
        let more = (left > 0 && !is_new).then_some(more);
        notes.chain(fields).chain(more).collect()
    }
}

/// Returns a field's word diff, cut to what is around its first change.
fn around_change(field: &str) -> String {
    const BEFORE: usize = 40;
    const LONGEST: usize = 200;
    let (place, words) = field.split_once(": ").unwrap_or(("", field));
    let change = ["[-", "{+"].into_iter().filter_map(|mark| words.find(mark)).min();
    let before = words[..change.unwrap_or(0)].char_indices().rev().nth(BEFORE);
    let start = before.map_or(0, |(at, _)| at);
    let cut = if start > 0 { "… " } else { "" };
    text::shorten(&format!("{place}: {cut}{}", &words[start..]), LONGEST)
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
        change: one.change.change.name().to_owned(),
        says: one.change.change.text(),
        diff: one.change.fields.iter().map(|field| text::one_line(&field.text())).collect(),
        notes: one.change.notes,
        findings: one.findings.iter().map(|found| found.line(server.name(), separator)).collect(),
        name: one.definition.name,
    });
    shown.collect()
}

/// The same of a server of the gateway, as REST shows it.
pub(super) fn waiting_in_gateway(server: &Value) -> Vec<WaitingDefinition> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let words = |value: &Value| value.as_array().into_iter().flatten().map(word).collect();
    let pending = server["waiting"].as_array().into_iter().flatten();
    let shown = pending.map(|one| WaitingDefinition {
        kind: word(&one["kind"]),
        name: word(&one["name"]),
        change: word(&one["change"]),
        says: word(&one["says"]),
        notes: words(&one["notes"]),
        diff: words(&one["diff"]),
        findings: words(&one["findings"]),
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
        lines.extend(one.details());
    }
    let found = waiting.iter().flat_map(|one| &one.findings).chain(locked);
    for line in found {
        if !lines.contains(line) {
            lines.push(line.clone());
        }
    }
    lines
}
