//! The turns of models between calls, for the view of a conversation.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Query, State, rejection::QueryRejection},
};
use serde::Deserialize;
use switchboard_access::Caller;
use utoipa::IntoParams;

use crate::{
    error::ApiError,
    feed::ShownTurn,
    gateway::Parts,
    json_body::Json,
    rest::openapi::responses::{FailedResponse, RejectedResponse},
};

/// Which turns are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedTurns {
    /// Only those of this conversation.
    #[param(nullable = false)]
    conversation: Option<String>,
}

/// The latest turns of models that the caller may know of, the latest last: with the tokens of each. At most 2,000 since
/// the gateway was started; records have only calls.
#[utoipa::path(
    get, path = "/api/turns", operation_id = "list_turns", tag = "watch",
    params(WantedTurns),
    responses(
        (status = 200, description = "The turns", body = Vec<ShownTurn>),
        (status = 400, description = "The query is wrong", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn list(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    wanted: Result<Query<WantedTurns>, QueryRejection>,
) -> Result<Json<Vec<Arc<ShownTurn>>>, ApiError> {
    let Query(wanted) = wanted.map_err(|wrong| ApiError::BadRequest(wrong.body_text()))?;
    let mut turns = parts.feed.turns();
    turns.retain(|turn| {
        knows_turn(&caller, turn.caller.as_ref())
            && (wanted.conversation.is_none() || turn.conversation == wanted.conversation)
    });
    Ok(Json(turns))
}

/// Whether the caller may know of a turn that `asker` asked for: its own, or everybody's if it sees all tools, since a
/// turn may be about any of them.
pub(super) fn knows_turn(caller: &Caller, asker: Option<&Arc<str>>) -> bool {
    let watches = caller.visibility().watches() && !caller.visibility().hides_tools();
    watches || caller.name.as_ref() == asker
}
