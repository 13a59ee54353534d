//! What definitions take of a model's context, and which tools nobody calls (SPEC FT-4).

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use axum::{Extension, extract::State};
use serde::Serialize;
use switchboard_access::Caller;
use switchboard_audit::{FigureWindow, Filter, GroupBy};
use switchboard_runtime::{
    RegisteredTool,
    tool_cost::{ProfileCost, ServerCost, ToolCost, ToolCosts},
};
use tokio::task::spawn_blocking;
use utoipa::ToSchema;

use crate::{
    error::ApiError,
    gateway::Parts,
    json_body::Json,
    rest::{
        openapi::responses::{FailedResponse, RejectedResponse},
        stats::figures,
    },
};

/// How far back calls are counted.
const LATELY: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What the definitions of tools cost, in tokens of a model's context; most estimates are less than 10 % off.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShownCosts {
    /// The tokens of all definitions.
    total_tokens: usize,
    /// What leaving out the tools that were not called in 30 days would save.
    unused_tokens: usize,
    /// The servers, in order.
    servers: Vec<ShownServerCost>,
    /// The profiles, by name; empty for a caller who does not see all tools and the calls of all.
    profiles: Vec<ShownProfileCost>,
}

/// What the definitions of a profile cost.
#[derive(Serialize, ToSchema)]
struct ShownProfileCost {
    profile: String,
    tokens: usize,
    /// How many tools it has.
    tools: usize,
}

/// What the definitions of a server cost.
#[derive(Serialize, ToSchema)]
struct ShownServerCost {
    /// Unset for local tools.
    server: Option<String>,
    tokens: usize,
    tools: Vec<ShownToolCost>,
}

/// What a definition costs.
#[derive(Serialize, ToSchema)]
struct ShownToolCost {
    name: String,
    tokens: usize,
    /// How many calls of it that the caller may know of there were in 30 days.
    calls_30d: u64,
}

/// How many tokens of a model's context the definitions of the tools take that the caller may see, and how often each was
/// called in the last 30 days.
#[utoipa::path(
    get, path = "/api/tool-costs", operation_id = "tool_costs", tag = "tools",
    responses(
        (status = 200, description = "The costs, by server", body = ShownCosts),
        (status = 503, description = "The records cannot be read", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn costs(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<ShownCosts>, ApiError> {
    let tools = parts.executor.tools().listed_for(caller.visibility());
    let from = SystemTime::now().checked_sub(LATELY).unwrap_or(SystemTime::UNIX_EPOCH);
    // One more step than the window needs: calls that begin now count too.
    let window = FigureWindow { from, step: LATELY, steps: 2, by: GroupBy::Tool };
    let visibility = caller.visibility();
    let in_profile = visibility.profile().is_some();
    // A profile's name, often that of its caller, is for those who may know of other callers.
    let sees_profiles = !visibility.hides_tools() && visibility.watches();
    let executor = parts.executor.clone();
    let groups = figures(parts, caller, Filter::default(), window).await?.groups;
    let calls = groups.into_iter().filter_map(|(name, figure)| Some((name?, figure.calls)));
    let calls = by_own_names(calls.collect(), &tools, in_profile);
    let count = move || {
        let mut costs = ToolCosts::count(&tools, &calls);
        if sees_profiles {
            costs.count_profiles(executor.tools());
        }
        costs
    };
    let counted = spawn_blocking(count).await;
    let counted = counted.map_err(|error| ApiError::Unavailable(error.to_string()))?;
    Ok(Json(counted.into()))
}

/// Returns the calls by the tools' names outside of profiles; in a profile, `calls` has the names that it shows.
fn by_own_names(
    mut calls: HashMap<String, u64>,
    tools: &[Arc<RegisteredTool>],
    in_profile: bool,
) -> HashMap<String, u64> {
    if !in_profile {
        return calls;
    }
    let own = |tool: &Arc<RegisteredTool>| {
        Some((tool.original().name().to_string(), calls.remove(&**tool.name())?))
    };
    tools.iter().filter_map(own).collect()
}

impl From<ToolCosts> for ShownCosts {
    fn from(costs: ToolCosts) -> Self {
        Self {
            total_tokens: costs.total_tokens,
            unused_tokens: costs.unused_tokens(),
            servers: costs.servers.into_iter().map(ShownServerCost::from).collect(),
            profiles: costs.profiles.into_iter().map(ShownProfileCost::from).collect(),
        }
    }
}

impl From<ProfileCost> for ShownProfileCost {
    fn from(ProfileCost { profile, tokens, tools, .. }: ProfileCost) -> Self {
        Self { profile, tokens, tools }
    }
}

impl From<ServerCost> for ShownServerCost {
    fn from(ServerCost { server, tokens, tools, .. }: ServerCost) -> Self {
        let tool =
            |ToolCost { name, tokens, calls_30d, .. }| ShownToolCost { name, tokens, calls_30d };
        Self { server, tokens, tools: tools.into_iter().map(tool).collect() }
    }
}
