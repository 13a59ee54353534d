//! REST (SPEC §13): tools, calls, live events, metrics, health.

mod call;
mod calls;
mod events;
mod tools;

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::State,
    http::{StatusCode, Uri},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};

use crate::{gateway::Parts, refusal::Refusal};

/// What is only for callers who are let in.
pub(crate) fn routes() -> Router<Arc<Parts>> {
    Router::new()
        .route("/api/tools", get(tools::list))
        .route("/api/tools/{name}", get(tools::show))
        .route("/api/tools/{name}/call", post(call::call))
        .route("/api/calls", get(calls::list))
        .route("/api/events", get(events::stream))
        .route("/metrics", get(metrics))
}

/// What a load balancer asks.
pub(crate) fn health() -> Router<Arc<Parts>> {
    Router::new().route("/healthz", get(async || "ok\n")).route("/readyz", get(ready))
}

/// Whether calls can be served, and which servers are away. A server that is away does not make the gateway so.
async fn ready(State(parts): State<Arc<Parts>>) -> Json<Value> {
    let servers = parts.executor.tools().servers();
    let status = |server: &switchboard_runtime::KnownServer| {
        server.link.as_ref().map_or_else(|| json!({"state": "ready"}), |link| link.status())
    };
    let away: Vec<_> = servers
        .iter()
        .filter(|server| !matches!(status(server)["state"].as_str(), Some("ready" | "idle")))
        .map(|server| json!({"server": &*server.name, "status": status(server)}))
        .collect();
    let word = if away.is_empty() { "ready" } else { "degraded" };
    Json(json!({"status": word, "degraded": away}))
}

async fn metrics(State(parts): State<Arc<Parts>>) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let text = parts.feed.metrics().text(&parts.executor, parts.mcp.sessions());
    ([("content-type", kind)], text).into_response()
}

/// Whatever nobody serves.
pub(crate) async fn nothing_here(uri: Uri) -> Response {
    let path = uri.path();
    let text = format!("there is nothing at `{path}`; see /openapi.json");
    (StatusCode::NOT_FOUND, Refusal::NotFound(text)).into_response()
}
