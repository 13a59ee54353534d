//! The turns of models between calls, for the view of a conversation.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use axum::{
    Extension,
    extract::{Query, State, rejection::QueryRejection},
};
use serde::Deserialize;
use switchboard_access::Caller;
use switchboard_agent::{RunError, RunStore, RunSummary};
use utoipa::IntoParams;

use crate::{
    error::ApiError,
    feed::{MOST_TURNS, RecordedTurn, ShownTurn},
    gateway::Parts,
    json_body::Json,
    rest::{
        openapi::responses::{FailedResponse, RejectedResponse},
        runs::{self, knows_run},
    },
};

/// How many of the latest runs are looked at.
const RUNS: usize = 200;

/// Which turns are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct WantedTurns {
    /// Only those of this conversation.
    #[param(nullable = false)]
    conversation: Option<String>,
}

/// The latest turns of models that the caller may know of, the latest last, at most 2,000: with the tokens of each. Those from
/// before the gateway was started, and those of the command line, are from the latest 200 runs.
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
    let is_wanted = |conversation: Option<&str>| {
        wanted.conversation.is_none() || wanted.conversation.as_deref() == conversation
    };
    let mut turns = parts.feed.turns();
    turns.retain(|turn| {
        knows_turn(&caller, turn.caller.as_ref()) && is_wanted(turn.conversation.as_deref())
    });
    if let Some(store) = parts.models.runs() {
        let known = turns.clone();
        let conversation = wanted.conversation.clone();
        let recorded = runs::at(store, move |store| {
            recorded(store, &known, |run| {
                knows_run(&caller, run)
                    && conversation.as_deref().is_none_or(|wanted| wanted == conversation_of(run))
            })
        });
        // What is in memory is shown all the same; the log says what is wrong.
        turns.splice(..0, recorded.await.unwrap_or_default());
        turns.sort_by(|one, other| one.started.cmp(&other.started));
        turns.drain(..turns.len().saturating_sub(MOST_TURNS));
    }
    Ok(Json(turns))
}

/// Returns the turns of the latest runs that are wanted, without those that are known already.
fn recorded(
    store: &RunStore,
    known: &[Arc<ShownTurn>],
    is_wanted: impl Fn(&RunSummary) -> bool,
) -> Result<Vec<Arc<ShownTurn>>, RunError> {
    // From the first known turn of a conversation on, all of them are known.
    let mut first = HashMap::<&str, &str>::new();
    for turn in known {
        let conversation = turn.conversation.as_deref().unwrap_or_default();
        first.entry(conversation).or_insert(&turn.started);
    }
    let mut turns = Vec::new();
    for run in store.page(None, RUNS, is_wanted)? {
        let first = first.get(&*conversation_of(&run));
        // A run whose file was removed meanwhile is left out.
        let Ok(run) = store.show(run.id) else { continue };
        let of_run = RecordedTurn::all_of(&run).into_iter();
        let new = of_run.filter(|turn| first.is_none_or(|first| *turn.ended < **first));
        turns.extend(new.map(|turn| Arc::new(turn.turn)));
        if turns.len() >= MOST_TURNS {
            break;
        }
    }
    Ok(turns)
}

/// The conversation that the calls and turns of a run have.
fn conversation_of(run: &RunSummary) -> Cow<'_, str> {
    match &run.conversation {
        Some(conversation) => conversation.into(),
        None => run.id.to_string().into(),
    }
}

/// Whether the caller may know of a turn that `asker` asked for: its own, or everybody's if it sees all tools, since a
/// turn may be about any of them.
pub(super) fn knows_turn(caller: &Caller, asker: Option<&Arc<str>>) -> bool {
    let watches = caller.visibility().watches() && !caller.visibility().hides_tools();
    watches || caller.name.as_ref() == asker
}
