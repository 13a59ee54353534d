//! Loads the settings, changed by `--replay` (recorded answers in place of tools) and `--fault` (injected failures).

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    path::Path,
};

use anyhow::{Context, anyhow, bail};
use serde::Deserialize;
use serde_json::{Map, Value};
use switchboard_local::{
    Faults, ImplementationType, MockError, ToolDefinition, replay::ReplayRecord,
};
use switchboard_toolcall::{CallId, ErrorKind};

use crate::{
    cli::Cli,
    settings::{self, LoadedConfig, SkippedEntries, trust::TrustPrompt},
};

/// What is served in place of the real tools.
#[derive(Debug)]
pub(crate) enum Replay {
    /// Mock tools, as `calls export --as mocks` writes them.
    Tools(Vec<ToolDefinition>),
    /// Recorded calls, as `calls export` writes them, oldest first.
    Calls(Vec<ReplayRecord>),
}

/// Loads the settings of `--config`, changed by `--replay` and `--fault`.
///
/// # Errors
/// The settings, the recorded calls or the faults cannot be read.
pub(crate) fn load(cli: &Cli) -> anyhow::Result<LoadedConfig> {
    load_asking(cli, TrustPrompt::Allowed)
}

/// Loads the settings as [`load`] does.
///
/// # Errors
/// As [`load`].
pub(crate) fn load_asking(cli: &Cli, question: TrustPrompt) -> anyhow::Result<LoadedConfig> {
    let mut loaded = settings::load_asking(cli.config.as_deref(), question)?;
    if let Some(file) = &cli.replay {
        loaded.replay = Some(read(file)?);
        // Nothing real is started.
        loaded.settings.servers.clear();
        loaded.settings.apis.clear();
        loaded.skipped = SkippedEntries::default();
        loaded.settings.cluster.nats = None;
    }
    if cli.fault.is_empty() && cli.fault_seed.is_some() {
        bail!("--fault-seed needs --fault");
    }
    if !cli.fault.is_empty() {
        let seed = cli.fault_seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
        tracing::info!("faults are injected; `--fault-seed {seed}` gives the same ones again");
        loaded.faults = Some(Faults::new(cli.fault.clone(), seed));
    }
    Ok(loaded)
}

fn read(file: &Path) -> anyhow::Result<Replay> {
    let shown = file.display();
    let bytes = std::fs::read(file)
        .with_context(|| format!("failed to read `{shown}`, which --replay names"))?;
    let text = String::from_utf8_lossy(&bytes);
    if is_line_of_call(text.trim_start().lines().next().unwrap_or_default()) {
        return calls(&text).map(Replay::Calls).with_context(|| format!("`{shown}`"));
    }
    let wanted = "--replay wants what `switchboard calls export` writes, as jsonl or --as mocks";
    let tools = settings::load(Some(file)).with_context(|| wanted.to_owned())?.settings.tools;
    if tools.is_empty() {
        bail!("`{shown}` has no recorded calls; {wanted}");
    }
    let is_mock = |tool: &ToolDefinition| tool.implementation.kind == ImplementationType::Mock;
    match tools.iter().find(|tool| !is_mock(tool)) {
        Some(tool) => bail!("`{shown}`: tool `{}` is not a mock; {wanted}", tool.name),
        None => Ok(Replay::Tools(tools)),
    }
}

/// Whether the text is a record as `calls export` writes it.
fn is_line_of_call(line: &str) -> bool {
    let value = serde_json::from_str::<Value>(line).unwrap_or_default();
    value.get("tool").is_some() && value.get("outcome").is_some()
}

/// A line of an export, with the fields that a replay needs.
#[derive(Deserialize)]
struct ExportedCall {
    id: CallId,
    tool: String,
    arguments: Value,
    outcome: String,
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    error: Option<String>,
    hint: Option<String>,
}

/// Reads a field that is present, even if it is null.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn calls(text: &str) -> anyhow::Result<Vec<ReplayRecord>> {
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line: ExportedCall = serde_json::from_str(line)
            .map_err(|error| anyhow!("line {}: not a recorded call: {error}", index + 1))?;
        lines.push(line);
    }
    // Ids sort by time, so the order of the file does not matter.
    lines.sort_by_key(|line| line.id);
    let calls: Vec<_> = lines.into_iter().filter_map(ExportedCall::recorded).collect();
    if calls.is_empty() {
        bail!("none of its calls can be played again: they have neither result nor error");
    }
    Ok(calls)
}

impl ExportedCall {
    fn recorded(self) -> Option<ReplayRecord> {
        let args = match self.arguments {
            Value::Object(args) => args,
            _ => Map::new(),
        };
        let outcome = outcome(&self.tool, &self.outcome, self.result, self.error, self.hint)?;
        Some(ReplayRecord { tool: self.tool, args, outcome })
    }
}

/// Returns what a recorded call returns in a replay; `None` if it never reached its tool, still runs, or its result
/// was not kept.
pub(crate) fn outcome(
    tool: &str,
    code: &str,
    result: Option<Value>,
    error: Option<String>,
    hint: Option<String>,
) -> Option<Result<Value, MockError>> {
    if code == "ok" {
        return result.map(Ok);
    }
    let kind: ErrorKind = code.parse().ok()?;
    if matches!(kind, ErrorKind::NotFound | ErrorKind::UnknownServer) {
        return None;
    }
    let text = error.unwrap_or_else(|| format!("Tool '{tool}' ended as {kind}"));
    Some(Err(MockError { kind, text, hint }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: &str = r#"{"id":"01J00000000000000000000002","tool":"t","arguments":{"n":1.0},"outcome":"ok","result":null}"#;

    #[test]
    fn lines_are_read_in_the_order_of_their_ids() {
        let failed = r#"{"id":"01J00000000000000000000001","tool":"t","arguments":{},"outcome":"timeout","error":"late"}"#;
        let unknown = r#"{"id":"01J00000000000000000000003","tool":"u","arguments":{},"outcome":"not_found","error":"?"}"#;
        let calls = calls(&format!("{OK}\n\n{unknown}\n{failed}\n")).unwrap();
        let outcomes: Vec<_> = calls.iter().map(|call| call.outcome.is_ok()).collect();
        assert_eq!(outcomes, [false, true]);
        assert_eq!(calls[1].args["n"].to_string(), "1.0");
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        let error = calls(&format!("{OK}\nnonsense\n")).unwrap_err().to_string();
        assert!(error.starts_with("line 2: not a recorded call"), "{error}");
        let bare = OK.replace(r#","result":null"#, "");
        assert!(calls(&bare).unwrap_err().to_string().contains("neither result nor error"));
    }
}
