//! Record → mock: recorded calls as tools that give the recorded answers again.

use std::collections::BTreeSet;

use serde_json::json;
use switchboard_audit::CallDetail;
use switchboard_local::replay::{self, ReplayRecord};
use switchboard_toolcall::ToolSpec;

use super::format::counted;
use crate::{cli::Cli, commands::current_tools, overrides, settings::LoadedConfig, terminal};

/// A config of mock tools, and notes about it for people.
pub(super) struct Mocks {
    pub(super) json: String,
    pub(super) summary: String,
}

/// Makes mocks of the calls, which must be oldest first.
///
/// # Errors
/// The present config cannot be read.
pub(super) fn of(
    details: Vec<CallDetail>,
    cli: &Cli,
    loaded: &LoadedConfig,
) -> anyhow::Result<Mocks> {
    let (count, mut records) = (details.len(), Vec::with_capacity(details.len()));
    let mut calls = Vec::with_capacity(count);
    for detail in details {
        let record = &detail.record;
        let result = detail.result.as_deref().and_then(|json| serde_json::from_str(json).ok());
        let code = record.outcome.code();
        let outcome = overrides::outcome(&record.tool, code, result, detail.error, detail.hint);
        let args = serde_json::from_str(&record.arguments);
        if let (Some(outcome), Ok(args)) = (outcome, args) {
            calls.push(ReplayRecord { tool: record.tool.clone(), args, outcome });
        }
        records.push(detail.record);
    }
    let (played, left) = (calls.len(), count - calls.len());
    let known = current_tools::tools(cli, loaded, &records, true)?;
    let spec = |name: &str| -> Option<ToolSpec> { known.get(name).map(|tool| tool.spec().clone()) };
    let unknown: BTreeSet<_> =
        calls.iter().map(|call| &call.tool).filter(|tool| !known.contains_key(*tool)).collect();
    for tool in unknown {
        terminal::tell(&format!(
            "`{tool}` is not there any more: its description and schema are made up"
        ));
    }
    if left > 0 {
        terminal::tell(&format!(
            "{} left out: never came to a tool, still running, or without a result",
            counted(left, "call")
        ));
    }
    let definitions = replay::definitions(calls, spec);
    let summary = format!("{} of {}", counted(definitions.len(), "tool"), counted(played, "call"));
    let mut json = serde_json::to_string_pretty(&json!({"tools": definitions}))?;
    json.push('\n');
    Ok(Mocks { json, summary })
}
