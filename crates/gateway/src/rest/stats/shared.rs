//! Figures over all nodes of a cluster.

use serde::Serialize;
use switchboard_access::Caller;
use switchboard_audit::{
    CallFigures, FigureQuery, FigureSource, FigureWindow, Filter, GroupBy, NodeFigures,
    SharedFigures,
};
use utoipa::ToSchema;

use super::MOST;
use crate::{
    error::ApiError,
    gateway::Parts,
    rest::calls::{
        known_to, refused,
        shared::{self, records, sees_nodes, unread},
    },
};

/// A node, and where the figures of its calls are from.
#[derive(Serialize, ToSchema)]
pub(crate) struct StatsNode {
    /// The id of its store.
    id: String,
    /// Its machine.
    host: String,
    /// `node`: it answered. `shipped`: it did not, so the records that it has shipped count. `missing`: nor could these be read.
    #[schema(inline)]
    source: StatsSource,
}

/// Where figures are from.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum StatsSource {
    Node,
    Shipped,
    Missing,
}

impl From<NodeFigures> for StatsNode {
    fn from(NodeFigures { node, source }: NodeFigures) -> Self {
        let source = match source {
            FigureSource::Node => StatsSource::Node,
            FigureSource::Shipped => StatsSource::Shipped,
            FigureSource::Missing => StatsSource::Missing,
        };
        Self { id: node.id, host: node.host, source }
    }
}

/// Returns figures of the calls of all nodes that the caller may know of; with the nodes, if it may know these.
pub(super) async fn figures(
    parts: &Parts,
    caller: &Caller,
    filter: Filter,
    window: FigureWindow,
) -> Result<(CallFigures, Option<Vec<StatsNode>>), ApiError> {
    let shared = records(parts)?;
    if caller.visibility().profile().is_some() {
        return Ok((in_profile(parts, caller, filter, window).await?, None));
    }
    let Some(filter) = known_to(caller, filter) else {
        let none = CallFigures::of([], &Filter::default(), window).map_err(refused)?;
        return Ok((none, None));
    };
    let mut query = FigureQuery { filter, window: Some(window) };
    if caller.visibility().hides_tools() {
        query.filter.tools = Some(visible_tools(parts, caller, &query.filter, window).await?);
    }
    let SharedFigures { sums, nodes } = shared.figures(&query).await.map_err(unread)?;
    let mut figures = sums.figures();
    figures.is_partial |= nodes.iter().any(|node| node.source == FigureSource::Missing);
    let nodes = nodes.into_iter().map(StatsNode::from).collect();
    Ok((figures, sees_nodes(caller).then_some(nodes)))
}

/// Returns the figures of the newest calls, as the caller's profile names them: nodes sum by the names of their config.
async fn in_profile(
    parts: &Parts,
    caller: &Caller,
    filter: Filter,
    window: FigureWindow,
) -> Result<CallFigures, ApiError> {
    let query = FigureQuery { filter, window: Some(window) };
    let found = shared::list(parts, caller, query.filter(), MOST).await?;
    let mut figures = CallFigures::of(&found, &query.filter, window).map_err(refused)?;
    figures.is_partial |= found.len() >= MOST;
    Ok(figures)
}

/// Returns the names of the tools that were called on any node and that the caller may see.
async fn visible_tools(
    parts: &Parts,
    caller: &Caller,
    filter: &Filter,
    window: FigureWindow,
) -> Result<Vec<String>, ApiError> {
    let steps = u32::try_from(window.steps).unwrap_or(u32::MAX);
    let step = window.step.saturating_mul(steps);
    let window = FigureWindow { step, steps: 1, by: GroupBy::Tool, ..window };
    let query = FigureQuery { filter: filter.clone(), window: Some(window) };
    let called = records(parts)?.figures(&query).await.map_err(unread)?.sums.stats();
    let names = called.into_iter().map(|stats| stats.tool);
    Ok(names.filter(|name| caller.may_see(name, parts.executor.tools())).collect())
}
