//! `switchboard servers`, `restart` and `logs`: the servers, as the running gateway has them.

use std::{process::ExitCode, time::SystemTime};

use serde::Serialize;
use serde_json::Value;
use switchboard_audit::{Filter, Record, ToolStats};
use switchboard_mcp_client::{ServerState, TransportKind};
use switchboard_sandbox::SandboxMode;

use super::{api_view, calls, lists, sign_in_view};
use crate::{
    assembly::App,
    cli::{Cli, LogsArgs, RestartArgs, ServersArgs},
    connections::{Connections, Needs, with_servers},
    interrupt::unless_interrupted,
    overrides,
    own_gateway::{OwnGateway, path},
    runtime::on_runtime,
    settings::LoadedConfig,
    terminal::{self, CommandFailed, Paint, is_watched, text},
};

/// How old a call may be to be counted, in seconds.
const DAY: u64 = 24 * 60 * 60;

/// How many calls of a server are read at most.
const MOST_CALLS: usize = 10_000;

/// A server as it is listed.
#[derive(Debug, Serialize)]
struct ServerRow {
    name: String,
    state: String,
    #[serde(rename = "type")]
    kind: String,
    tools: u64,
    calls: u64,
    failures: u64,
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sign_in: Option<Value>,
    /// How its program is confined, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<&'static str>,
}

pub(super) fn run(servers: &ServersArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = overrides::load(cli)?;
    let mut rows = match OwnGateway::find(cli, &loaded) {
        Some(gateway) => on_runtime(async {
            Ok(gateway.servers().await?.iter().map(ServerRow::of_gateway).collect())
        })?,
        None => connected(servers, &loaded)?,
    };
    count_calls(&mut rows, &loaded);
    for row in &mut rows {
        let config = loaded.settings.servers.get(&row.name);
        let mode = config.map(|config| config.sandbox).filter(|mode| !mode.is_off());
        row.sandbox = mode.map(SandboxMode::name);
    }
    if servers.json {
        terminal::print(&serde_json::to_string(&rows)?)?;
    } else if rows.is_empty() {
        terminal::tell("the config has no servers");
    } else {
        let cells: Vec<_> = rows.iter().map(ServerRow::cells).collect();
        terminal::print(&lists::table(&cells, Paint::stdout(cli.color)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Connects to all servers, and lists how they are.
fn connected(servers: &ServersArgs, loaded: &LoadedConfig) -> anyhow::Result<Vec<ServerRow>> {
    let mut app = App::build(loaded)?;
    app.is_quiet = true;
    with_servers(&app, loaded, Needs::All, async |connections| {
        let work = async {
            connections.wait_until_ready(is_watched(servers.json)).await;
            let mut rows = ServerRow::all(&app, connections).await;
            rows.extend(loaded.disabled_servers().map(|(name, config)| {
                ServerRow::new(
                    name.clone(),
                    "disabled".to_owned(),
                    config.kind().map_or("", kind).to_owned(),
                )
            }));
            Ok(rows)
        };
        unless_interrupted(work).await
    })
}

impl ServerRow {
    /// A server as the gateway's REST shows it.
    fn of_gateway(server: &Value) -> Self {
        let word = |key: &str| server[key].as_str().unwrap_or_default().to_owned();
        Self {
            tools: server["tools"].as_u64().unwrap_or(0),
            error: server["error"].as_str().map(str::to_owned),
            sign_in: server.get("sign_in").filter(|shown| !shown.is_null()).cloned(),
            ..Self::new(word("name"), word("state"), word("kind"))
        }
    }

    async fn all(app: &App, connections: &Connections) -> Vec<Self> {
        let tools = app.executor.tools().listed();
        let row = |server: &switchboard_mcp_client::Server| {
            let state = server.state();
            let error = match &state {
                ServerState::Failed(reason) | ServerState::Skipped(reason) => {
                    Some(reason.to_string())
                }
                _ => None,
            };
            let own = tools.iter().filter(|tool| tool.spec().server() == Some(server.name()));
            let tools = own.count() as u64;
            let name = server.name().to_string();
            let row = Self::new(name, state.name().to_owned(), kind(server.kind()).to_owned());
            Self { tools, error, ..row }
        };
        let mut rows = Vec::new();
        for server in connections.all() {
            rows.push(Self { sign_in: sign_in_view::of(&server).await, ..row(&server) });
        }
        for api in connections.apis() {
            rows.push(Self::of_gateway(&api_view::of(&api, app.executor.tools()).await));
        }
        rows
    }

    fn new(name: String, state: String, kind: String) -> Self {
        let (tools, calls, failures) = (0, 0, 0);
        let (p50_ms, p95_ms, error, sign_in, sandbox) = (None, None, None, None, None);
        Self { name, state, kind, tools, calls, failures, p50_ms, p95_ms, error, sign_in, sandbox }
    }

    /// The columns for people.
    fn cells(&self) -> [String; 6] {
        let count = |count: u64, noun: &str| match count {
            1 => format!("1 {noun}"),
            many => format!("{many} {noun}s"),
        };
        let took = self.p50_ms.zip(self.p95_ms);
        let took = took.map(|(p50, p95)| format!("p50 {p50:.1} ms, p95 {p95:.1} ms"));
        let shown = self.sign_in.as_ref();
        let signed_in = shown.and_then(sign_in_view::of_json);
        let hint = shown.and_then(|shown| sign_in_view::hint(shown, &self.name));
        let failed = match self.failures {
            0 => String::new(),
            some => format!(", {some} failed"),
        };
        [
            text::one_line(&self.name),
            self.state.clone(),
            self.kind.clone(),
            count(self.tools, "tool"),
            format!("{}{failed}", count(self.calls, "call")),
            text::one_line(
                &[signed_in, self.error.clone().or(took), hint]
                    .into_iter()
                    .flatten()
                    .collect::<Vec<_>>()
                    .join("; "),
            ),
        ]
    }
}

fn kind(kind: TransportKind) -> &'static str {
    match kind {
        TransportKind::Stdio => "stdio",
        TransportKind::Http => "http",
        TransportKind::Sse => "sse",
    }
}

/// Counts the calls of the last day, as far as there are records.
fn count_calls(rows: &mut [ServerRow], loaded: &LoadedConfig) {
    let Ok(mut reader) = calls::open(loaded) else { return };
    let since = SystemTime::now().checked_sub(std::time::Duration::from_secs(DAY));
    for row in rows {
        let server = Some(row.name.clone());
        let filter = Filter { server, since, limit: Some(MOST_CALLS), ..Filter::default() };
        let Ok(mut records) = reader.list(&filter) else { return };
        // Figures are per tool; the server's are those of all its tools together.
        let rename = |record: &mut Record| record.tool.clone_from(&row.name);
        records.iter_mut().for_each(rename);
        if let [figures] = &ToolStats::of(&records)[..] {
            (row.calls, row.failures) = (figures.calls, figures.failures);
            (row.p50_ms, row.p95_ms) = (Some(figures.p50_ms), Some(figures.p95_ms));
        }
    }
}

/// Finds the running gateway, for a command about a server.
///
/// # Errors
/// No gateway runs with this config, or the server is disabled.
fn gateway_that_uses(server: &str, cli: &Cli) -> anyhow::Result<OwnGateway> {
    let loaded = overrides::load(cli)?;
    let gateway = OwnGateway::required(&loaded)?;
    match loaded.advice_to_enable(server) {
        Some(advice) => Err(CommandFailed(advice).into()),
        None => Ok(gateway),
    }
}

pub(super) fn restart(restart: &RestartArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let gateway = gateway_that_uses(&restart.name, cli)?;
    let server = format!("/api/servers/{}/reconnect", path(&restart.name));
    on_runtime(async { gateway.post(&server).await })?;
    terminal::tell(&format!("server `{}` reconnects", text::one_line(&restart.name)));
    Ok(ExitCode::SUCCESS)
}

pub(super) fn logs(logs: &LogsArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let gateway = gateway_that_uses(&logs.name, cli)?;
    let server = format!("/api/servers/{}", path(&logs.name));
    on_runtime(unless_interrupted(async {
        if !logs.follow {
            let shown = gateway.get(&server).await?;
            for line in shown["stderr"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                terminal::print(&text::one_line(line))?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        let mut lines = gateway.follow(&format!("{server}/stderr")).await?;
        while let Some((_, line)) = lines.next().await? {
            terminal::print(&text::one_line(line["line"].as_str().unwrap_or_default()))?;
        }
        Ok(ExitCode::SUCCESS)
    }))
}
