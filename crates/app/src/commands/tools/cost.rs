//! `switchboard tools --cost`: what definitions take of a model's context, and which tools nobody calls (SPEC FT-4).

use std::{
    collections::HashMap,
    process::ExitCode,
    time::{Duration, SystemTime},
};

use switchboard_audit::Filter;
use switchboard_runtime::tool_cost::{ToolCost, ToolCosts};
use switchboard_toolcall::Visibility;

use crate::{
    assembly::App,
    cli::ToolsArgs,
    commands::calls::{self, format::counted},
    settings::LoadedConfig,
    terminal::{self, text},
};

/// How far back calls are counted.
const LATELY: Duration = Duration::from_secs(30 * 24 * 60 * 60);

pub(super) fn print(
    tools: &ToolsArgs,
    app: &App,
    loaded: &LoadedConfig,
    seen: &Visibility,
) -> anyhow::Result<ExitCode> {
    let manager = app.executor.tools();
    let mut cost = ToolCosts::count(&manager.listed_for(seen), &calls_lately(loaded)?);
    if seen.profile().is_none() {
        cost.count_profiles(manager);
    }
    let shown = match tools.json {
        true => serde_json::to_string(&cost)?,
        false => table(&cost),
    };
    terminal::print(&shown)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns how often each tool was called, by the name that the caller used.
fn calls_lately(loaded: &LoadedConfig) -> anyhow::Result<HashMap<String, u64>> {
    // Without a folder for records there are none.
    let Ok(mut reader) = calls::open(loaded) else { return Ok(HashMap::new()) };
    let filter = Filter { since: SystemTime::now().checked_sub(LATELY), ..Filter::default() };
    let stats = reader.stats(&filter).map_err(calls::failed)?;
    Ok(stats.into_iter().map(|stats| (stats.tool, stats.calls)).collect())
}

/// The most expensive first, each server's tools under its name.
fn table(cost: &ToolCosts) -> String {
    let mut lines = Vec::new();
    let mut servers: Vec<_> = cost.servers.iter().collect();
    servers.sort_by_key(|server| std::cmp::Reverse(server.tokens));
    for server in servers {
        let name = server.server.as_deref().unwrap_or("local");
        let (count, tokens) = (counted(server.tools.len(), "tool"), server.tokens);
        lines.push(format!("{}: {count}, about {tokens} tokens", text::one_line(name)));
        let mut tools: Vec<_> = server.tools.iter().collect();
        tools.sort_by_key(|tool| std::cmp::Reverse(tool.tokens));
        let row = |tool: &ToolCost| {
            let used = match tool.calls_30d {
                0 => "not called in 30 days".to_owned(),
                calls => format!("{} in 30 days", counted(calls as usize, "call")),
            };
            format!("{:>8}  {}  {used}", tool.tokens, text::one_line(&tool.name))
        };
        lines.extend(tools.into_iter().map(row));
    }
    lines.extend(cost.profiles.iter().map(|profile| {
        let (name, tokens) = (text::one_line(&profile.profile), profile.tokens);
        format!("profile {name}: {}, about {tokens} tokens", counted(profile.tools, "tool"))
    }));
    let unused = cost.unused_tokens();
    lines.push(format!(
        "in all about {} tokens (most estimates are less than 10 % off), {unused} of them for tools that nobody called in 30 days",
        cost.total_tokens
    ));
    lines.join("\n")
}
