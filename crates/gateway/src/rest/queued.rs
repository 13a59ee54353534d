//! Durable calls: queues them, shows them, cancels them (`crates/workers` has the queue).

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State, rejection::PathRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use switchboard_access::Caller;
use switchboard_runtime::{CallNames, QueueState, QueuedCall, durable};
use switchboard_toolcall::{CallContext, CallId, ErrorKind, ProgressUpdate, ToolCall, ToolResult};
use utoipa::ToSchema;

use crate::{
    error::{ApiError, call_response},
    feed::timestamp,
    gateway::Parts,
    json_body::Json,
    rest::openapi::responses::{FailedResponse, RejectedResponse, kind_or_none, outcomes, states},
};

/// A call that is in the queue now.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueuedReceipt {
    /// Where to ask after it: `GET /api/calls/{call_id}`.
    call_id: String,
    #[schema(schema_with = states)]
    state: &'static str,
    tool_name: String,
}

/// A queued call, or its outcome.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShownQueuedCall {
    id: String,
    tool: String,
    /// The token that it was called with.
    caller: Option<String>,
    #[schema(schema_with = states)]
    state: &'static str,
    /// How often it was begun.
    attempts: u32,
    /// `ok`, `running` or the kind of failure.
    #[schema(schema_with = outcomes)]
    outcome: &'static str,
    #[schema(schema_with = kind_or_none)]
    error_kind: Option<&'static str>,
    /// When it was queued.
    started: String,
    /// When something of this changed last.
    changed: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    progress: Option<QueuedProgress>,
    /// The envelope, once the call has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object, required = false, nullable = false)]
    result: Option<ToolResult>,
}

/// How far a call is.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueuedProgress {
    progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    message: Option<String>,
}

impl From<QueuedCall> for ShownQueuedCall {
    fn from(call: QueuedCall) -> Self {
        let result = call.result.as_ref();
        let step = |ProgressUpdate { progress, total, message }| QueuedProgress {
            progress,
            total,
            message,
        };
        Self {
            id: call.id.to_string(),
            tool: call.tool.to_string(),
            caller: call.caller.as_deref().map(str::to_owned),
            state: call.state.code(),
            attempts: call.attempts,
            outcome: result.map_or("running", ToolResult::outcome_code),
            error_kind: result.and_then(ToolResult::error_kind).map(ErrorKind::code),
            started: timestamp(call.queued),
            changed: timestamp(call.changed),
            progress: call.progress.map(step),
            result: call.result,
        }
    }
}

/// Queues a call and responds with 202 and its id, or with the envelope if the call was not queued.
pub(super) async fn submit(parts: &Parts, call: ToolCall, cx: &CallContext) -> Response {
    let name = call.name.clone();
    let Some(queue) = &parts.queue else {
        let result = refuse(parts, call, cx).await;
        return call_response(result.error_kind(), &result);
    };
    // Ids increase: a call with a smaller id was queued before.
    let before = CallId::generate();
    match parts.executor.submit(call, cx).await {
        Ok(id) => {
            let state = match id < before {
                // The idempotency key was used for an earlier call, which may have ended.
                true => queue.look(id).await.ok().flatten().map(|call| call.state),
                false => None,
            };
            accepted(id, state.unwrap_or(QueueState::Queued), name)
        }
        Err(result) => call_response(result.error_kind(), &*result),
    }
}

fn accepted(id: CallId, state: QueueState, name: String) -> Response {
    let body = QueuedReceipt { call_id: id.to_string(), state: state.code(), tool_name: name };
    let mut response = (StatusCode::ACCEPTED, Json(body)).into_response();
    if let Ok(place) = HeaderValue::from_str(&format!("/api/calls/{id}")) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response
}

/// Returns why a call cannot be queued if there is no queue.
async fn refuse(parts: &Parts, call: ToolCall, cx: &CallContext) -> ToolResult {
    // The executor reports an unknown or hidden tool as it does for other calls.
    match parts.executor.tools().get_for(&call.name, &cx.visibility) {
        None => parts.executor.execute(call, cx).await,
        Some(tool) => {
            let error = durable::no_queue(tool.name());
            parts.executor.refuse(call, error, cx).await
        }
    }
}

/// Returns the queued call with this id, if it exists and the caller may know of it.
///
/// # Errors
/// Fails if the queue cannot be reached.
pub(super) async fn find(
    parts: &Parts,
    caller: &Caller,
    id: CallId,
) -> Result<QueuedLookup, ApiError> {
    let Some(queue) = &parts.queue else { return Ok(QueuedLookup::Unknown) };
    let away = |error: switchboard_toolcall::BoxError| {
        ApiError::Unavailable(format!("the queue cannot be asked: {error}"))
    };
    let Some(call) = queue.look(id).await.map_err(away)? else { return Ok(QueuedLookup::Unknown) };
    Ok(match visible_to(parts, caller, call) {
        Some(call) => QueuedLookup::Own(Box::new(call)),
        None => QueuedLookup::Foreign,
    })
}

/// Returns the call with the name that the caller has for its tool. `None` if the caller may not know of it.
fn visible_to(parts: &Parts, caller: &Caller, mut call: QueuedCall) -> Option<QueuedCall> {
    let asked_by = call.caller.as_deref();
    let names = CallNames { tool: &call.tool, caller: asked_by, ..CallNames::default() };
    let name: Arc<str> = caller.shown_call(&names, parts.executor.tools())?.into();
    if let Some(result) = call.result.as_mut().filter(|_| name != call.tool) {
        result.tool_name = name.clone();
    }
    call.tool = name;
    Some(call)
}

/// The outcome of looking up an id.
pub(super) enum QueuedLookup {
    /// A call that the caller may know of.
    Own(Box<QueuedCall>),
    /// A call of another caller.
    Foreign,
    /// No queued call.
    Unknown,
}

/// Cancels a queued call: at once if it has not started, else as soon as its worker is notified.
#[utoipa::path(
    delete, path = "/api/calls/{id}", operation_id = "cancel_call", tag = "tools",
    params(("id" = String, Path, description = "The id of the queued call")),
    responses(
        (status = 200, description = "The call as it is now: `cancelled`, or still about to be", body = ShownQueuedCall),
        (status = 400, description = "The id is not valid UTF-8", body = FailedResponse),
        (status = 404, description = "There is no such call in the queue", body = FailedResponse),
        (status = 409, description = "The call has ended", body = FailedResponse),
        (status = 503, description = "The queue cannot be asked", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn cancel(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<ShownQueuedCall>, ApiError> {
    let Path(id) = id.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    let unknown = || ApiError::NotFound(format!("Call '{id}' not found in the queue"));
    let call = CallId::parse(&id).ok_or_else(unknown)?;
    let (QueuedLookup::Own(found), Some(queue)) =
        (find(&parts, &caller, call).await?, &parts.queue)
    else {
        return Err(unknown());
    };
    if found.caller != caller.name && !caller.may_administer() {
        let text = "this call is another caller's: only who also administers may give it up";
        return Err(ApiError::Forbidden(text.to_owned()));
    }
    let away = |error| ApiError::Unavailable(format!("the queue cannot be asked: {error}"));
    if !queue.cancel(call).await.map_err(away)? {
        let text = format!("Call '{id}' of '{}' has ended already", found.tool);
        return Err(ApiError::Conflict(text));
    }
    let now = queue.look(call).await.map_err(away)?.ok_or_else(unknown)?;
    let now = visible_to(&parts, &caller, now).ok_or_else(unknown)?;
    Ok(Json(now.into()))
}
