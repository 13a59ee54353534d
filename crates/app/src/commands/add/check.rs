//! Starts or asks a server once, as `doctor` does, before it is written into a config.

use std::{path::Path, sync::Arc};

use serde_json::{Value, json};
use switchboard_mcp_client::ServerState;
use switchboard_toolcall::HumanDuration;
use tokio::time::timeout;

use super::ServerEntry;
use crate::{
    assembly::App,
    connections::{Connections, Needs, with_servers},
    interrupt::unless_interrupted,
    settings,
    terminal::is_watched,
};

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
    let loaded = Arc::new(settings::load_text(&text, &file.with_extension("json"))?);
    let mut app = App::build(&loaded)?;
    app.is_quiet = true;
    with_servers(&app, &loaded, Needs::All, async |connections| {
        unless_interrupted(async {
            connections.settled(is_watched(is_for_programs)).await;
            Ok(outcome(name, &app, connections).await)
        })
        .await
    })
}

async fn outcome(
    name: &str,
    app: &App,
    connections: &Connections,
) -> Result<Vec<String>, CheckFailure> {
    let servers = connections.all();
    let Some(server) = servers.iter().find(|server| server.name().as_ref() == name) else {
        return Err(CheckFailure::Silent("it is switched off".to_owned()));
    };
    let limit = connections.startup_wait();
    // A server that takes longer is reported as connecting.
    _ = timeout(limit, server.settled()).await;
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
            let reason = format!("not connected within {}", HumanDuration(limit));
            with_stderr(name, &reason, connections)
        }
        ServerState::Idle | ServerState::Stopped => "it ended".to_owned(),
    };
    Err(CheckFailure::Silent(failure))
}

fn with_stderr(name: &str, reason: &str, connections: &Connections) -> String {
    let said = connections.given_up(name).map(|failure| failure.stderr).unwrap_or_default();
    let lines = said.iter().map(|line| format!("\nstderr: {line}"));
    format!("{reason}{}", lines.collect::<String>())
}
