//! Calls a tool: the body has the arguments, the response the envelope and a status for its outcome.

mod progress;

use std::sync::Arc;

use axum::{
    Extension,
    body::Bytes,
    extract::{
        Path, Query, State,
        rejection::{BytesRejection, PathRejection, QueryRejection},
    },
    response::Response,
};
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use switchboard_access::Caller;
use switchboard_toolcall::{
    CallContext, HumanDuration, ReuseReason, ToolCall, ToolOutput, ToolResult,
};
use utoipa::IntoParams;

use crate::{
    error::{ApiError, call_response},
    gateway::Parts,
    questions::{Answers, Asker},
    rest::{
        openapi::responses::{Endings, FailedResponse, RejectedResponse},
        queued,
    },
    running_calls::{InteractiveCalls, RunningCalls},
    sse::{answer, named},
};
use progress::{StreamedCall, watched};

/// Whether to wait for the result, and what to return besides the envelope.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct CallQuery {
    /// `0` lays the call into the queue and answers 202 with its id, for tools of workers that may run twice, or with an
    /// `Idempotency-Key`.
    #[param(minimum = 0, maximum = 1, nullable = false)]
    wait: Option<u8>,
    /// `1` adds `text` to the envelope of an MCP result: what models and people read of it. Any other result is read as it is.
    #[param(minimum = 0, maximum = 1, nullable = false)]
    text: Option<u8>,
    /// `1` adds `content` to the envelope of an MCP result: that result itself, its images and other binaries included.
    #[param(minimum = 0, maximum = 1, nullable = false)]
    content: Option<u8>,
    /// `1` cuts no text; only for who administers.
    #[param(minimum = 0, maximum = 1, nullable = false)]
    whole: Option<u8>,
}

/// Calls a tool with the arguments of the body. A client that closes its connection cancels the call, unless it is queued.
///
/// With `Accept: text/event-stream` the answer is events: `started`, with the `id` by which `DELETE /api/calls/running/{id}`
/// cancels the call; `progress` and `question`, any number of them; and `result`, the envelope.
#[utoipa::path(
    post, path = "/api/tools/{name}/call", operation_id = "call_tool", tag = "tools",
    params(
        ("name" = String, Path, description = "`tool` or `server__tool`"),
        CallQuery,
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
                call: `elicitation`, `sampling` (whether a model of the config may be asked), `own-model` (what a model of \
                the caller's own says), with commas. Without it the server is refused",
            pattern = "^(elicitation|sampling|own-model)(, ?(elicitation|sampling|own-model)){0,2}$", nullable = false),
    ),
    request_body(content = Object, description = "The arguments"),
    responses(Endings)
)]
pub(crate) async fn call(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    Extension(InteractiveCalls { questions, running }): Extension<InteractiveCalls>,
    name: Result<Path<String>, PathRejection>,
    waiting: Result<Query<CallQuery>, QueryRejection>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let Path(name) = name.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    let Query(asked) = waiting.map_err(|wrong| ApiError::BadRequest(wrong.body_text()))?;
    let waits = is_one("wait", asked.wait.unwrap_or(1))?;
    let extras = asked.extras()?;
    let mut cx = context(&caller, &headers)?;
    cx.whole = asked.whole(&caller)?;
    let answers = Answers::read(&headers).map_err(ApiError::BadRequest)?;
    let channel = |events| Asker::channel_to(&caller, answers, &questions, &parts, None, events);
    let args = arguments(&body?)?;
    let call = ToolCall::new(name, args);
    if !waits && caller.may_see(&call.name, parts.executor.tools()) {
        return Ok(queued::submit(&parts, call, &cx).await);
    }
    if wants_events(&headers) {
        let (progress, events, reports) = watched();
        cx.progress = progress;
        cx.caller_channel = channel(Some(events));
        let running = running.add(&caller, cx.cancel.clone())?;
        let begun = named("started", &json!({"tool": call.name, "id": running.id()}));
        let run = async move {
            let result = parts.executor.execute(call, &cx).await;
            drop(running);
            named("result", &CallResponse::new(&result, extras))
        };
        let run = StreamedCall { reports, run: Some(Box::pin(run)), result: None };
        return Ok(answer(stream::iter([begun]).chain(run.events())));
    }
    cx.caller_channel = channel(None);
    let result = parts.executor.execute(call, &cx).await;
    let mut response = call_response(result.error_kind(), CallResponse::new(&result, extras));
    if result.reused == Some(ReuseReason::Replayed) {
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

impl CallQuery {
    /// Returns what was requested in addition to the envelope.
    fn extras(&self) -> Result<Extras, ApiError> {
        let text = is_one("text", self.text.unwrap_or(0))?;
        let content = is_one("content", self.content.unwrap_or(0))?;
        Ok(Extras { text, content })
    }

    /// Whether no text is to be cut, which only administrators may request: limits protect this process too.
    fn whole(&self, caller: &Caller) -> Result<bool, ApiError> {
        match is_one("whole", self.whole.unwrap_or(0))? {
            true if !caller.may_administer() => {
                let text = "whole=1 is for who administers; \
                            `switchboard token new --admin` makes a token that does";
                Err(ApiError::Forbidden(text.to_owned()))
            }
            whole => Ok(whole),
        }
    }
}

/// What a response has in addition to the envelope.
#[derive(Clone, Copy)]
struct Extras {
    text: bool,
    content: bool,
}

/// The envelope, and what was requested in addition: `text`, unless it is the envelope's `result` already, and `content`.
#[derive(Serialize)]
#[serde(untagged)]
enum CallResponse<'a> {
    Envelope(&'a ToolResult),
    WithExtras(Map<String, Value>),
}

impl<'a> CallResponse<'a> {
    fn new(result: &'a ToolResult, extras: Extras) -> Self {
        let text = extras.text.then(|| result.text_beside_result()).flatten().map(Value::String);
        let content = extras.content.then(|| content(result)).flatten();
        if text.is_none() && content.is_none() {
            return Self::Envelope(result);
        }
        match serde_json::to_value(result) {
            Ok(Value::Object(mut envelope)) => {
                envelope.extend(text.map(|text| ("text".to_owned(), text)));
                envelope.extend(content.map(|content| ("content".to_owned(), content)));
                Self::WithExtras(envelope)
            }
            _ => Self::Envelope(result),
        }
    }
}

/// Returns the MCP result, as MCP clients get it.
fn content(result: &ToolResult) -> Option<Value> {
    match &result.outcome.as_ref().ok()?.output {
        ToolOutput::Content(content) => serde_json::to_value(content).ok(),
        ToolOutput::Value(_) => None,
    }
}

/// Cancels a call of the caller's own that runs; its `result` still comes.
#[utoipa::path(
    delete, path = "/api/calls/running/{id}", operation_id = "cancel_running_call", tag = "tools",
    params(("id" = String, Path, description = "The `id` of its event `started`")),
    responses(
        (status = 204, description = "It is cancelled"),
        (status = 400, description = "The id is not valid UTF-8", body = FailedResponse),
        (status = 404, description = "No such call of the caller's runs", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn cancel(
    Extension(running): Extension<RunningCalls>,
    Extension(caller): Extension<Caller>,
    id: Result<Path<String>, PathRejection>,
) -> Result<StatusCode, ApiError> {
    let Path(id) = id.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    running.cancel(&id, &caller)?;
    Ok(StatusCode::NO_CONTENT)
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

/// Whether our own page made the request: it sends a header with each request that changes something.
fn is_console(headers: &HeaderMap) -> bool {
    headers.get("x-switchboard").is_some_and(|value| value == "console")
}

/// Whether the client accepts only events.
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
