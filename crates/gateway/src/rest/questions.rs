//! Questions of servers in the middle of the caller's own calls, and the answers to them.

use axum::{
    Extension, Json,
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
    questions::{Question, Questions},
    rest::openapi::responses::{Failed, Refused},
};

/// The questions that wait for an answer.
#[derive(Serialize, ToSchema)]
pub(crate) struct OpenQuestions {
    questions: Vec<Question>,
}

/// What is said to a question.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuestionAnswer {
    action: Action,
    /// The values that an elicitation asks for; only with `accept`.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    content: Option<Map<String, Value>>,
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
        Refused,
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
        (status = 400, description = "The body is wrong, or does not fit what was asked", body = Failed),
        (status = 404, description = "There is no such question, or no longer", body = Failed),
        (status = 413, description = "The body is too large", body = Failed),
        Refused,
    )
)]
pub(crate) async fn answer(
    Extension(questions): Extension<Questions>,
    Extension(caller): Extension<Caller>,
    id: Result<Path<String>, PathRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<AnsweredQuestion>, ApiError> {
    let Path(id) = id.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    let QuestionAnswer { action, content } = read(&body?)?;
    let answer = match action {
        Action::Accept => ElicitResult::Accept(content),
        Action::Decline => ElicitResult::Decline,
        Action::Cancel => ElicitResult::Cancel,
    };
    questions.answer(&id, &caller, answer)?;
    Ok(Json(AnsweredQuestion { id, action }))
}

fn read(body: &[u8]) -> Result<QuestionAnswer, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        let example = r#"{"action":"accept","content":{…}} or {"action":"decline"}"#;
        ApiError::BadRequest(format!("the body must be like {example}: {error}"))
    })
}
