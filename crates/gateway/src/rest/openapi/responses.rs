//! Responses that several routes share: the envelope, rejections, kinds of failures.

use serde_json::{Value, json};
use switchboard_runtime::QueueState;
use switchboard_toolcall::ErrorKind;
use utoipa::{
    IntoResponses, ToSchema,
    openapi::{
        Object,
        schema::{ObjectBuilder, Type},
    },
};

/// A call that succeeded.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes what the toolcall crate writes")]
pub(crate) struct Success {
    /// Always true.
    #[schema(schema_with = yes)]
    success: bool,
    /// The tool's output.
    result: Value,
    /// With `text=1`, what models and people read of an MCP result.
    #[schema(required = false)]
    text: String,
    tool_name: String,
    execution_time_ms: f64,
    /// How long a person took to decide about the call; not part of `execution_time_ms`.
    #[schema(required = false)]
    waited_ms: f64,
    call_id: String,
    /// Whether the result was cut; the whole is then the first artifact.
    #[schema(required = false)]
    truncated: bool,
    #[schema(required = false)]
    artifacts: Vec<ShownArtifact>,
    /// The answer of an earlier call with the same idempotency key.
    #[schema(required = false)]
    replayed: bool,
    /// An answer that was kept.
    #[schema(required = false)]
    cached: bool,
    /// The result of an identical call that was in flight.
    #[schema(required = false)]
    shared: bool,
    /// The MCP server that ran it.
    #[schema(required = false)]
    server: String,
}

/// What is stored besides a result; the tool `read_result` reads it.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes what the toolcall crate writes")]
pub(crate) struct ShownArtifact {
    id: String,
    /// `text`, `image`, `audio` or `blob`.
    kind: String,
    media_type: String,
    size: u64,
}

/// A request or a call that failed. What was called says more: `tool_name`, `execution_time_ms`, `call_id`.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes what the toolcall crate and refusals write")]
pub(crate) struct FailedResponse {
    /// Always false.
    #[schema(schema_with = no)]
    success: bool,
    /// What went wrong, and the way out.
    error: String,
    #[schema(schema_with = kinds)]
    error_kind: String,
    #[schema(required = false)]
    tool_name: String,
    #[schema(required = false)]
    execution_time_ms: f64,
    #[schema(required = false)]
    waited_ms: f64,
    #[schema(required = false)]
    call_id: String,
    /// What may help.
    #[schema(required = false)]
    hint: String,
    #[schema(required = false)]
    server: String,
}

fn yes() -> Object {
    ObjectBuilder::new().schema_type(Type::Boolean).enum_values(Some([true])).build()
}

fn no() -> Object {
    ObjectBuilder::new().schema_type(Type::Boolean).enum_values(Some([false])).build()
}

/// Returns the schema of the kinds of failures, and the one that only a request can have.
fn kinds() -> Object {
    let kinds = ErrorKind::ALL.iter().map(|kind| kind.code()).chain(["unauthorized"]);
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(kinds)).build()
}

/// Returns the schema of a recorded call's outcome, including `running`.
pub(crate) fn outcomes() -> Object {
    let kinds = ErrorKind::ALL.iter().map(|kind| kind.code());
    let outcomes = ["ok", "running"].into_iter().chain(kinds);
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(outcomes)).build()
}

/// Returns the schema of a queued call's state.
pub(crate) fn states() -> Object {
    let states = [
        QueueState::Queued,
        QueueState::Running,
        QueueState::Done,
        QueueState::Dead,
        QueueState::Cancelled,
    ];
    let codes = states.map(QueueState::code);
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(codes)).build()
}

/// Returns the schema of the kind of failure, which may be null.
pub(crate) fn kind_or_none() -> Object {
    let kinds = ErrorKind::ALL.iter().map(|kind| json!(kind.code())).chain([Value::Null]);
    ObjectBuilder::new()
        .schema_type(utoipa::openapi::schema::SchemaType::from_iter([Type::String, Type::Null]))
        .enum_values(Some(kinds))
        .build()
}

/// Why a request is not let in.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes refusals")]
pub(crate) enum RejectedResponse {
    /// There is no token, or it is unknown
    #[response(status = 401)]
    Unauthorized(FailedResponse),
    /// A page or a host that is not ours, or a token without the right
    #[response(status = 403)]
    Forbidden(FailedResponse),
    /// The token's share is used up; `Retry-After` says until when
    #[response(status = 429)]
    TooMany(FailedResponse),
}

/// Every ending of a call (SPEC §13).
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes endings")]
pub(crate) enum Endings {
    /// The tool answered
    #[response(status = 200)]
    Answered(Success),
    /// `wait=0`: the call is in the queue; `Location` says where to ask after it
    #[response(status = 202)]
    Queued(crate::rest::queued::QueuedReceipt),
    /// The request is wrong: a header, the query, or a body that is not a JSON object
    #[response(status = 400)]
    Wrong(FailedResponse),
    /// There is no token, or it is unknown
    #[response(status = 401)]
    Unauthorized(FailedResponse),
    /// The policy or a person denied the call, or it comes from a page or a host that is not ours
    #[response(status = 403)]
    Denied(FailedResponse),
    /// There is no such tool or server
    #[response(status = 404)]
    NotFound(FailedResponse),
    /// The request is too large
    #[response(status = 413)]
    TooLarge(FailedResponse),
    /// The arguments do not match the tool's schema, or the call cannot be queued
    #[response(status = 422)]
    Invalid(FailedResponse),
    /// The token's share is used up; `Retry-After` says until when
    #[response(status = 429)]
    TooMany(FailedResponse),
    /// The call was cancelled
    #[response(status = 499)]
    Cancelled(FailedResponse),
    /// An internal error, or the outcome of the call is unknown
    #[response(status = 500)]
    Internal(FailedResponse),
    /// The tool failed
    #[response(status = 502)]
    ToolFailed(FailedResponse),
    /// The tool cannot be reached, or too many calls wait: then `Retry-After` says until when
    #[response(status = 503)]
    Unavailable(FailedResponse),
    /// The call took too long; side effects may have happened
    #[response(status = 504)]
    TimedOut(FailedResponse),
}
