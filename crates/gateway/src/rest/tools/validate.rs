//! Validates arguments without calling the tool.

use std::sync::Arc;

use axum::{
    Extension,
    body::Bytes,
    extract::{
        Path, State,
        rejection::{BytesRejection, PathRejection},
    },
};
use serde::Serialize;
use switchboard_access::Caller;
use switchboard_runtime::validate::{ArgumentProblem, InvalidArguments};
use utoipa::ToSchema;

use super::find;
use crate::{
    error::ApiError,
    gateway::Parts,
    json_body::Json,
    rest::{
        call::arguments,
        openapi::responses::{FailedResponse, RejectedResponse},
    },
};

/// The outcome of validating arguments.
#[derive(Serialize, ToSchema)]
pub(crate) struct ValidationReport {
    /// Whether a call with them would be run.
    valid: bool,
    problems: Vec<ValidationProblem>,
    /// The error that a call with them would get, word for word.
    text: Option<String>,
}

/// One thing that is wrong.
#[derive(Serialize, ToSchema)]
struct ValidationProblem {
    /// Where, as a JSON pointer, also for what is missing.
    path: String,
    message: String,
}

/// Whether the arguments of the body fit the tool, in the words of a call that fails because they do not. Runs nothing.
#[utoipa::path(
    post, path = "/api/tools/{name}/validate", operation_id = "validate_arguments", tag = "tools",
    params(("name" = String, Path, description = "`tool` or `server__tool`")),
    request_body(content = Object, description = "The arguments"),
    responses(
        (status = 200, description = "What is to be said of them", body = ValidationReport),
        (status = 400, description = "The body is not a JSON object", body = FailedResponse),
        (status = 404, description = "There is no such tool", body = FailedResponse),
        (status = 413, description = "The request is too large", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn validate(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    name: Result<Path<String>, PathRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<ValidationReport>, ApiError> {
    let tool = find(&parts, &caller, name)?;
    let limit = tool.spec().settings.timeout.unwrap_or(parts.executor.config().timeout.0);
    let judged = tool.validate(arguments(&body?)?, limit).await;
    let judged = match judged.map_err(|error| ApiError::Unavailable(error.for_model))? {
        None => ValidationReport { valid: true, problems: Vec::new(), text: None },
        Some(InvalidArguments { problems, error }) => ValidationReport {
            valid: false,
            problems: problems.into_iter().map(ValidationProblem::from).collect(),
            text: Some(error.text()),
        },
    };
    Ok(Json(judged))
}

impl From<ArgumentProblem> for ValidationProblem {
    fn from(ArgumentProblem { path, message }: ArgumentProblem) -> Self {
        Self { path, message }
    }
}
