//! `switchboard tools --search`: finds tools by what they do.

use std::process::ExitCode;

use serde_json::{Value, json};
use switchboard_runtime::{FoundTool, RulePolicy};
use switchboard_toolcall::Visibility;

use super::table;
use crate::{
    assembly::App,
    cli::{Cli, ToolsArgs},
    terminal::{self, Paint},
};

pub(super) async fn print(
    query: &str,
    tools: &ToolsArgs,
    cli: &Cli,
    app: &App,
    rules: &RulePolicy,
    seen: &Visibility,
) -> anyhow::Result<ExitCode> {
    let found = app.executor.tools().search(query, tools.limit, &[], seen).await;
    if tools.json {
        let found: Vec<Value> = found.iter().map(described).collect();
        terminal::print(&Value::Array(found).to_string())?;
    } else if !found.is_empty() {
        let found: Vec<_> = found.into_iter().map(|found| found.tool).collect();
        terminal::print(&table(&found, rules, Paint::stdout(cli.color)))?;
    } else {
        terminal::tell("no tool fits; `switchboard tools` lists them all");
    }
    Ok(ExitCode::SUCCESS)
}

fn described(found: &FoundTool) -> Value {
    // Three digits are enough to compare.
    let score = (f64::from(found.score) * 1000.0).round() / 1000.0;
    let spec = found.tool.spec();
    json!({"name": &**found.tool.name(), "description": spec.description, "score": score})
}
