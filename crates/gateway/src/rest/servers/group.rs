//! Groups of workers and APIs, which are shown as servers.

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_access::Caller;
use switchboard_runtime::{KnownServer, redact};
use utoipa::ToSchema;

use super::{ServerInfo, ShownServer, is_visible, sees_errors, sign_in::ShownSignIn};
use crate::gateway::Parts;

/// A worker of a group.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct ShownWorker {
    id: String,
    /// How many calls it runs now.
    running: u64,
    /// How many it runs at once.
    capacity: u64,
    /// Its version of Switchboard.
    version: String,
    /// When it was started, in seconds since 1970.
    started: u64,
}

/// Returns the groups and APIs that have a tool that the caller may see.
pub(super) async fn all(parts: &Parts, caller: &Caller) -> Vec<ShownServer> {
    chosen(parts, caller, |_| true).await
}

/// Returns the group or API with this name, if the caller may see it.
pub(super) async fn one(name: &str, parts: &Parts, caller: &Caller) -> Option<ShownServer> {
    chosen(parts, caller, |known| known == name).await.pop()
}

async fn chosen(
    parts: &Parts,
    caller: &Caller,
    is_meant: impl Fn(&str) -> bool,
) -> Vec<ShownServer> {
    let servers = parts.executor.tools().servers().into_iter();
    let servers = servers.filter(|server| is_meant(&server.name));
    let visible = servers.filter(|server| is_visible(&server.name, parts, caller));
    let visible: Vec<_> =
        visible.filter_map(|server| describe_group(&server, parts, caller)).collect();
    join_all(visible.into_iter().map(|shown| async {
        let api = parts.apis.as_ref().and_then(|apis| apis.get(&shown.name));
        match api {
            Some(api) => ShownServer { sign_in: ShownSignIn::of_api(&api, caller).await, ..shown },
            None => shown,
        }
    }))
    .await
}

/// Returns the group or API, as its link describes it; `None` if it is an MCP server.
fn describe_group(server: &KnownServer, parts: &Parts, caller: &Caller) -> Option<ShownServer> {
    let status = server.link.as_ref()?.status();
    let kind = match status["type"].as_str() {
        Some("workers") => "workers",
        Some("openapi") => "openapi",
        _ => return None,
    };
    let tools = parts.executor.tools().listed();
    let own = tools.iter().filter(|tool| tool.spec().server() == Some(&server.name));
    let error = status["error"].as_str().map(|error| redact::text(error).into_owned());
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let state = match status["state"].as_str() {
        Some("connecting") => "connecting",
        Some("idle") => "idle",
        Some("skipped") => "skipped",
        _ if error.is_none() => "ready",
        _ => "failed",
    };
    let info = status.get("server").filter(|info| info.is_object());
    // The reasons contain names of operations.
    let sees_skipped_tools = sees_errors(caller) || !caller.visibility().hides_tools();
    let skipped = status["skipped_tools"].as_array().filter(|_| sees_skipped_tools);
    Some(ShownServer {
        name: server.name.to_string(),
        state,
        error: error.filter(|_| sees_errors(caller)),
        kind,
        origin: None,
        check: None,
        era: None,
        protocol: text(&status["protocol"]),
        server: info
            .map(|info| ServerInfo { name: text(&info["name"]), version: text(&info["version"]) }),
        capabilities: None,
        since: None,
        starts: 0,
        restarts: 0,
        error_at: None,
        tools: own.filter(|tool| caller.sees(tool)).count(),
        skipped_tools: skipped.into_iter().flatten().filter_map(text).collect(),
        waiting: Vec::new(),
        clients: 0,
        stderr: None,
        sign_in: None,
        sandbox: None,
        workers: (kind == "workers" && sees_errors(caller)).then(|| workers(&status["workers"])),
    })
}

fn workers(status: &Value) -> Vec<ShownWorker> {
    let workers = status.as_array().map(Vec::as_slice).unwrap_or_default();
    workers.iter().filter_map(|worker| ShownWorker::deserialize(worker).ok()).collect()
}
