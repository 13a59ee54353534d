//! Runs: what models were asked, turn by turn, and what they did. Each caller's own; for who watches everything, everybody's.

mod shown;

use std::sync::Arc;

use axum::{
    Extension,
    extract::{
        Path, Query, State,
        rejection::{PathRejection, QueryRejection},
    },
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_access::Caller;
use switchboard_agent::{RunError, RunStore, RunSummary};
use switchboard_toolcall::CallId;
use tokio::task::spawn_blocking;
use utoipa::{IntoParams, ToSchema};

use crate::{
    error::ApiError,
    gateway::Parts,
    json_body::Json,
    rest::openapi::responses::{FailedResponse, RejectedResponse},
};
use shown::ShownRun;

/// How many runs are shown unless the caller asks for another number.
const DEFAULT: usize = 50;
/// How many runs are shown at most.
const MOST: usize = 1000;

/// What may follow the question mark.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunsQuery {
    /// Only turns of this chat.
    #[param(nullable = false)]
    chat: Option<String>,
    /// How many runs are returned; 50 by default.
    #[param(minimum = 0, maximum = 1000, nullable = false)]
    limit: Option<usize>,
    /// The last run of the page before.
    #[param(nullable = false, pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$")]
    after: Option<String>,
}

/// The runs of the caller.
#[derive(Serialize, ToSchema)]
pub(crate) struct Runs {
    /// Whether runs are recorded at all.
    recorded: bool,
    runs: Vec<ShownRun>,
}

/// The latest runs that the caller may know of, newest first: its own, or everybody's if it watches all calls of all tools.
/// In a cluster, those of this gateway.
#[utoipa::path(
    get, path = "/api/runs", operation_id = "list_runs", tag = "watch",
    params(RunsQuery),
    responses(
        (status = 200, description = "The runs", body = Runs),
        (status = 400, description = "The query is wrong", body = FailedResponse),
        (status = 503, description = "The runs cannot be read", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn list(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    asked: Result<Query<RunsQuery>, QueryRejection>,
) -> Result<Json<Runs>, ApiError> {
    let Query(asked) = asked.map_err(|wrong| ApiError::BadRequest(wrong.body_text()))?;
    let limit = asked.limit.unwrap_or(DEFAULT);
    if limit > MOST {
        return Err(ApiError::BadRequest(format!("limit is {limit}; it may be {MOST} at most")));
    }
    let wrong =
        |text: &str| ApiError::BadRequest(format!("after: `{text}` is not the id of a run"));
    let after = asked.after.as_deref().map(|text| CallId::parse(text).ok_or_else(|| wrong(text)));
    let after = after.transpose()?;
    let Some(store) = parts.models.runs() else {
        return Ok(Json(Runs { recorded: false, runs: Vec::new() }));
    };
    let in_profile = caller.visibility().profile().is_some();
    let found = at(store, move |store| {
        store.page(after, limit, |run| {
            knows_run(&caller, run) && (asked.chat.is_none() || run.chat == asked.chat)
        })
    });
    let runs = found.await?.into_iter().map(|run| ShownRun::new(run, in_profile)).collect();
    Ok(Json(Runs { recorded: true, runs }))
}

/// One of them: beside what the list has, `answer`, `messages`, the results that were `shortened`, and the `timeline`: for each
/// turn its tokens, its cost and its calls, each with its outcome and with what a person decided about it.
#[utoipa::path(
    get, path = "/api/runs/{id}", operation_id = "show_run", tag = "watch",
    params(("id" = String, Path, description = "The id of the run")),
    responses(
        (status = 200, description = "The run", body = Value),
        (status = 400, description = "The id is not valid UTF-8", body = FailedResponse),
        (status = 404, description = "There is no such run", body = FailedResponse),
        (status = 503, description = "The run cannot be read", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn show(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<Value>, ApiError> {
    let Path(id) = id.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    let unknown = || ApiError::NotFound(format!("Run '{id}' not found"));
    let run = CallId::parse(&id).ok_or_else(unknown)?;
    let store = parts.models.runs().ok_or_else(unknown)?;
    let found = at(store, move |store| match store.show(run) {
        Err(RunError::NotFound(_)) => Ok(None),
        found => found.map(Some),
    });
    let known = found.await?.filter(|run| knows_run(&caller, &run.summary));
    let run = known.ok_or_else(unknown)?;
    let mut detail = shown::detail(&run, &caller, parts.executor.tools());
    if let Some(store) = &parts.store {
        shown::add_decisions(&mut detail, store.clone()).await;
    }
    Ok(Json(detail))
}

/// Whether the caller may know of a run: of its own, of those in its profile if it has one, and of everybody's if it watches and
/// sees all tools, since a run may be about any of them.
pub(super) fn knows_run(caller: &Caller, run: &RunSummary) -> bool {
    let visibility = caller.visibility();
    if visibility.watches() && !visibility.hides_tools() {
        return true;
    }
    let is_inside = match visibility.profile() {
        Some(profile) => run.profile.as_deref() == Some(&**profile.name()),
        None => true,
    };
    is_inside && caller.name.as_deref() == run.caller.as_deref()
}

/// Runs `work` with the store, off the serving threads.
pub(super) async fn at<T: Send + 'static>(
    store: RunStore,
    work: impl FnOnce(&RunStore) -> Result<T, RunError> + Send + 'static,
) -> Result<T, ApiError> {
    let done = spawn_blocking(move || work(&store)).await;
    let done = done.map_err(|error| ApiError::Unavailable(error.to_string()))?;
    done.map_err(|error| {
        tracing::error!(error = &error as &dyn std::error::Error, "runs cannot be read");
        ApiError::Unavailable("the runs cannot be read; the log says why".to_owned())
    })
}
