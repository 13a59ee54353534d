//! `switchboard tools --cost`: what definitions take of a model's context, and which tools nobody calls (SPEC FT-4).

use std::{
    collections::HashMap,
    process::ExitCode,
    time::{Duration, SystemTime},
};

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::json;
use switchboard_audit::Filter;
use switchboard_runtime::RegisteredTool;
use switchboard_search::TokenCounter;

use crate::{
    assembly::App,
    cli::ToolsArgs,
    commands::calls::{self, format::counted},
    settings::Loaded,
    terminal::{self, text},
};

/// How far back calls are counted.
const LATELY: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What all definitions cost.
#[derive(Default, Serialize)]
struct Cost {
    total_tokens: usize,
    servers: Vec<ServerCost>,
}

/// What the definitions of a server cost; of local tools, if it has no name.
#[derive(Default, Serialize)]
struct ServerCost {
    server: Option<String>,
    tokens: usize,
    tools: Vec<ToolCost>,
}

#[derive(Serialize)]
struct ToolCost {
    name: String,
    tokens: usize,
    calls_30d: u64,
}

pub(super) fn print(tools: &ToolsArgs, app: &App, loaded: &Loaded) -> anyhow::Result<ExitCode> {
    let cost = Cost::of(app, &calls_lately(loaded)?);
    let shown = match tools.json {
        true => serde_json::to_string(&cost)?,
        false => cost.table(),
    };
    terminal::print(&shown)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns how often each tool was called, by the name that the caller used.
fn calls_lately(loaded: &Loaded) -> anyhow::Result<HashMap<String, u64>> {
    // Without a folder for records there are none.
    let Ok(mut reader) = calls::open(loaded) else { return Ok(HashMap::new()) };
    let filter = Filter { since: SystemTime::now().checked_sub(LATELY), ..Filter::default() };
    let stats = reader.stats(&filter).map_err(calls::failed)?;
    Ok(stats.into_iter().map(|stats| (stats.tool, stats.calls)).collect())
}

impl Cost {
    fn of(app: &App, calls: &HashMap<String, u64>) -> Self {
        let mut counter = TokenCounter::default();
        let mut servers = IndexMap::<Option<String>, ServerCost>::new();
        for tool in app.executor.tools().listed() {
            let server = tool.spec().server().map(ToString::to_string);
            let entry = servers.entry(server.clone());
            let cost = entry.or_insert_with(|| ServerCost { server, ..ServerCost::default() });
            let tokens = counter.count(&definition(&tool));
            let mut names = tool.names().to_vec();
            names.sort_unstable();
            names.dedup();
            let calls_30d = names.iter().filter_map(|name| calls.get(*name)).sum();
            cost.tokens += tokens;
            cost.tools.push(ToolCost { name: tool.name().to_string(), tokens, calls_30d });
        }
        let servers: Vec<_> = servers.into_values().collect();
        Self { total_tokens: servers.iter().map(|server| server.tokens).sum(), servers }
    }

    /// The most expensive first, each server's tools under its name.
    fn table(&self) -> String {
        let mut lines = Vec::new();
        let mut servers: Vec<_> = self.servers.iter().collect();
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
        let unused = self.servers.iter().flat_map(|server| &server.tools);
        let unused: usize = unused.filter(|tool| tool.calls_30d == 0).map(|tool| tool.tokens).sum();
        lines.push(format!(
            "in all about {} tokens (most estimates are less than 10 % off), {unused} of them for tools that nobody called in 30 days",
            self.total_tokens
        ));
        lines.join("\n")
    }
}

/// Returns the definition as models get it.
fn definition(tool: &RegisteredTool) -> String {
    let spec = tool.spec();
    json!({"name": &**tool.name(), "description": spec.description, "parameters": spec.parameters})
        .to_string()
}
