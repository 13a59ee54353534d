//! Calls a tool: the body is the arguments, the answer the envelope, the status says what came of it.

mod progress;

use std::sync::Arc;

use axum::{
    Extension, Json,
    body::Bytes,
    extract::{
        Path, Query, State,
        rejection::{BytesRejection, PathRejection, QueryRejection},
    },
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderValue, header};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use switchboard_access::Caller;
use switchboard_toolcall::{CallContext, HumanDuration, Reused, ToolCall, ToolResult};
use utoipa::IntoParams;

use crate::{
    error::{ApiError, status},
    gateway::Parts,
    questions::{Answers, Asker, Questions},
    rest::{openapi::responses::Endings, queued},
    sse::{answer, named},
};
use progress::{Running, watched};

/// Whether the answer is waited for, and what it says beside the envelope.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Waiting {
    /// `0` lays the call into the queue and answers 202 with its id, for tools of workers that may run twice, or with an
    /// `Idempotency-Key`.
    #[param(minimum = 0, maximum = 1, nullable = false)]
    wait: Option<u8>,
    /// `1` adds `text` to the envelope of an MCP result: what models and people read of it. Any other result is read as it is.
    #[param(minimum = 0, maximum = 1, nullable = false)]
    text: Option<u8>,
}

/// Calls a tool with the arguments of the body. A client that closes its connection cancels the call, unless it is queued.
///
/// With `Accept: text/event-stream` the answer is events: `progress`, any number of them, and `result`, the envelope.
#[utoipa::path(
    post, path = "/api/tools/{name}/call", operation_id = "call_tool", tag = "tools",
    params(
        ("name" = String, Path, description = "`tool` or `server__tool`"),
        Waiting,
        ("Idempotency-Key" = inline(Option<String>), Header,
            description = "The caller's word for this very act: asked again, it is not done again",
            min_length = 1, max_length = 255, pattern = "^[!-~]+$", nullable = false),
        ("X-Timeout" = inline(Option<String>), Header,
            description = "The most time that the call may take, such as `500ms`, `30s` or `5m`",
            pattern = "^[1-9][0-9]{0,4}(ms|s|m|h)$", nullable = false),
        ("X-Conversation" = inline(Option<String>), Header,
            description = "The conversation that the call is part of, for the records",
            min_length = 1, max_length = 255, pattern = "^[!-~]+$", nullable = false),
        ("X-Switchboard-Answers" = inline(Option<String>), Header,
            description = "What the caller answers through `/api/questions` if the tool's server asks in the middle of the \
                call: `elicitation`, `sampling` or both, with a comma. Without it the server is refused",
            pattern = "^(elicitation|sampling)(, ?(elicitation|sampling))?$", nullable = false),
    ),
    request_body(content = Object, description = "The arguments"),
    responses(Endings)
)]
pub(crate) async fn call(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    Extension(questions): Extension<Questions>,
    name: Result<Path<String>, PathRejection>,
    waiting: Result<Query<Waiting>, QueryRejection>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let Path(name) = name.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    let Query(asked) = waiting.map_err(|wrong| ApiError::BadRequest(wrong.body_text()))?;
    let waits = is_one("wait", asked.wait.unwrap_or(1))?;
    let with_text = is_one("text", asked.text.unwrap_or(0))?;
    let mut cx = context(&caller, &headers)?;
    let answers = Answers::read(&headers).map_err(ApiError::BadRequest)?;
    cx.way_back = Asker::way_back(&caller, answers, &questions, &parts, None);
    let args = arguments(&body?)?;
    let call = ToolCall::new(name, args);
    if !waits && caller.may_see(&call.name, parts.executor.tools()) {
        return Ok(queued::submit(&parts, call, &cx).await);
    }
    if wants_events(&headers) {
        let (progress, reports) = watched();
        cx.progress = progress;
        let begun = named("started", &json!({"tool": call.name}));
        let run = async move {
            let result = parts.executor.execute(call, &cx).await;
            named("result", &CallResponse::new(&result, with_text))
        };
        let run = Running { reports, run: Some(Box::pin(run)), result: None };
        return Ok(answer(stream::iter([begun]).chain(run.events())));
    }
    let result = parts.executor.execute(call, &cx).await;
    let mut response =
        (status(result.error_kind()), Json(CallResponse::new(&result, with_text))).into_response();
    if result.reused == Some(Reused::Replayed) {
        response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
    }
    Ok(response)
}

pub(super) fn is_one(name: &str, value: u8) -> Result<bool, ApiError> {
    match value {
        0 | 1 => Ok(value == 1),
        other => Err(ApiError::BadRequest(format!("{name} is {other}; it may be 0 or 1"))),
    }
}

/// The envelope, and `text` beside it if it was asked for and is not the envelope's `result` already.
#[derive(Serialize)]
#[serde(untagged)]
enum CallResponse<'a> {
    Envelope(&'a ToolResult),
    WithText(Map<String, Value>),
}

impl<'a> CallResponse<'a> {
    fn new(result: &'a ToolResult, with_text: bool) -> Self {
        let text = with_text.then(|| result.text_beside_result()).flatten();
        let Some(text) = text else { return Self::Envelope(result) };
        match serde_json::to_value(result) {
            Ok(Value::Object(mut envelope)) => {
                envelope.insert("text".to_owned(), Value::String(text));
                Self::WithText(envelope)
            }
            _ => Self::Envelope(result),
        }
    }
}

fn context(caller: &Caller, headers: &HeaderMap) -> Result<CallContext, ApiError> {
    let mut cx = caller.context();
    if is_console(headers) {
        cx = cx.with_client("console");
    }
    cx.trace = crate::trace::of(headers);
    if let Some(key) = text(headers, "idempotency-key")? {
        cx.idempotency_key = Some(key.into());
    }
    if let Some(timeout) = text(headers, "x-timeout")? {
        let HumanDuration(timeout) = timeout
            .parse()
            .map_err(|error| ApiError::BadRequest(format!("the header X-Timeout: {error}")))?;
        cx.timeout = Some(timeout);
    }
    if let Some(conversation) = text(headers, "x-conversation")? {
        cx.conversation = Some(conversation.into());
    }
    Ok(cx)
}

/// Whether our own page made the request, as it says with each one that changes something.
fn is_console(headers: &HeaderMap) -> bool {
    headers.get("x-switchboard").is_some_and(|value| value == "console")
}

/// Whether the client asks for events and for nothing else.
fn wants_events(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let is_events = |kind: &str| kind.trim().starts_with("text/event-stream");
    accept.is_some_and(|accept| accept.split(',').all(is_events))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, ApiError> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    match value.to_str().map(str::trim) {
        Ok(text) if !text.is_empty() && text.len() <= 255 => Ok(Some(text)),
        _ => Err(ApiError::BadRequest(format!(
            "the header {name} must be plain text of 1 to 255 characters"
        ))),
    }
}

pub(super) fn arguments(body: &[u8]) -> Result<Map<String, Value>, ApiError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(args)) => Ok(args),
        Ok(_) => Err(ApiError::BadRequest(
            "the body must be a JSON object: the tool's arguments".to_owned(),
        )),
        Err(error) => Err(ApiError::BadRequest(format!("the body is not JSON: {error}"))),
    }
}
