//! Checks each server: its state, what it reports about itself, and which of its tools or names cannot be used.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::future::join_all;
use serde::Serialize;
use serde_json::Value;
use switchboard_mcp_client::{Server, ServerState, TransportKind};
use switchboard_runtime::{RegisteredTool, rename};
use switchboard_toolcall::{HumanDuration, ToolOrigin};
use tokio::time::{Instant, timeout};

use super::{
    CheckStatus, DoctorCheck,
    lock::{self, FindingLines, WaitingDefinition},
};
use crate::{
    assembly::App,
    commands::{api_view, sign_in_view, zwave},
    connections::Connections,
    own_gateway::OwnGateway,
    settings::LoadedConfig,
    terminal::text,
};

/// How many lines of a server's stderr are shown.
const STDERR_LINES: usize = 5;

/// What every provider takes (SPEC ML-6).
const LONGEST_NAME: usize = 64;

/// The state of a server.
#[derive(Debug, Serialize)]
pub(super) struct ServerReport {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    /// `ready`, `connecting`, `failed` or `skipped`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<String>,
    /// The name and version that it reports.
    #[serde(skip_serializing_if = "Value::is_null")]
    info: Value,
    tools: usize,
    /// Tools that are not used, with the reason.
    skipped_tools: Vec<String>,
    /// What it says that is not in the lock, or differs from it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waiting: Vec<WaitingDefinition>,
    /// The state of its sign-in, if it needs one.
    #[serde(skip_serializing_if = "Option::is_none")]
    sign_in: Option<Value>,
    /// How often it was started or called until it answered.
    attempts: u64,
    /// `None` for a server of the running gateway, which connected earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    connect_ms: Option<u64>,
    stderr: Vec<String>,
    /// For each tool: what models may write → what the server expects.
    renames: BTreeMap<String, BTreeMap<String, String>>,
    /// What a `switchboard zwave` reports about its devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    health: Option<String>,
    /// Names of tools that a model provider rejects; they are renamed in requests to it.
    rejected_names: Vec<String>,
}

/// Waits for all servers at once, and makes a report of each.
pub(super) async fn probe(
    app: &App,
    connections: &Connections,
    is_watched: bool,
) -> Vec<ServerReport> {
    let began = Instant::now();
    let times = join_all(connections.all().into_iter().map(|server| async move {
        // A server that takes longer is reported as connecting.
        _ = timeout(connections.startup_wait(), server.wait_until_ready()).await;
        // Another check reports one that does not answer.
        _ = timeout(connections.startup_wait(), server.compare_lists()).await;
        u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }));
    let (times, ()) = tokio::join!(times, connections.wait_until_ready(is_watched));
    let tools = app.executor.tools().all();
    let servers = connections.all().into_iter().zip(times);
    let reports = servers
        .map(|(server, time)| (ServerReport::of(&server, time, &tools, connections), server));
    join_all(reports.map(|(report, server)| async move {
        let sign_in = sign_in_view::of(&server).await;
        ServerReport { sign_in, ..report }.with_health(app).await
    }))
    .await
}

/// Makes a report of each API.
pub(super) async fn apis(
    app: &App,
    loaded: &LoadedConfig,
    connections: &Connections,
) -> Vec<ServerReport> {
    let tools = app.executor.tools().all();
    let mut reports = Vec::new();
    for api in connections.apis() {
        let shown = api_view::of(&api, app.executor.tools()).await;
        reports.push(ServerReport::of_gateway(&shown, &tools, loaded));
    }
    reports
}

/// Asks the running gateway how its servers are, as soon as they are connected or have failed.
///
/// # Errors
/// The gateway went away.
pub(super) async fn probe_in_gateway(
    app: &App,
    loaded: &LoadedConfig,
    gateway: &OwnGateway,
) -> anyhow::Result<Vec<ServerReport>> {
    gateway.add_tools(app, loaded).await?;
    let tools = app.executor.tools().all();
    let mut reports = Vec::new();
    let servers = gateway.servers().await?;
    // Servers that the config disables have a line of their own.
    for server in servers.iter().filter(|server| server["state"] != "disabled") {
        let mut report = ServerReport::of_gateway(server, &tools, loaded);
        if report.error.is_none() && report.info["name"] == zwave::SERVER_NAME {
            match super::zwave::health_in_gateway(&report.name, gateway, loaded).await {
                Ok(health) => report.health = health,
                Err(problem) => report.error = Some(problem),
            }
        }
        reports.push(report);
    }
    Ok(reports)
}

impl ServerReport {
    /// A server as REST shows it.
    fn of_gateway(server: &Value, tools: &[Arc<RegisteredTool>], loaded: &LoadedConfig) -> Self {
        let word = |key: &str| server[key].as_str().map(str::to_owned);
        let lines = |key: &str| {
            let lines = server[key].as_array().into_iter().flatten();
            lines.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        let name = word("name").unwrap_or_default();
        let is_its = |tool: &&Arc<RegisteredTool>| {
            tool.spec().server().is_some_and(|server| **server == *name)
        };
        let tools: Vec<_> = tools.iter().filter(is_its).collect();
        let reason = word("error").unwrap_or_else(|| "it is not connected any more".to_owned());
        let (state, error) = match server["state"].as_str() {
            Some("ready") => ("ready", None),
            Some("idle") if server["sign_in"]["auth"] == "user" => ("ready", None),
            Some("connecting") => {
                ("connecting", Some(not_in_time(loaded.settings.mcp.startup_wait)))
            }
            Some("skipped") => ("skipped", Some(format!("skipped: {reason}"))),
            _ => ("failed", Some(reason)),
        };
        let rejected = tools.iter().map(|tool| tool.name()).filter(is_rejected);
        Self {
            kind: word("kind").unwrap_or_default(),
            state,
            error,
            protocol: word("protocol"),
            info: server["server"].clone(),
            tools: tools.len(),
            skipped_tools: lines("skipped_tools"),
            waiting: lock::waiting_in_gateway(server),
            sign_in: server.get("sign_in").filter(|sign_in| !sign_in.is_null()).cloned(),
            attempts: server["starts"].as_u64().unwrap_or(0),
            connect_ms: None,
            stderr: lines("stderr"),
            health: None,
            renames: tools.iter().filter_map(|tool| renames(tool)).collect(),
            rejected_names: rejected.map(ToString::to_string).collect(),
            name,
        }
    }

    fn of(
        server: &Arc<Server>,
        connect_ms: u64,
        tools: &[Arc<RegisteredTool>],
        connections: &Connections,
    ) -> Self {
        let is_its = |tool: &&Arc<RegisteredTool>| tool.spec().server() == Some(server.name());
        let tools: Vec<_> = tools.iter().filter(is_its).collect();
        let rejected = tools.iter().map(|tool| tool.name()).filter(is_rejected);
        let last_failure = connections.last_failure(server.name());
        let (state, session, error) = match server.state() {
            ServerState::Ready(session) => ("ready", Some(session), None),
            ServerState::Failed(reason) => ("failed", None, Some(reason.to_string())),
            ServerState::Skipped(reason) => ("skipped", None, Some(format!("skipped: {reason}"))),
            ServerState::Connecting => {
                let limit = HumanDuration(connections.startup_wait());
                ("connecting", None, Some(not_in_time(limit)))
            }
            // Each caller connects apart.
            ServerState::Idle if server.is_per_user() => ("ready", None, None),
            _ => ("failed", None, Some("it is not connected any more".to_owned())),
        };
        // A failed server is already being started again, so that its own count would be too high.
        let attempts = last_failure
            .as_ref()
            .map_or(server.starts(), |last_failure| last_failure.attempts.into());
        let stderr = match &session {
            Some(session) => session.transport().stderr_tail(),
            None => last_failure.map(|last_failure| last_failure.stderr).unwrap_or_default(),
        };
        Self {
            name: server.name().to_string(),
            kind: match server.kind() {
                TransportKind::Stdio => "stdio",
                TransportKind::Http => "http",
                TransportKind::Sse => "sse",
            }
            .to_owned(),
            state,
            error,
            protocol: session.as_ref().map(|session| session.era().version().to_owned()),
            info: session.as_ref().map_or(Value::Null, |session| session.info().clone()),
            tools: tools.len(),
            skipped_tools: server.skipped_tools(),
            waiting: lock::waiting(server),
            sign_in: None,
            attempts,
            connect_ms: Some(connect_ms),
            stderr,
            health: None,
            renames: tools.iter().filter_map(|tool| renames(tool)).collect(),
            rejected_names: rejected.map(ToString::to_string).collect(),
        }
    }

    /// The same report with the health of the devices, if the server is a `switchboard zwave`.
    async fn with_health(mut self, app: &App) -> Self {
        if self.error.is_none() && self.info["name"] == zwave::SERVER_NAME {
            match super::zwave::health(&self.name, app).await {
                Ok(health) => self.health = health,
                Err(problem) => self.error = Some(problem),
            }
        }
        self
    }

    /// The finding for people, with what the screen found in the lock.
    pub(super) fn check(&self, findings: &FindingLines) -> DoctorCheck {
        let is_per_user = self.sign_in.as_ref().is_some_and(|shown| shown["auth"] == "user");
        let mut lines = vec![match &self.error {
            Some(error) => error.clone(),
            None if is_per_user => format!("over {}, {} tools", self.kind, self.tools),
            None => self.summary(),
        }];
        if let Some(shown) = &self.sign_in {
            lines.extend(sign_in_view::of_json(shown));
            lines.extend(sign_in_view::hint(shown, &self.name));
        }
        lines.extend(self.health.clone());
        lines.extend(self.skipped_tools.iter().map(|tool| format!("skipped: {tool}")));
        let locked = findings.get(&self.name).map(Vec::as_slice).unwrap_or_default();
        let lock_lines = lock::lines(&self.name, &self.waiting, &self.skipped_tools, locked);
        let is_unremarkable = self.skipped_tools.is_empty() && lock_lines.is_empty();
        lines.extend(lock_lines);
        lines.extend(self.renames.iter().map(|(tool, names)| {
            let names: Vec<_> = names.iter().map(|(from, to)| format!("{from} → {to}")).collect();
            format!("renamed for {tool}: {}", names.join(", "))
        }));
        lines.extend(
            self.rejected_names
                .iter()
                .map(|name| format!("no provider takes the name {name}; models are shown another")),
        );
        let skipped = self.stderr.len().saturating_sub(STDERR_LINES);
        lines.extend(self.stderr.iter().skip(skipped).map(|line| format!("stderr: {line}")));
        let status = match (&self.error, is_unremarkable) {
            (Some(_), _) => CheckStatus::Broken,
            (None, false) => CheckStatus::Info,
            (None, true) => CheckStatus::Ok,
        };
        // Text of a server must not contain escape sequences for the terminal.
        let lines: Vec<_> = lines.iter().map(|line| text::one_line(line)).collect();
        DoctorCheck::new(format!("server {}", self.name), status, lines.join("\n"))
    }

    /// `time-server 1.2 over stdio, protocol 2025-11-25, 3 tools, connected in 0.12s`
    fn summary(&self) -> String {
        let word = |key: &str| self.info[key].as_str().unwrap_or_default();
        let who = format!("{} {}", word("name"), word("version"));
        let who = if who.trim().is_empty() { "unnamed".to_owned() } else { who };
        let tools = if self.tools == 1 { "tool" } else { "tools" };
        #[expect(clippy::cast_precision_loss, reason = "a time for people")]
        let connected = match (self.connect_ms, self.attempts) {
            (Some(time), 0 | 1) => format!("connected in {:.2}s", time as f64 / 1000.0),
            (Some(time), many) => {
                format!("connected in {:.2}s on attempt {many}", time as f64 / 1000.0)
            }
            (None, 0 | 1) => "connected".to_owned(),
            (None, many) => format!("connected, started {many} times"),
        };
        format!(
            "{} over {}, protocol {}, {} {tools}, {connected}",
            who.trim(),
            self.kind,
            self.protocol.as_deref().unwrap_or("unknown"),
            self.tools,
        )
    }
}

fn not_in_time(limit: HumanDuration) -> String {
    format!("not connected within {limit} (`[mcp] startup_wait`)")
}

/// Which other spellings of a tool's arguments are understood (SPEC AN-2).
fn renames(tool: &RegisteredTool) -> Option<(String, BTreeMap<String, String>)> {
    let spec = tool.spec();
    if spec.origin == ToolOrigin::Local {
        return None;
    }
    let declared = spec.parameters["properties"].as_object();
    let spellings = declared.into_iter().flatten().map(|(name, _)| snake_case(name));
    let given = spellings.chain(spec.settings.rename.keys().cloned());
    let names = given.filter_map(|given| {
        let expected = rename::new_name(spec, &given)?;
        Some((given, expected))
    });
    let names: BTreeMap<_, _> = names.collect();
    (!names.is_empty()).then(|| (tool.name().to_string(), names))
}

/// `deviceName` → `device_name`
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// Whether a provider would reject the name.
fn is_rejected(name: &&Arc<str>) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    name.len() > LONGEST_NAME || !name.chars().all(fits)
}

/// Servers that the config switches off.
pub(super) fn switched_off(loaded: &LoadedConfig) -> Option<DoctorCheck> {
    let off: Vec<_> = loaded.disabled_servers().map(|(name, _)| name.as_str()).collect();
    let message = format!("switched off in the config: {}", off.join(", "));
    (!off.is_empty()).then(|| DoctorCheck::new("servers", CheckStatus::Info, message))
}
