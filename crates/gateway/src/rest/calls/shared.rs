//! The calls of all nodes of a cluster, as one gateway shows them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_access::Caller;
use switchboard_audit::{Filter, Record, SharedRecords, SharedRecordsError, StoreNode};
use switchboard_toolcall::CallId;
use utoipa::{IntoParams, ToSchema};

use super::{filter::flag, known_to, refused};
use crate::{error::ApiError, gateway::Parts, profile_view};

/// Whether the calls of all nodes are meant.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ClusterQuery {
    /// Look among the calls of all nodes of the cluster, too.
    #[serde(default, alias = "fleet", deserialize_with = "flag")]
    #[param(required = false)]
    pub(super) cluster: bool,
}

/// The node that a call was made at.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShownNode {
    /// The id of its store.
    id: String,
    /// Its machine.
    host: String,
}

impl From<StoreNode> for ShownNode {
    fn from(node: StoreNode) -> Self {
        Self { id: node.id, host: node.host }
    }
}

/// Returns the records of all nodes.
///
/// # Errors
/// The gateway is not in a cluster.
pub(crate) fn records(parts: &Parts) -> Result<&Arc<dyn SharedRecords>, ApiError> {
    let none = "there is no cluster whose calls could be shown: the config has no `[cluster] nats`";
    parts.shared_records.as_ref().ok_or_else(|| ApiError::BadRequest(none.to_owned()))
}

/// Whether the caller may know on which machines calls were made: not if it only sees its own.
pub(crate) fn sees_nodes(caller: &Caller) -> bool {
    caller.visibility().watches()
}

/// Returns the latest calls of all nodes that the caller may know of and that pass the filter, newest first.
pub(in crate::rest) async fn list(
    parts: &Parts,
    caller: &Caller,
    filter: Filter,
    most: usize,
) -> Result<Vec<Record>, ApiError> {
    let shared = records(parts)?;
    // Names are those that the caller's profile has, so they are compared afterwards; so are words.
    let Filter { tool, tools, search, .. } = filter.clone();
    let named = Filter { tool, tools, search, ..Filter::default() };
    let is_wanted = named.matcher().map_err(refused)?;
    let unnamed = Filter { tool: None, tools: None, search: None, limit: Some(most), ..filter };
    let Some(unnamed) = known_to(caller, unnamed) else { return Ok(Vec::new()) };
    let tools = parts.executor.tools();
    let shown = |record: Record| profile_view::record(record, caller, tools).filter(&is_wanted);
    let passes = |record: &Record| shown(record.clone()).is_some();
    let found = shared.list(&unnamed, &passes).await.map_err(unread)?;
    let without_node = |record| Record { node: None, ..record };
    let found = found.into_iter().filter_map(shown);
    Ok(match sees_nodes(caller) {
        true => found.collect(),
        false => found.map(without_node).collect(),
    })
}

/// Returns a call's record of any node, and everything known of it as JSON.
pub(super) async fn recorded(
    parts: &Parts,
    caller: &Caller,
    call: CallId,
) -> Result<Option<(Record, Value)>, ApiError> {
    let found = records(parts)?.show(call).await.map_err(unread)?;
    let Some(detail) = found else { return Ok(None) };
    let mut shown = serde_json::to_value(&detail).unwrap_or_default();
    if let Value::Object(shown) = &mut shown {
        if let Some(text) = detail.text() {
            shown.insert("text".to_owned(), Value::String(text));
        }
        if !sees_nodes(caller) {
            shown.retain(|key, _| key != "node");
        }
    }
    Ok(Some((detail.record, shown)))
}

pub(in crate::rest) fn unread(error: SharedRecordsError) -> ApiError {
    match error {
        SharedRecordsError::TooMany(reason) => ApiError::BadRequest(reason.to_string()),
        SharedRecordsError::Filter(error) => refused(error),
        SharedRecordsError::Unavailable(ref reason) => {
            ApiError::Unavailable(format!("{error}: {reason}"))
        }
        error => ApiError::Unavailable(error.to_string()),
    }
}
