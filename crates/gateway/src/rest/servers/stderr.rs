//! Follows a server's stderr.

use std::{future::ready, sync::Arc};

use axum::{
    Extension,
    extract::{Path, State, rejection::PathRejection},
    response::{Response, sse::Event},
};
use futures_util::{StreamExt, stream};
use serde_json::json;
use switchboard_access::Caller;
use switchboard_mcp_client::StderrLine;
use switchboard_runtime::redact;
use tokio_stream::wrappers::BroadcastStream;

use super::find_for_admin;
use crate::{
    draining::Draining,
    error::ApiError,
    feed::timestamp,
    gateway::Parts,
    rest::openapi::responses::{FailedResponse, RejectedResponse},
    sse::answer,
};

/// The last lines of a server's stderr, then each line as it is written.
#[utoipa::path(
    get, path = "/api/servers/{name}/stderr", operation_id = "watch_stderr", tag = "servers",
    params(("name" = String, Path, description = "Its name in the config")),
    responses(
        (status = 200, body = String, content_type = "text/event-stream",
            description = "Server-sent events; each `data` is JSON with `line` and `at`"),
        (status = 400, description = "The name is not valid UTF-8", body = FailedResponse),
        (status = 404, description = "There is no such server", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn follow(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    Extension(draining): Extension<Draining>,
    name: Result<Path<String>, PathRejection>,
) -> Result<Response, ApiError> {
    let server = find_for_admin(&parts, &caller, name)?;
    let (kept, live) = server.stderr().follow();
    // A slow reader misses lines, as the log itself does.
    let live = BroadcastStream::new(live).filter_map(|line| ready(line.ok()));
    let lines = draining.ends(stream::iter(kept).chain(live));
    Ok(answer(lines.map(|line| line_event(&line))))
}

fn line_event(line: &StderrLine) -> Event {
    let line_json = json!({"line": redact::text(&line.text), "at": timestamp(line.at)});
    Event::default().data(line_json.to_string())
}
