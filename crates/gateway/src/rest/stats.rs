//! Figures over time, from the store if there is one, else from memory.

mod query;
mod shared;

use std::{collections::BTreeMap, sync::Arc, time::SystemTime};

use axum::{
    Extension,
    extract::{Query, State, rejection::QueryRejection},
};
use serde::Serialize;
use switchboard_access::Caller;
use switchboard_audit::{CallFigure, CallFigures, FigureWindow, Filter};
use utoipa::ToSchema;

use crate::{
    error::ApiError,
    feed::timestamp,
    gateway::Parts,
    json_body::Json,
    rest::{
        calls::{ask, in_profile, known_to, recent, refused},
        openapi::responses::{FailedResponse, RejectedResponse},
    },
};
use query::{StatsQuery, StatsSort};
use shared::StatsNode;

/// How many calls are read if they are only in memory.
const MOST: usize = 10_000;

/// Figures over time.
#[derive(Serialize, ToSchema)]
pub(crate) struct Stats {
    from: String,
    until: String,
    step_ms: u64,
    /// Whether there were more calls than one question looks at, so that only the newest count; or, of all nodes, whether the
    /// calls of one are missing.
    partial: bool,
    total: CallNumbers,
    /// How many calls failed in which way.
    kinds: BTreeMap<String, u64>,
    /// Each step, oldest first.
    steps: Vec<StatsStep>,
    /// What `groups` are: `tool`, `caller` or `server`.
    by: &'static str,
    groups: Vec<StatsGroup>,
    /// The nodes whose calls these are, of figures over all nodes; only for callers that may watch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    nodes: Option<Vec<StatsNode>>,
}

/// How many calls, and how long they took.
#[derive(Serialize, ToSchema)]
struct CallNumbers {
    calls: u64,
    failures: u64,
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    p99_ms: Option<f64>,
}

/// The figures of a stretch of time.
#[derive(Serialize, ToSchema)]
struct StatsStep {
    /// When it begins.
    at: String,
    #[serde(flatten)]
    numbers: CallNumbers,
}

/// The figures of a tool, a caller or a server.
#[derive(Serialize, ToSchema)]
struct StatsGroup {
    /// Unset for anonymous calls, or tools without a server.
    name: Option<String>,
    #[serde(flatten)]
    numbers: CallNumbers,
}

impl From<CallFigure> for CallNumbers {
    fn from(CallFigure { calls, failures, p50_ms, p95_ms, p99_ms }: CallFigure) -> Self {
        Self { calls, failures, p50_ms, p95_ms, p99_ms }
    }
}

/// How many calls that the caller may know of there were, how many failed and how long they took: over time, and by tool, caller or server.
#[utoipa::path(
    get, path = "/api/stats", operation_id = "stats", tag = "watch",
    params(StatsQuery),
    responses(
        (status = 200, description = "The figures", body = Stats),
        (status = 400, description = "The query is invalid", body = FailedResponse),
        (status = 503, description = "The records cannot be read", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn show(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    asked: Result<Query<StatsQuery>, QueryRejection>,
) -> Result<Json<Stats>, ApiError> {
    let Query(asked) = asked.map_err(|wrong| ApiError::BadRequest(wrong.body_text()))?;
    let window = asked.window(SystemTime::now()).map_err(ApiError::BadRequest)?;
    let filter = asked.filter();
    let (figures, nodes) = match asked.cluster {
        true => shared::figures(&parts, &caller, filter, window).await?,
        false => (figures(parts, caller, filter, window).await?, None),
    };
    Ok(Json(Stats { nodes, ..stats(figures, window, &asked) }))
}

/// Returns figures of the calls that the caller may know of.
pub(super) async fn figures(
    parts: Arc<Parts>,
    caller: Caller,
    filter: Filter,
    window: FigureWindow,
) -> Result<CallFigures, ApiError> {
    if let Some(records) = in_profile(&parts, &caller, &filter, MOST, false).await? {
        return CallFigures::of(&records, &filter, window).map_err(refused);
    }
    let Some(mut filter) = known_to(&caller, filter) else {
        return CallFigures::of([], &Filter::default(), window).map_err(refused);
    };
    let Some(store) = parts.store.clone() else {
        let records = recent(&**parts.executor.history(), MOST).await.map_err(refused)?;
        let tools = parts.executor.tools();
        let visible = records
            .iter()
            .filter(|call| caller.knows_call(&call.tool, call.caller.as_deref(), tools));
        return CallFigures::of(visible, &filter, window).map_err(refused);
    };
    ask(store, move |reader| {
        if caller.visibility().hides_tools() {
            let mut names = reader.tools()?;
            names.retain(|name| caller.may_see(name, parts.executor.tools()));
            filter.tools = Some(names);
        }
        reader.figures(&filter, window)
    })
    .await
}

fn stats(figures: CallFigures, window: FigureWindow, asked: &StatsQuery) -> Stats {
    let mut groups = figures.groups;
    groups.sort_by(|(one, a), (other, b)| {
        let order = match asked.sort() {
            StatsSort::Calls => b.calls.cmp(&a.calls),
            StatsSort::Failures => b.failures.cmp(&a.failures),
            StatsSort::P95 => b.p95_ms.unwrap_or(-1.0).total_cmp(&a.p95_ms.unwrap_or(-1.0)),
        };
        order.then_with(|| one.cmp(other))
    });
    groups.truncate(asked.top());
    let steps = (0_u32..).zip(figures.steps).map(|(number, figure)| StatsStep {
        at: timestamp(window.from + window.step * number),
        numbers: figure.into(),
    });
    Stats {
        from: timestamp(window.from),
        until: timestamp(window.until()),
        step_ms: u64::try_from(window.step.as_millis()).unwrap_or(u64::MAX),
        partial: figures.is_partial,
        total: figures.total.into(),
        kinds: figures.kinds,
        steps: steps.collect(),
        by: asked.by_name(),
        groups: groups
            .into_iter()
            .map(|(name, figure)| StatsGroup { name, numbers: figure.into() })
            .collect(),
        nodes: None,
    }
}
