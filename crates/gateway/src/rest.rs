//! REST (SPEC §13): tools, calls, approvals, live events, metrics, health.

mod about;
mod approvals;
mod artifacts;
mod call;
mod calls;
pub(crate) mod chats;
mod events;
mod openapi;
mod policy;
mod questions;
pub(crate) mod queued;
mod runs;
mod servers;
mod session;
mod stats;
mod tokens;
mod tools;
mod turns;

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::{Request, State},
    http::{StatusCode, Uri},
    response::{IntoResponse, Response},
    routing::{delete, get, post},
};
use serde::Serialize;
use serde_json::{Value, json};
use switchboard_access::{AdmittedRequest, Caller, Peers};
use utoipa::ToSchema;

use crate::{admission, error::ApiError, gateway::Parts, json_body::Json};
use openapi::responses::RejectedResponse;

/// Returns the routes for admitted requests.
pub(crate) fn routes() -> Router<Arc<Parts>> {
    Router::new()
        .route("/api/tools", get(tools::list))
        .route("/api/tool-costs", get(tools::costs))
        .route("/api/tools/{name}", get(tools::show))
        .route("/api/tools/{name}/call", post(call::call))
        .route("/api/tools/{name}/validate", post(tools::validate))
        .route("/api/servers", get(servers::list).post(servers::add))
        .route("/api/servers/{name}", get(servers::show).delete(servers::remove))
        .route("/api/servers/{name}/resources", get(servers::resources))
        .route("/api/servers/{name}/prompts", get(servers::prompts))
        .route("/api/servers/{name}/stderr", get(servers::follow))
        .route("/api/servers/{name}/reconnect", post(servers::reconnect))
        .route("/api/servers/{name}/stop", post(servers::stop))
        .route("/api/servers/{name}/start", post(servers::start))
        .route("/api/servers/{name}/sign-in", post(servers::sign_in).delete(servers::sign_out))
        .route("/api/servers/{name}/trust", post(servers::trust))
        .route("/api/servers/{name}/enable", post(servers::enable))
        .route("/api/servers/{name}/disable", post(servers::disable))
        .route("/api/gateway", get(about::show))
        .route("/api/stats", get(stats::show))
        .route("/api/artifacts/{id}", get(artifacts::show))
        .route("/api/calls", get(calls::list))
        .route("/api/calls/running/{id}", delete(call::cancel))
        .route("/api/calls/{id}", get(calls::show).delete(queued::cancel))
        .route("/api/turns", get(turns::list))
        .route("/api/runs", get(runs::list))
        .route("/api/runs/{id}", get(runs::show))
        .route("/api/approvals", get(approvals::list))
        .route("/api/approvals/decided", get(policy::decisions))
        .route("/api/approvals/rules", get(approvals::rules))
        .route("/api/approvals/rules/{id}", delete(approvals::forget))
        .route("/api/approvals/{id}", post(approvals::decide))
        .route("/api/policy", get(policy::show))
        .route("/api/policy/test", post(policy::test))
        .route("/api/tokens", get(tokens::list).post(tokens::create))
        .route("/api/tokens/{name}", delete(tokens::revoke))
        .route("/api/tokens/{name}/tools", get(tokens::tools))
        .route("/api/chats", get(chats::list))
        .route("/api/chats/{id}", get(chats::show).delete(chats::remove))
        .route("/api/questions", get(questions::list))
        .route("/api/questions/{id}", post(questions::answer))
        .route("/api/events", get(events::stream))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(openapi::document))
}

/// Returns the routes for signing in, which are open to anonymous callers.
pub(crate) fn session_routes() -> Router<Arc<Parts>> {
    let session = get(session::show).post(session::sign_in).delete(session::sign_out);
    Router::new().route("/api/session", session)
}

/// Returns the endpoint for load balancers.
pub(crate) fn open_routes() -> Router<Arc<Parts>> {
    Router::new().route("/healthz", get(health)).route("/readyz", get(ready))
}

/// Whether we are there at all.
#[utoipa::path(
    get, path = "/healthz", operation_id = "health", tag = "watch", security(()),
    responses((status = 200, description = "`ok`", body = String, content_type = "text/plain"))
)]
async fn health() -> &'static str {
    "ok\n"
}

/// Whether calls can be served, and what is missing.
#[derive(Serialize, ToSchema)]
struct Readiness {
    /// `ready`, or `degraded` if a server, or the connection to other gateways, is away.
    status: &'static str,
    /// What is away; only for callers who may watch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    degraded: Option<Vec<UnreachableServer>>,
}

/// A server that is away.
#[derive(Serialize, ToSchema)]
struct UnreachableServer {
    server: String,
    /// What its connection says of itself.
    #[schema(value_type = Object)]
    status: Value,
}

/// Whether calls can be served; for who watches everybody's calls, also which servers are away. A server that is away
/// does not make the gateway so.
#[utoipa::path(
    get, path = "/readyz", operation_id = "ready", tag = "watch", security(()),
    responses((status = 200, description = "How we are", body = Readiness))
)]
async fn ready(State(parts): State<Arc<Parts>>, request: Request) -> Json<Readiness> {
    let servers = parts.executor.tools().servers();
    let status = |server: &switchboard_runtime::KnownServer| {
        server.link.as_ref().map_or_else(|| json!({"state": "ready"}), |link| link.status())
    };
    let mut degraded: Vec<_> = servers
        .iter()
        .filter(|server| !matches!(status(server)["state"].as_str(), Some("ready" | "idle")))
        .map(|server| UnreachableServer { server: server.name.to_string(), status: status(server) })
        .collect();
    if let Some(status) = parts.access.peers().and_then(Peers::outage) {
        degraded.push(UnreachableServer { server: "nats".to_owned(), status });
    }
    let status = if degraded.is_empty() { "ready" } else { "degraded" };
    let degraded = watches(&parts, request).await.then_some(degraded);
    Json(Readiness { status, degraded })
}

/// Whether the caller may know of all servers. Probes of load balancers come without a token, and with any host name: they
/// get a response all the same, without names and errors.
async fn watches(parts: &Parts, request: Request) -> bool {
    let (head, _) = request.into_parts();
    match parts.access.admit(&head, admission::peer(&head)).await {
        Ok(AdmittedRequest { caller, .. }) => {
            caller.visibility().watches() && !caller.visibility().hides_tools()
        }
        Err(_) => false,
    }
}

/// Counts and durations, as Prometheus reads them: of everybody's calls, so only for who watches those.
#[utoipa::path(
    get, path = "/metrics", operation_id = "metrics", tag = "watch",
    responses(
        (status = 200, description = "OpenMetrics text", body = String,
            content_type = "application/openmetrics-text"),
        RejectedResponse,
    )
)]
async fn metrics(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, ApiError> {
    if !caller.visibility().watches() || caller.visibility().hides_tools() {
        let text = "metrics count everybody's calls of all tools; \
                    `switchboard token new --watch` makes a token that may read them";
        return Err(ApiError::Forbidden(text.to_owned()));
    }
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let text = parts.feed.metrics().text(&parts.executor, parts.mcp.sessions());
    Ok(([("content-type", kind)], text).into_response())
}

/// Responds to unknown paths.
pub(crate) async fn nothing_here(uri: Uri) -> Response {
    let path = uri.path();
    let text = format!("there is nothing at `{path}`; see /openapi.json");
    (StatusCode::NOT_FOUND, ApiError::NotFound(text)).into_response()
}
