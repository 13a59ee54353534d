//! Lists tools, and shows one.

mod cost;
mod usage;
mod validate;

use std::sync::Arc;

use axum::{
    Extension,
    extract::{
        Path, Query, State,
        rejection::{PathRejection, QueryRejection},
    },
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_access::Caller;
use switchboard_runtime::{RegisteredTool, ToolManager, Verdict};
use switchboard_toolcall::Annotations;
use utoipa::{IntoParams, ToSchema};

use super::call::is_one;
use crate::{
    error::ApiError,
    gateway::Parts,
    json_body::Json,
    rest::openapi::responses::{FailedResponse, RejectedResponse},
};
use usage::ToolUsage;

pub(crate) use cost::{__path_costs, costs};
pub(crate) use validate::{__path_validate, validate};

/// A tool as it is shown.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShownTool {
    name: String,
    description: String,
    /// The JSON Schema of its arguments.
    #[schema(value_type = Object)]
    parameters: Value,
    /// The MCP server that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    server: Option<String>,
    /// The side effects that it declares: `read_only`, `idempotent`, `destructive`, `open_world`.
    #[schema(value_type = Object)]
    annotations: Annotations,
    /// The JSON Schema of its structured result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object, required = false)]
    output_schema: Option<Value>,
    /// The rule by which a person is asked about each call.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    held: Option<String>,
    /// The rule by which each call is denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    denied: Option<String>,
}

impl ShownTool {
    fn new(tool: &RegisteredTool, tools: &ToolManager) -> Self {
        let spec = tool.spec();
        let (held, denied) = match tools.policy().map(|policy| policy.standing(tool)) {
            Some(Verdict::AskFirst(ask)) => (Some(ask.rule), None),
            Some(Verdict::Deny(rule)) => (None, Some(rule)),
            Some(Verdict::Allow) | None => (None, None),
        };
        Self {
            name: tool.name().to_string(),
            description: spec.description.clone(),
            parameters: spec.parameters.clone(),
            server: spec.server().map(ToString::to_string),
            annotations: spec.annotations,
            output_schema: spec.output_schema.clone(),
            held,
            denied,
        }
    }
}

/// Which tools are asked for.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ToolsQuery {
    /// 1 also lists the tools that the policy denies, for who administers.
    #[param(minimum = 0, maximum = 1, required = false)]
    denied: u8,
}

/// A tool, how it is and how it was used.
#[derive(Serialize, ToSchema)]
pub(crate) struct ToolDetail {
    #[serde(flatten)]
    tool: ShownTool,
    /// How its server is: `ready`, `connecting`, `idle`, `failed`, `stopped` or `skipped`.
    health: &'static str,
    #[serde(rename = "use")]
    usage: ToolUsage,
}

/// Whether a server that connects is waited for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ToolWaitQuery {
    /// `1` waits for the tool's server if it is still connecting.
    #[param(minimum = 0, maximum = 1, nullable = false)]
    wait: Option<u8>,
}

/// The tools that the caller may see, in order.
#[utoipa::path(
    get, path = "/api/tools", operation_id = "list_tools", tag = "tools",
    params(ToolsQuery),
    responses(
        (status = 200, description = "The tools", body = Vec<ShownTool>),
        (status = 400, description = "The query is wrong", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn list(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    asked: Result<Query<ToolsQuery>, QueryRejection>,
) -> Result<Json<Vec<ShownTool>>, ApiError> {
    let Query(asked) = asked.map_err(|problem| ApiError::BadRequest(problem.body_text()))?;
    if asked.denied > 1 {
        return Err(ApiError::BadRequest("denied may be 0 or 1".to_owned()));
    }
    let tools = parts.executor.tools();
    let visible = match asked.denied == 1 && caller.may_administer() {
        true => tools.all_for(caller.visibility()),
        false => tools.listed_for(caller.visibility()),
    };
    Ok(Json(visible.iter().map(|tool| ShownTool::new(tool, tools)).collect()))
}

/// One of the tools.
#[utoipa::path(
    get, path = "/api/tools/{name}", operation_id = "show_tool", tag = "tools",
    params(("name" = String, Path, description = "`tool` or `server__tool`"), ToolWaitQuery),
    responses(
        (status = 200, description = "The tool, how it is and how it was used", body = ToolDetail),
        (status = 400, description = "The name is not valid UTF-8, or `wait` is neither 0 nor 1", body = FailedResponse),
        (status = 404, description = "There is no such tool", body = FailedResponse),
        (status = 503, description = "The records cannot be read", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn show(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    name: Result<Path<String>, PathRejection>,
    patience: Result<Query<ToolWaitQuery>, QueryRejection>,
) -> Result<Json<ToolDetail>, ApiError> {
    let Query(patience) = patience.map_err(|wrong| ApiError::BadRequest(wrong.body_text()))?;
    // The time it takes would reveal servers whose tools are hidden.
    if is_one("wait", patience.wait.unwrap_or(0))?
        && !caller.visibility().hides_tools()
        && let Ok(Path(name)) = &name
    {
        _ = parts.executor.tools().find(name).await;
    }
    let tool = find(&parts, &caller, name)?;
    let server = tool.spec().server();
    let servers = parts.servers.as_ref().filter(|_| server.is_some());
    let server = server.and_then(|name| servers?.get(name));
    let health = server.map_or("ready", |server| server.state().name());
    let usage = usage::of(&parts, &caller, &tool).await?;
    Ok(Json(ToolDetail { tool: ShownTool::new(&tool, parts.executor.tools()), health, usage }))
}

/// Returns the tool with this name, if it exists for the caller.
fn find(
    parts: &Parts,
    caller: &Caller,
    name: Result<Path<String>, PathRejection>,
) -> Result<Arc<RegisteredTool>, ApiError> {
    let Path(name) = name.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    let tools = parts.executor.tools();
    let tool = tools.get_for(&name, caller.visibility()).filter(|tool| !tools.is_denied(tool));
    tool.ok_or_else(|| ApiError::NotFound(format!("Tool '{name}' not found")))
}
