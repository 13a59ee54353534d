//! How each server is: what it says of itself, and what of it does not fit.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::future::join_all;
use serde::Serialize;
use serde_json::Value;
use switchboard_mcp_client::{Server, ServerState, TransportKind};
use switchboard_runtime::{RegisteredTool, rename};
use switchboard_toolcall::{HumanDuration, Origin};
use tokio::time::{Instant, timeout};

use super::{CheckStatus, DoctorCheck};
use crate::{
    assembly::App, commands::zwave, connections::Connections, settings::Loaded, terminal::text,
};

/// How many lines of a server's stderr are shown.
const STDERR_LINES: usize = 5;

/// What every provider takes (SPEC ML-6).
const LONGEST_NAME: usize = 64;

/// What was found out about a server.
#[derive(Debug, Serialize)]
pub(super) struct ServerReport {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    /// `ready`, `connecting`, `given_up` or `skipped`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<String>,
    /// Name and version, as it says.
    #[serde(skip_serializing_if = "Value::is_null")]
    info: Value,
    tools: usize,
    /// Tools that are not used, with the reason.
    set_aside: Vec<String>,
    /// How often it was started or called until it answered.
    attempts: u64,
    connect_ms: u64,
    stderr: Vec<String>,
    /// For each tool: what models may write → what the server expects.
    renames: BTreeMap<String, BTreeMap<String, String>>,
    /// What it says of what it talks to.
    #[serde(skip_serializing_if = "Option::is_none")]
    health: Option<String>,
    /// Names that a provider rejects; they are changed on the way to it.
    rejected_names: Vec<String>,
}

/// Waits for all servers at once and asks what each has.
pub(super) async fn probe(
    app: &App,
    connections: &Connections,
    is_watched: bool,
) -> Vec<ServerReport> {
    let began = Instant::now();
    let times = join_all(connections.all().into_iter().map(|server| async move {
        // One that takes longer is reported as connecting.
        _ = timeout(connections.startup_wait(), server.settled()).await;
        u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }));
    let (times, ()) = tokio::join!(times, connections.settled(is_watched));
    let tools = app.executor.tools().all();
    let servers = connections.all().into_iter().zip(times);
    let reports =
        servers.map(|(server, time)| ServerReport::of(&server, time, &tools, connections));
    join_all(reports.map(|report| report.with_health(app))).await
}

impl ServerReport {
    fn of(
        server: &Arc<Server>,
        connect_ms: u64,
        tools: &[Arc<RegisteredTool>],
        connections: &Connections,
    ) -> Self {
        let is_its = |tool: &&Arc<RegisteredTool>| tool.spec().server() == Some(server.name());
        let tools: Vec<_> = tools.iter().filter(is_its).collect();
        let rejected = tools.iter().map(|tool| tool.name()).filter(is_rejected);
        let given_up = connections.given_up(server.name());
        let (state, session, error) = match server.state() {
            ServerState::Ready(session) => ("ready", Some(session), None),
            ServerState::Failed(reason) => ("given_up", None, Some(reason.to_string())),
            ServerState::Skipped(reason) => ("skipped", None, Some(format!("skipped: {reason}"))),
            ServerState::Connecting => {
                let limit = HumanDuration(connections.startup_wait());
                let text = format!("not connected within {limit} (`[mcp] startup_wait`)");
                ("connecting", None, Some(text))
            }
            ServerState::Idle | ServerState::Stopped => {
                ("given_up", None, Some("it is connected no more".to_owned()))
            }
        };
        // One that was given up is already being tried again, so that its starts say nothing.
        let attempts =
            given_up.as_ref().map_or(server.starts(), |given_up| given_up.attempts.into());
        let stderr = match &session {
            Some(session) => session.transport().stderr_tail(),
            None => given_up.map(|given_up| given_up.stderr).unwrap_or_default(),
        };
        Self {
            name: server.name().to_string(),
            kind: match server.kind() {
                TransportKind::Stdio => "stdio",
                TransportKind::Http => "http",
                TransportKind::Sse => "sse",
            },
            state,
            error,
            protocol: session.as_ref().map(|session| session.era().version().to_owned()),
            info: session.as_ref().map_or(Value::Null, |session| session.info().clone()),
            tools: tools.len(),
            set_aside: server.skipped_tools(),
            attempts,
            connect_ms,
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

    /// The finding for people.
    pub(super) fn check(&self) -> DoctorCheck {
        let mut lines = vec![match &self.error {
            Some(error) => error.clone(),
            None => self.summary(),
        }];
        lines.extend(self.health.clone());
        lines.extend(self.set_aside.iter().map(|tool| format!("skipped: {tool}")));
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
        let status = match (&self.error, self.set_aside.is_empty()) {
            (Some(_), _) => CheckStatus::Broken,
            (None, false) => CheckStatus::Info,
            (None, true) => CheckStatus::Ok,
        };
        // A server's own words must not command the terminal.
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
        let seconds = self.connect_ms as f64 / 1000.0;
        let attempts = match self.attempts {
            0 | 1 => String::new(),
            many => format!(" on attempt {many}"),
        };
        format!(
            "{} over {}, protocol {}, {} {tools}, connected in {seconds:.2}s{attempts}",
            who.trim(),
            self.kind,
            self.protocol.as_deref().unwrap_or("unknown"),
            self.tools,
        )
    }
}

/// Which other spellings of a tool's arguments are understood (SPEC AN-2).
fn renames(tool: &RegisteredTool) -> Option<(String, BTreeMap<String, String>)> {
    let spec = tool.spec();
    if spec.origin == Origin::Local {
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
pub(super) fn switched_off(loaded: &Loaded) -> Option<DoctorCheck> {
    let off = loaded.settings.servers.iter().filter(|(_, config)| !config.is_enabled());
    let off: Vec<_> = off.map(|(name, _)| name.as_str()).collect();
    let message = format!("switched off in the config: {}", off.join(", "));
    (!off.is_empty()).then(|| DoctorCheck::new("servers", CheckStatus::Info, message))
}
