//! What was called.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Query, State},
};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use switchboard_runtime::RecordedCall;
use switchboard_toolcall::ErrorKind;

use crate::{Caller, feed::timestamp, gateway::Parts, refusal::Refusal};

/// How many calls are shown unless the caller asks for another number.
const DEFAULT: usize = 100;
/// How many calls are shown at most.
const MOST: usize = 10_000;

/// What may follow the question mark.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Filter {
    limit: Option<usize>,
}

/// `GET /api/calls`: the latest calls of tools that the caller may see, newest first.
pub(crate) async fn list(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    Query(filter): Query<Filter>,
) -> Result<Json<Vec<Value>>, Refusal> {
    let most = filter.limit.unwrap_or(DEFAULT).min(MOST);
    let calls = parts.executor.recorder().recent(most).await;
    let calls = calls.map_err(|error| Refusal::Unavailable(error.to_string()))?;
    let visible = calls.iter().filter(|call| caller.may_see(&call.start.tool));
    Ok(Json(visible.map(shown).collect()))
}

fn shown(call: &RecordedCall) -> Value {
    let start = &call.start;
    let outcome = match call.end {
        None => "running",
        Some((kind, _)) => kind.map_or("ok", ErrorKind::code),
    };
    let arguments = RawValue::from_string(start.arguments.clone());
    json!({
        "id": start.id,
        "tool": &*start.tool,
        "server": call.server.as_deref(),
        "arguments": arguments.ok(),
        "outcome": outcome,
        "error_kind": call.end.and_then(|(kind, _)| kind),
        "duration_ms": call.end.map(|(_, duration)| duration.as_nanos() as f64 / 1e6),
        "started": timestamp(start.started),
        "caller": start.caller.as_deref(),
    })
}
