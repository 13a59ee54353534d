//! What a call would be told of its arguments, without a call.

use std::sync::Arc;

use axum::{
    Extension, Json,
    body::Bytes,
    extract::{
        Path, State,
        rejection::{BytesRejection, PathRejection},
    },
};
use serde::Serialize;
use switchboard_access::Caller;
use switchboard_runtime::validate::{Invalid, Problem};
use utoipa::ToSchema;

use super::find;
use crate::{
    error::ApiError,
    gateway::Parts,
    rest::{
        call::arguments,
        openapi::responses::{Failed, Refused},
    },
};

/// What is to be said of arguments.
#[derive(Serialize, ToSchema)]
pub(crate) struct Judged {
    /// Whether a call with them would be run.
    valid: bool,
    problems: Vec<Found>,
    /// What a call with them is told, word for word.
    text: Option<String>,
}

/// One thing that is wrong.
#[derive(Serialize, ToSchema)]
struct Found {
    /// Where, as a JSON pointer; what is missing has the place where it should be.
    path: String,
    message: String,
}

/// Whether the arguments of the body fit the tool, in the words of a call that fails because they do not. Runs nothing.
#[utoipa::path(
    post, path = "/api/tools/{name}/validate", operation_id = "validate_arguments", tag = "tools",
    params(("name" = String, Path, description = "`tool` or `server__tool`")),
    request_body(content = Object, description = "The arguments"),
    responses(
        (status = 200, description = "What is to be said of them", body = Judged),
        (status = 400, description = "The body is no JSON object", body = Failed),
        (status = 404, description = "There is no such tool", body = Failed),
        (status = 413, description = "The request is too large", body = Failed),
        Refused,
    )
)]
pub(crate) async fn validate(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    name: Result<Path<String>, PathRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Judged>, ApiError> {
    let tool = find(&parts, &caller, name)?;
    let limit = tool.spec().settings.timeout.unwrap_or(parts.executor.config().timeout.0);
    let judged = tool.validate(arguments(&body?)?, limit).await;
    let judged = match judged.map_err(|error| ApiError::Unavailable(error.for_model))? {
        None => Judged { valid: true, problems: Vec::new(), text: None },
        Some(Invalid { problems, error }) => Judged {
            valid: false,
            problems: problems.into_iter().map(Found::from).collect(),
            text: Some(error.text()),
        },
    };
    Ok(Json(judged))
}

impl From<Problem> for Found {
    fn from(Problem { path, message }: Problem) -> Self {
        Self { path, message }
    }
}
