//! What was called.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Query, State, rejection::QueryRejection},
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_runtime::RecordedCall;
use switchboard_toolcall::ErrorKind;
use utoipa::{IntoParams, ToSchema};

use crate::{
    Caller,
    feed::timestamp,
    gateway::Parts,
    refusal::Refusal,
    rest::openapi::words::{Failed, Refused, kind_or_none, outcomes},
};

/// How many calls are shown unless the caller asks for another number.
const DEFAULT: usize = 100;
/// How many calls are shown at most.
const MOST: usize = 10_000;

/// What may follow the question mark.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Filter {
    /// How many calls are shown; 100 where it is not said.
    #[param(minimum = 0, maximum = 10_000, nullable = false)]
    limit: Option<usize>,
}

/// A call as the records have it.
#[derive(Serialize, ToSchema)]
pub(crate) struct Call {
    id: String,
    tool: String,
    /// The MCP server that ran it.
    server: Option<String>,
    /// The arguments, secrets taken out.
    #[schema(value_type = Object)]
    arguments: Option<Box<RawValue>>,
    /// `ok`, `running` or the kind of failure.
    #[schema(schema_with = outcomes)]
    outcome: &'static str,
    #[schema(schema_with = kind_or_none)]
    error_kind: Option<&'static str>,
    duration_ms: Option<f64>,
    started: String,
    /// The token that it was called with.
    caller: Option<String>,
}

impl From<&RecordedCall> for Call {
    fn from(call: &RecordedCall) -> Self {
        let start = &call.start;
        let outcome = match call.end {
            None => "running",
            Some((kind, _)) => kind.map_or("ok", ErrorKind::code),
        };
        Self {
            id: start.id.to_string(),
            tool: start.tool.to_string(),
            server: call.server.as_ref().map(ToString::to_string),
            arguments: RawValue::from_string(start.arguments.clone()).ok(),
            outcome,
            error_kind: call.end.and_then(|(kind, _)| kind).map(ErrorKind::code),
            duration_ms: call.end.map(|(_, duration)| duration.as_nanos() as f64 / 1e6),
            started: timestamp(start.started),
            caller: start.caller.as_ref().map(ToString::to_string),
        }
    }
}

/// The latest calls of tools that the caller may see, newest first.
#[utoipa::path(
    get, path = "/api/calls", operation_id = "list_calls", tag = "watch",
    params(Filter),
    responses(
        (status = 200, description = "The calls", body = Vec<Call>),
        (status = 400, description = "The query is wrong", body = Failed),
        (status = 503, description = "The records cannot be read", body = Failed),
        Refused,
    )
)]
pub(crate) async fn list(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    filter: Result<Query<Filter>, QueryRejection>,
) -> Result<Json<Vec<Call>>, Refusal> {
    let Query(filter) = filter.map_err(|rejection| Refusal::BadRequest(rejection.body_text()))?;
    let most = filter.limit.unwrap_or(DEFAULT);
    if most > MOST {
        return Err(Refusal::BadRequest(format!("limit is {most}; it may be {MOST} at most")));
    }
    let calls = parts.executor.recorder().recent(most).await;
    let calls = calls.map_err(|error| Refusal::Unavailable(error.to_string()))?;
    let visible = calls.iter().filter(|call| caller.may_see(&call.start.tool));
    Ok(Json(visible.map(Call::from).collect()))
}
