//! The MCP servers behind us: their state, their stderr, and actions.

mod actions;
mod edit;
mod group;
mod lists;
mod sandbox;
mod sign_in;
mod stderr;
mod waiting;

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State, rejection::PathRejection},
};
use futures_util::future::join_all;
use serde::Serialize;
use serde_json::Value;
use switchboard_access::Caller;
use switchboard_mcp_client::{self as client, Server, ServerConfig, TransportKind};
use switchboard_mcp_wire::Era;
use switchboard_runtime::redact;
use utoipa::ToSchema;

use crate::{
    error::ApiError,
    feed::timestamp,
    gateway::Parts,
    json_body::Json,
    rest::openapi::responses::{FailedResponse, RejectedResponse},
};

use group::ShownWorker;
use sandbox::ShownSandbox;
use sign_in::ShownSignIn;
use waiting::ShownPending;

pub(crate) use actions::{__path_reconnect, __path_start, __path_stop, reconnect, start, stop};
pub(crate) use edit::{
    __path_add, __path_disable, __path_enable, __path_remove, add, disable, enable, may_add, remove,
};
pub(crate) use lists::{__path_prompts, __path_resources, prompts, resources};
pub(crate) use sign_in::{__path_sign_in, __path_sign_out, sign_in, sign_out};
pub(crate) use stderr::{__path_follow, follow};
pub(crate) use waiting::{__path_trust, trust};

/// A server as it is shown.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShownServer {
    name: String,
    /// `ready`, `connecting`, `idle`, `failed`, `stopped`, `disabled` in the config, or `skipped` where something that its
    /// settings need is missing.
    state: &'static str,
    /// `stdio`, `http` or `sse`; `workers` if it is a group of workers, `openapi` if it is an API.
    kind: &'static str,
    /// The command line of a stdio server, or the address of another, secrets taken out; only for administrators.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    origin: Option<String>,
    /// What to check when it cannot be reached, as the config says; only for administrators.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    check: Option<String>,
    /// `legacy` or `modern`, if it is connected.
    era: Option<&'static str>,
    /// The revision of MCP that was agreed on; of an API, the version of OpenAPI.
    protocol: Option<String>,
    /// What it calls itself.
    server: Option<ServerInfo>,
    /// What it declares that it has, such as `tools`, `resources` and `prompts`; only if it is connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    capabilities: Option<Vec<String>>,
    /// When its state last changed; unset for a group of workers.
    since: Option<String>,
    /// How often it was started or connected to.
    starts: u64,
    /// The same without the first time.
    restarts: u64,
    /// What last went wrong, or why it is skipped; only for callers who may administer or watch.
    error: Option<String>,
    error_at: Option<String>,
    /// How many tools it offers now.
    tools: usize,
    /// Tools of its that are not used, and why.
    skipped_tools: Vec<String>,
    /// What it says that is not in `switchboard.lock`, or differs from it; only for callers who may approve, administer or
    /// watch.
    waiting: Vec<ShownPending>,
    /// How many client sessions have a copy of it to themselves; 0 for callers who may neither administer nor watch.
    clients: usize,
    /// The last lines of its stderr; unset if there are none, or the caller may not see them.
    stderr: Option<Vec<String>>,
    /// Whether somebody is signed in to it, or should be; unset for a server without sign-in. Only for callers who may
    /// administer or watch, unless the sign-in is the caller's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    sign_in: Option<ShownSignIn>,
    /// How its program is confined, and what it was refused; unset if it is not confined. Only for callers who may
    /// administer or watch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    sandbox: Option<ShownSandbox>,
    /// The workers, if it is a group of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    workers: Option<Vec<ShownWorker>>,
}

/// A server's own name and version.
#[derive(Serialize, ToSchema)]
struct ServerInfo {
    name: Option<String>,
    version: Option<String>,
}

impl ShownServer {
    async fn of(server: &Server, parts: &Parts, caller: &Caller) -> Self {
        let shown = Self::new(server, parts, caller);
        match server.is_per_user() {
            true => Self { sign_in: Some(ShownSignIn::own(server, caller).await), ..shown },
            false => shown,
        }
    }

    fn new(server: &Server, parts: &Parts, caller: &Caller) -> Self {
        let state = server.state();
        let session = match &state {
            client::ServerState::Ready(session) => Some(session),
            _ => None,
        };
        let era = session.map(|session| session.era());
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let info = session.map(|session| session.info());
        let tools = parts.executor.tools().listed();
        let of_server = tools.iter().filter(|tool| tool.spec().server() == Some(server.name()));
        let setback = server.last_error();
        let sees_stderr = caller.may_administer() && server.kind() == TransportKind::Stdio;
        let sees_errors = sees_errors(caller);
        let setback = setback.filter(|_| sees_errors);
        let skipped = match &state {
            client::ServerState::Skipped(reason) if sees_errors => Some(reason.to_string()),
            _ => None,
        };
        let error = setback.as_ref().map(|setback| redact::text(&setback.reason).into_owned());
        // The reasons contain names of tools.
        let sees_skipped_tools = sees_errors || !caller.visibility().hides_tools();
        Self {
            name: server.name().to_string(),
            state: state.name(),
            kind: match server.kind() {
                TransportKind::Stdio => "stdio",
                TransportKind::Http => "http",
                TransportKind::Sse => "sse",
            },
            origin: caller.may_administer().then(|| origin(server.config())).flatten(),
            check: server.config().check.clone().filter(|_| caller.may_administer()),
            era: era.map(|era| match era {
                Era::Legacy(_) => "legacy",
                Era::Modern => "modern",
            }),
            protocol: era.map(|era| era.version().to_owned()),
            server: info.map(|info| ServerInfo {
                name: text(&info["name"]),
                version: text(&info["version"]),
            }),
            capabilities: session.map(|session| {
                let declared = session.capabilities().as_object();
                declared.into_iter().flatten().map(|(name, _)| name.clone()).collect()
            }),
            since: Some(timestamp(server.since())),
            starts: server.starts(),
            restarts: server.starts().saturating_sub(1),
            error: error.or(skipped),
            error_at: setback.map(|setback| timestamp(setback.at)),
            tools: of_server.filter(|tool| caller.sees(tool)).count(),
            skipped_tools: if sees_skipped_tools { server.skipped_tools() } else { Vec::new() },
            waiting: waiting::visible_pending(server, caller),
            clients: if sees_errors { server.copies() } else { 0 },
            stderr: sees_stderr.then(|| {
                let lines = server.stderr().lines();
                lines.iter().map(|line| redact::text(&line.text).into_owned()).collect()
            }),
            sign_in: ShownSignIn::shared(server).filter(|_| sees_errors),
            sandbox: sees_errors.then(|| ShownSandbox::of(server)).flatten(),
            workers: None,
        }
    }

    fn disabled(name: &str, config: &ServerConfig) -> Self {
        Self {
            sign_in: None,
            name: name.to_owned(),
            state: "disabled",
            kind: if config.command.is_some() { "stdio" } else { "http" },
            origin: origin(config),
            check: None,
            era: None,
            protocol: None,
            server: None,
            capabilities: None,
            since: None,
            starts: 0,
            restarts: 0,
            error: None,
            error_at: None,
            tools: 0,
            skipped_tools: Vec::new(),
            waiting: Vec::new(),
            clients: 0,
            stderr: None,
            sandbox: None,
            workers: None,
        }
    }
}

/// Returns the servers that are disabled in the config, for callers who may enable them.
fn disabled(parts: &Parts, caller: &Caller) -> Vec<ShownServer> {
    if !caller.may_administer() || caller.visibility().hides_tools() {
        return Vec::new();
    }
    let state = parts.config_state.get();
    state.disabled.iter().map(|(name, config)| ShownServer::disabled(name, config)).collect()
}

/// Returns where a server comes from: its command line, quoted if needed, or its URL.
fn origin(config: &ServerConfig) -> Option<String> {
    let words = config.command.iter().chain(&config.args).map(|word| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
        match !word.is_empty() && word.chars().all(is_plain) {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        }
    });
    let line = config.command.as_ref().map(|_| words.collect::<Vec<_>>().join(" "));
    line.or_else(|| config.url.clone()).map(|text| redact::text(&text).into_owned())
}

/// The MCP servers of which the caller may see a tool, in the config's order; then APIs and groups of workers.
#[utoipa::path(
    get, path = "/api/servers", operation_id = "list_servers", tag = "servers",
    responses((status = 200, description = "The servers", body = Vec<ShownServer>), RejectedResponse)
)]
pub(crate) async fn list(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
) -> Json<Vec<ShownServer>> {
    let servers = parts.servers.as_ref().map(|servers| servers.all()).unwrap_or_default();
    let visible = servers.iter().filter(|server| is_visible(server.name(), &parts, &caller));
    let servers = join_all(visible.map(|server| ShownServer::of(server, &parts, &caller))).await;
    let groups = group::all(&parts, &caller).await;
    Json(servers.into_iter().chain(groups).chain(disabled(&parts, &caller)).collect())
}

/// One of the servers.
#[utoipa::path(
    get, path = "/api/servers/{name}", operation_id = "show_server", tag = "servers",
    params(("name" = String, Path, description = "Its name in the config")),
    responses(
        (status = 200, description = "The server", body = ShownServer),
        (status = 400, description = "The name is not valid UTF-8", body = FailedResponse),
        (status = 404, description = "There is no such server", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn show(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    name: Result<Path<String>, PathRejection>,
) -> Result<Json<ShownServer>, ApiError> {
    if let Ok(Path(name)) = &name
        && let Some(group) = group::one(name, &parts, &caller).await
    {
        return Ok(Json(group));
    }
    let server = find(&parts, &caller, name)?;
    Ok(Json(ShownServer::of(&server, &parts, &caller).await))
}

/// Returns the server with this name, if it exists for the caller.
fn find(
    parts: &Parts,
    caller: &Caller,
    name: Result<Path<String>, PathRejection>,
) -> Result<Arc<Server>, ApiError> {
    let Path(name) = name.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    let server = parts.servers.as_ref().and_then(|servers| servers.get(&name));
    let server = server.filter(|server| is_visible(server.name(), parts, caller));
    server.ok_or_else(|| ApiError::NotFound(format!("Server '{name}' not found")))
}

/// Like [`find`], for callers who may administer.
fn find_for_admin(
    parts: &Parts,
    caller: &Caller,
    name: Result<Path<String>, PathRejection>,
) -> Result<Arc<Server>, ApiError> {
    let server = find(parts, caller, name)?;
    check_admin(caller).map(|()| server)
}

/// Fails unless the caller may administer.
fn check_admin(caller: &Caller) -> Result<(), ApiError> {
    match caller.may_administer() {
        true => Ok(()),
        false => {
            let text =
                "this token may not do that; `switchboard token new --admin` makes one that may";
            Err(ApiError::Forbidden(text.to_owned()))
        }
    }
}

/// Whether the caller may know what is wrong with servers and how much they are used: error messages reveal details of the
/// machine, and what others do.
fn sees_errors(caller: &Caller) -> bool {
    caller.may_administer() || caller.visibility().watches()
}

fn is_visible(server: &Arc<str>, parts: &Parts, caller: &Caller) -> bool {
    let tools = parts.executor.tools();
    let mut own = tools.all().into_iter().filter(|tool| tool.spec().server() == Some(server));
    !caller.visibility().hides_tools() || own.any(|tool| caller.sees(&tool))
}
