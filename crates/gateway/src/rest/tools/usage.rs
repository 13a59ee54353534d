//! How a tool was used recently.

use std::time::{Duration, SystemTime};

use serde::Serialize;
use switchboard_access::Caller;
use switchboard_audit::{CallFigure, CallFigures, FigureWindow, Filter, GroupBy, Record};
use switchboard_runtime::RegisteredTool;
use utoipa::ToSchema;

use crate::{
    error::ApiError,
    feed::timestamp,
    gateway::Parts,
    rest::calls::{self, ask, known_to, recent, refused},
};

/// How far back uses are counted.
const LATELY: Duration = Duration::from_secs(24 * 60 * 60);
/// How many calls are read if they are only in memory.
const MOST: usize = 10_000;

/// How a tool was used in the last 24 hours.
#[derive(Serialize, ToSchema)]
pub(crate) struct ToolUsage {
    /// Where the 24 hours begin.
    since: String,
    calls: u64,
    failures: u64,
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    /// The last call, however long ago.
    last: Option<LastCall>,
}

/// A call in short.
#[derive(Serialize, ToSchema)]
struct LastCall {
    id: String,
    outcome: &'static str,
    started: String,
}

/// Returns how the tool of this name was used, as far as the caller may know.
pub(super) async fn of(
    parts: &Parts,
    caller: &Caller,
    tool: &RegisteredTool,
) -> Result<ToolUsage, ApiError> {
    let from = SystemTime::now().checked_sub(LATELY).unwrap_or(SystemTime::UNIX_EPOCH);
    // One more step than the window needs: calls that begin now count too.
    let window = FigureWindow { from, step: LATELY, steps: 2, by: GroupBy::Tool };
    let filter = Filter { tools: Some(vec![tool.name().to_string()]), ..Filter::default() };
    if let Some(records) = calls::in_profile(parts, caller, &filter, MOST, false).await? {
        let figures = CallFigures::of(&records, &filter, window).map_err(refused)?;
        return Ok(ToolUsage::new(from, figures.total, records.first()));
    }
    let filter = known_to(caller, filter);
    let (CallFigures { total, .. }, last) = match (&parts.store, filter) {
        (_, None) => (CallFigures::of([], &Filter::default(), window).map_err(refused)?, None),
        (Some(store), Some(filter)) => {
            ask(store.clone(), move |reader| {
                let figures = reader.figures(&filter, window)?;
                let last = reader.list(&Filter { limit: Some(1), ..filter })?.pop();
                Ok((figures, last))
            })
            .await?
        }
        (None, Some(filter)) => {
            let passes = filter.matcher().map_err(refused)?;
            let records = recent(&**parts.executor.history(), MOST).await.map_err(refused)?;
            let figures = CallFigures::of(&records, &filter, window).map_err(refused)?;
            (figures, records.into_iter().find(|record| passes(record)))
        }
    };
    Ok(ToolUsage::new(from, total, last.as_ref()))
}

impl ToolUsage {
    fn new(from: SystemTime, total: CallFigure, last: Option<&Record>) -> Self {
        let CallFigure { calls, failures, p50_ms, p95_ms, .. } = total;
        let last = last.map(LastCall::from);
        Self { since: timestamp(from), calls, failures, p50_ms, p95_ms, last }
    }
}

impl From<&Record> for LastCall {
    fn from(record: &Record) -> Self {
        Self {
            id: record.id.to_string(),
            outcome: record.outcome.code(),
            started: timestamp(record.started),
        }
    }
}
