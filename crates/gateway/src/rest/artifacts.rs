//! Artifacts: what results do not show, such as whole texts, images and audio.

mod part;

use std::sync::Arc;

use axum::{
    Extension,
    extract::{
        Path, Query, State,
        rejection::{PathRejection, QueryRejection},
    },
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Deserialize;
use switchboard_access::Caller;
use switchboard_runtime::artifacts;
use utoipa::IntoParams;

use crate::{
    error::ApiError,
    gateway::Parts,
    rest::openapi::responses::{FailedResponse, RejectedResponse},
};

/// Media types that a browser may show inline: none of them can run code.
const SHOWN: [&str; 12] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/avif",
    "image/bmp",
    "audio/mpeg",
    "audio/ogg",
    "audio/wav",
    "audio/webm",
    "text/plain",
    "application/json",
];
/// The Content-Security-Policy: content that is shown as a page cannot do anything.
const NOTHING: HeaderValue = HeaderValue::from_static("sandbox; default-src 'none'");

/// Which part of a text is wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArtifactQuery {
    /// The character to start at; 0 is the first.
    #[param(nullable = false)]
    offset: Option<u64>,
    /// How many characters.
    #[param(nullable = false)]
    limit: Option<u64>,
}

/// What is stored besides a result, for callers who may know of a call that returned it.
#[utoipa::path(
    get, path = "/api/artifacts/{id}", operation_id = "show_artifact", tag = "watch",
    params(
        ("id" = String, Path, description = "Its id, as results and records name it"),
        ArtifactQuery,
    ),
    responses(
        (status = 200, description = "The content, or a part of a text; `X-Total-Characters` then says how long the whole is",
            content((Vec<u8> = "application/octet-stream"), (Vec<u8> = "*/*"))),
        (status = 206, description = "The bytes that `Range` asked for",
            content((Vec<u8> = "application/octet-stream"), (Vec<u8> = "*/*"))),
        (status = 400, description = "The id is not valid UTF-8, or the query is invalid", body = FailedResponse),
        (status = 404, description = "Nothing is kept under the id", body = FailedResponse),
        (status = 416, description = "There are no such bytes"),
        (status = 503, description = "The artifacts cannot be read", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn show(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    id: Result<Path<String>, PathRejection>,
    wanted: Result<Query<ArtifactQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let Path(id) = id.map_err(|wrong| ApiError::BadRequest(wrong.body_text()))?;
    let Query(wanted) = wanted.map_err(|wrong| ApiError::BadRequest(wrong.body_text()))?;
    let unknown = || ApiError::NotFound(format!("Nothing is kept under '{id}'"));
    let (store, tools) = (parts.executor.artifacts(), parts.executor.tools());
    let stored = artifacts::read_for(&**store, &id, tools, &caller.context()).await;
    let stored = stored.map_err(|error| ApiError::Unavailable(error.to_string()))?;
    let stored = stored.ok_or_else(unknown)?;
    if let (None, None) = (wanted.offset, wanted.limit) {
        let content = part::bytes(&stored, headers.get(header::RANGE));
        return Ok(dressed(content, &stored.media_type, &id));
    }
    // A part of JSON, for example, is only text.
    let content = part::characters(&stored, wanted.offset, wanted.limit)?;
    Ok(dressed(content, "text/plain", &id))
}

/// Returns the content with headers that describe it and sandbox it.
fn dressed(mut content: Response, media_type: &str, id: &str) -> Response {
    if content.status() == StatusCode::RANGE_NOT_SATISFIABLE {
        return content;
    }
    let bare = media_type.split(';').next().unwrap_or_default().trim();
    let is_shown = SHOWN.iter().any(|shown| shown.eq_ignore_ascii_case(bare));
    let place = if is_shown { "inline" } else { "attachment" };
    let name: String = id.chars().filter(char::is_ascii_alphanumeric).collect();
    let place = HeaderValue::from_str(&format!("{place}; filename=\"{name}\""));
    let media_type = match bare {
        "text/plain" => Ok(HeaderValue::from_static("text/plain; charset=utf-8")),
        _ => HeaderValue::from_str(media_type),
    };
    let unknown = HeaderValue::from_static("application/octet-stream");
    let headers = content.headers_mut();
    headers.insert(header::CONTENT_TYPE, media_type.unwrap_or(unknown));
    headers.insert(
        header::CONTENT_DISPOSITION,
        place.unwrap_or(HeaderValue::from_static("attachment")),
    );
    headers.insert(header::CONTENT_SECURITY_POLICY, NOTHING);
    content.into_response()
}
