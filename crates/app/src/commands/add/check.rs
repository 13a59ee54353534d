//! Starts or asks a server once, as `doctor` does, before it is written into a config.

use std::{path::Path, sync::Arc, time::Duration};

use serde_json::{Value, json};
use switchboard_mcp_client::{McpConfig, ServerState};
use switchboard_toolcall::HumanDuration;

use super::ServerEntry;
use crate::{
    assembly::App,
    connections::{Connections, Needs, with_servers},
    interrupt::unless_interrupted,
    settings,
    terminal::is_watched,
};

/// How long one attempt may take: `npx` and `uvx` may have to download the server first.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why a server has no tools to list.
pub(super) enum CheckFailure {
    /// It does not answer.
    Silent(String),
    /// A person has to sign in first.
    SignIn,
}

/// Returns the names of the server's tools, or why it does not answer.
///
/// # Errors
/// Its settings are invalid, or somebody pressed Ctrl-C.
pub(super) fn tools_of(
    name: &str,
    entry: &ServerEntry,
    file: &Path,
    is_for_programs: bool,
) -> anyhow::Result<Result<Vec<String>, CheckFailure>> {
    let text = json!({"servers": {name: Value::Object(entry.clone())}}).to_string();
    // Relative paths mean the same as in the config that it is for.
    let mut loaded = settings::load_text(&text, &file.with_extension("json"))?;
    loaded.settings.mcp = attempts();
    let loaded = Arc::new(loaded);
    let mut app = App::build(&loaded)?;
    app.is_quiet = true;
    // The person decides about the server, and then about the lock.
    app.ignores_lock = true;
    with_servers(&app, &loaded, Needs::All, async |connections| {
        unless_interrupted(async {
            connections.wait_until_ready(is_watched(is_for_programs)).await;
            Ok(outcome(name, &app, connections))
        })
        .await
    })
}

/// A person waits for the answer: a server gets a second attempt, because one that knows only older protocols may have died
/// of the first, and no third.
fn attempts() -> McpConfig {
    McpConfig {
        retry_attempts: 2,
        retry_base_delay: HumanDuration(Duration::from_millis(200)),
        connect_timeout: HumanDuration(PATIENCE),
        // Longer than both attempts, so that it has ended by then.
        startup_wait: HumanDuration(PATIENCE * 3),
    }
}

fn outcome(name: &str, app: &App, connections: &Connections) -> Result<Vec<String>, CheckFailure> {
    let servers = connections.all();
    let Some(server) = servers.iter().find(|server| server.name().as_ref() == name) else {
        return Err(CheckFailure::Silent("it is switched off".to_owned()));
    };
    let failure = match server.state() {
        ServerState::Ready(_) => {
            let tools = app.executor.tools().all();
            let own = tools.iter().filter(|tool| tool.spec().server() == Some(server.name()));
            return Ok(own.map(|tool| tool.name().to_string()).collect());
        }
        ServerState::Failed(_) if server.needs_sign_in().is_some() => {
            return Err(CheckFailure::SignIn);
        }
        ServerState::Failed(reason) => with_stderr(name, &reason, connections),
        ServerState::Skipped(reason) => reason.to_string(),
        ServerState::Connecting => {
            let limit = HumanDuration(connections.startup_wait());
            with_stderr(name, &format!("not connected within {limit}"), connections)
        }
        _ => "it ended".to_owned(),
    };
    Err(CheckFailure::Silent(failure))
}

fn with_stderr(name: &str, reason: &str, connections: &Connections) -> String {
    let said = connections.last_failure(name).map(|failure| failure.stderr).unwrap_or_default();
    let lines = said.iter().map(|line| format!("\nstderr: {line}"));
    format!("{reason}{}", lines.collect::<String>())
}
