//! The MCP servers behind us: how they are, what they write, and what people do with them.

mod act;
mod group;
mod lists;
mod stderr;

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Path, State, rejection::PathRejection},
};
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
    rest::openapi::responses::{Failed, Refused},
};

use group::ShownWorker;

pub(crate) use act::{__path_reconnect, __path_start, __path_stop, reconnect, start, stop};
pub(crate) use lists::{__path_prompts, __path_resources, prompts, resources};
pub(crate) use stderr::{__path_follow, follow};

/// A server as it is shown.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShownServer {
    name: String,
    /// `ready`, `connecting`, `idle`, `given_up`, `stopped`, or `skipped` where something that its settings need is missing.
    state: &'static str,
    /// `stdio`, `http` or `sse`; `workers`, where it is a group of workers.
    kind: &'static str,
    /// The command line of a stdio server, or the address of another, secrets taken out; none for who does not administer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    origin: Option<String>,
    /// What to look at when it cannot be reached, as the config says; none for who does not administer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    check: Option<String>,
    /// `legacy` or `modern`, where it is connected.
    era: Option<&'static str>,
    /// The revision of MCP that was agreed on.
    protocol: Option<String>,
    /// What it calls itself.
    server: Option<Named>,
    /// Since when its state is what it is; none for a group of workers.
    since: Option<String>,
    /// How often it was started or connected to.
    starts: u64,
    /// The same without the first time.
    restarts: u64,
    /// What last went wrong, or why it is skipped; none for who neither administers nor watches.
    error: Option<String>,
    error_at: Option<String>,
    /// How many tools it offers now.
    tools: usize,
    /// Tools of its that are not used, and why.
    set_aside: Vec<String>,
    /// How many client sessions have a copy of it to themselves; 0 for who neither administers nor watches.
    clients: usize,
    /// The last lines of its stderr; none for who may not see them, and where it has none.
    stderr: Option<Vec<String>>,
    /// The workers that are there, where it is a group of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    workers: Option<Vec<ShownWorker>>,
}

/// What a server calls itself.
#[derive(Serialize, ToSchema)]
struct Named {
    name: Option<String>,
    version: Option<String>,
}

impl ShownServer {
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
        // The reasons name tools.
        let sees_set_aside = sees_errors || !caller.visibility().hides_tools();
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
            server: info
                .map(|info| Named { name: text(&info["name"]), version: text(&info["version"]) }),
            since: Some(timestamp(server.since())),
            starts: server.starts(),
            restarts: server.starts().saturating_sub(1),
            error: error.or(skipped),
            error_at: setback.map(|setback| timestamp(setback.at)),
            tools: of_server.filter(|tool| caller.sees(tool)).count(),
            set_aside: if sees_set_aside { server.skipped_tools() } else { Vec::new() },
            clients: if sees_errors { server.copies() } else { 0 },
            stderr: sees_stderr.then(|| {
                let lines = server.stderr().lines();
                lines.iter().map(|line| redact::text(&line.text).into_owned()).collect()
            }),
            workers: None,
        }
    }
}

/// Where a server comes from: its command line, each word quoted where it must be, or its address.
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

/// The MCP servers of which the caller may see a tool, in the config's order; then the groups of workers.
#[utoipa::path(
    get, path = "/api/servers", operation_id = "list_servers", tag = "servers",
    responses((status = 200, description = "The servers", body = Vec<ShownServer>), Refused)
)]
pub(crate) async fn list(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
) -> Json<Vec<ShownServer>> {
    let servers = parts.servers.as_ref().map(|servers| servers.all()).unwrap_or_default();
    let visible = servers.iter().filter(|server| is_visible(server.name(), &parts, &caller));
    let servers = visible.map(|server| ShownServer::new(server, &parts, &caller));
    Json(servers.chain(group::all(&parts, &caller)).collect())
}

/// One of the servers.
#[utoipa::path(
    get, path = "/api/servers/{name}", operation_id = "show_server", tag = "servers",
    params(("name" = String, Path, description = "Its name in the config")),
    responses(
        (status = 200, description = "The server", body = ShownServer),
        (status = 400, description = "The name is no text", body = Failed),
        (status = 404, description = "There is no such server", body = Failed),
        Refused,
    )
)]
pub(crate) async fn show(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    name: Result<Path<String>, PathRejection>,
) -> Result<Json<ShownServer>, ApiError> {
    if let Ok(Path(name)) = &name
        && let Some(group) = group::all(&parts, &caller).find(|group| group.name == *name)
    {
        return Ok(Json(group));
    }
    let server = find(&parts, &caller, name)?;
    Ok(Json(ShownServer::new(&server, &parts, &caller)))
}

/// The server of this name, where it exists for the caller.
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

/// As [`find`], for who may do more than look.
fn find_for_admin(
    parts: &Parts,
    caller: &Caller,
    name: Result<Path<String>, PathRejection>,
) -> Result<Arc<Server>, ApiError> {
    let server = find(parts, caller, name)?;
    match caller.may_administer() {
        true => Ok(server),
        false => {
            let text =
                "this token may not do that; `switchboard token new --admin` makes one that may";
            Err(ApiError::Forbidden(text.to_owned()))
        }
    }
}

/// Whether the caller may know what is wrong with servers and how much they are used: texts of errors tell of the
/// machine, and of what others do.
fn sees_errors(caller: &Caller) -> bool {
    caller.may_administer() || caller.visibility().watches()
}

fn is_visible(server: &Arc<str>, parts: &Parts, caller: &Caller) -> bool {
    let tools = parts.executor.tools();
    let mut own = tools.all().into_iter().filter(|tool| tool.spec().server() == Some(server));
    !caller.visibility().hides_tools() || own.any(|tool| caller.sees(&tool))
}
