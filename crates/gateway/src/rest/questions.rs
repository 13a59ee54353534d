//! Questions of servers in the middle of the caller's own calls, and the answers to them.

use axum::{
    Extension,
    body::Bytes,
    extract::{
        Path,
        rejection::{BytesRejection, PathRejection},
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use switchboard_access::Caller;
use switchboard_mcp_wire::elicitation::ElicitResult;
use utoipa::ToSchema;

use crate::{
    error::ApiError,
    json_body::Json,
    questions::{Question, Questions},
    rest::openapi::responses::{FailedResponse, RejectedResponse},
};

/// The questions that wait for an answer.
#[derive(Serialize, ToSchema)]
pub(crate) struct OpenQuestions {
    questions: Vec<Question>,
}

/// The answer to a question.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuestionAnswer {
    action: Action,
    /// The values that an elicitation asks for, or what the caller's own model said; only with `accept`.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    content: Option<Map<String, Value>>,
    /// Why there is no answer; only with `fail`.
    #[serde(default)]
    #[schema(nullable = false)]
    error: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    /// Answers; for sampling: allows that the model is asked.
    Accept,
    /// Says no.
    Decline,
    /// Says nothing.
    Cancel,
    /// Cannot answer: the call goes on with `error` in place of an answer.
    Fail,
}

/// A question that was answered.
#[derive(Serialize, ToSchema)]
pub(crate) struct AnsweredQuestion {
    id: String,
    action: Action,
}

/// The questions that MCP servers ask in the middle of the caller's own calls, oldest first; of nobody else's. Only calls
/// with the header `X-Switchboard-Answers` are asked anything.
#[utoipa::path(
    get, path = "/api/questions", operation_id = "list_questions", tag = "tools",
    responses(
        (status = 200, description = "The questions that wait for an answer", body = OpenQuestions),
        RejectedResponse,
    )
)]
pub(crate) async fn list(
    Extension(questions): Extension<Questions>,
    Extension(caller): Extension<Caller>,
) -> Json<OpenQuestions> {
    Json(OpenQuestions { questions: questions.of(&caller) })
}

/// Answers a question, once and for all.
#[utoipa::path(
    post, path = "/api/questions/{id}", operation_id = "answer_question", tag = "tools",
    params(("id" = String, Path, description = "The id of the question")),
    request_body = QuestionAnswer,
    responses(
        (status = 200, description = "The answer was passed on", body = AnsweredQuestion),
        (status = 400, description = "The body is wrong, or does not fit what was asked", body = FailedResponse),
        (status = 404, description = "There is no such question, or no longer", body = FailedResponse),
        (status = 413, description = "The body is too large", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn answer(
    Extension(questions): Extension<Questions>,
    Extension(caller): Extension<Caller>,
    id: Result<Path<String>, PathRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<AnsweredQuestion>, ApiError> {
    let Path(id) = id.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    let QuestionAnswer { action, content, error } = read(&body?)?;
    let reply = match action {
        Action::Accept => Ok(ElicitResult::Accept(content)),
        Action::Decline => Ok(ElicitResult::Decline),
        Action::Cancel => Ok(ElicitResult::Cancel),
        Action::Fail => Err(error.unwrap_or_else(|| "the caller cannot answer".to_owned())),
    };
    questions.answer(&id, &caller, reply)?;
    Ok(Json(AnsweredQuestion { id, action }))
}

fn read(body: &[u8]) -> Result<QuestionAnswer, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        let example = r#"{"action":"accept","content":{…}} or {"action":"decline"}"#;
        ApiError::BadRequest(format!("the body must be like {example}: {error}"))
    })
}
