//! Recorded calls: from the store if there is one, else from memory.

mod filter;
pub(super) mod shared;
mod stored;

use std::sync::Arc;

use axum::{
    Extension,
    extract::{
        Path, Query, State,
        rejection::{PathRejection, QueryRejection},
    },
};
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use switchboard_access::Caller;
use switchboard_audit::{CallDetail, Error, Filter, Reader, Record, Store};
use switchboard_toolcall::{CallId, ErrorKind};
use tokio::task::spawn_blocking;
use utoipa::ToSchema;

use crate::{
    error::ApiError,
    feed::timestamp,
    gateway::Parts,
    json_body::Json,
    profile_view,
    rest::{
        openapi::responses::{FailedResponse, RejectedResponse, kind_or_none, outcomes},
        queued::{self, QueuedLookup, ShownQueuedCall},
    },
};
use filter::CallsQuery;
use shared::{ClusterQuery, ShownNode};
use stored::{listed, remembered, stored, stored_in};

pub(crate) use filter::flag;
pub(super) use stored::recent;

/// How many calls are shown unless the caller asks for another number.
const DEFAULT: usize = 100;
/// How many calls are shown at most.
const MOST: usize = 10_000;
/// How many calls of a profile are looked through.
const PROFILE_MOST: usize = 10_000;
/// Longer arguments are left out of lists.
const LONG: usize = 4096;

/// A call as the records have it.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShownRecord {
    id: String,
    tool: String,
    /// The MCP server that ran it.
    server: Option<String>,
    /// The arguments, secrets taken out; null if they were left out.
    #[schema(value_type = Option<Object>)]
    arguments: Option<Box<RawValue>>,
    /// Whether the arguments were left out, because they have more than 4 KiB: `whole` gives them, and so does the call's own address.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    arguments_cut: bool,
    /// `ok`, `running` or the kind of failure.
    #[schema(schema_with = outcomes)]
    outcome: &'static str,
    #[schema(schema_with = kind_or_none)]
    error_kind: Option<&'static str>,
    duration_ms: Option<f64>,
    started: String,
    /// The token that it was called with.
    caller: Option<String>,
    /// The program that it was called with, as it names itself.
    client: Option<String>,
    /// The conversation that it was part of.
    conversation: Option<String>,
    /// The profile through which it was called.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    profile: Option<String>,
    /// What that profile calls the tool, if that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    shown_as: Option<String>,
    /// The node that it was made at, of a list of all nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    node: Option<ShownNode>,
}

impl ShownRecord {
    /// Shows a record; long arguments only if it is to be `whole`.
    fn new(record: Record, whole: bool) -> Self {
        let is_short = whole || record.arguments.len() <= LONG;
        // The beginning of long ones is no JSON.
        let arguments = is_short.then(|| RawValue::from_string(record.arguments).ok()).flatten();
        Self {
            arguments_cut: arguments.is_none(),
            id: record.id.to_string(),
            tool: record.tool,
            server: record.server,
            arguments,
            outcome: record.outcome.code(),
            error_kind: record.outcome.error_kind().map(ErrorKind::code),
            duration_ms: record.duration.map(|duration| duration.as_nanos() as f64 / 1e6),
            started: timestamp(record.started),
            caller: record.caller,
            client: record.client,
            conversation: record.conversation,
            profile: record.profile,
            shown_as: record.shown_as,
            node: record.node.map(ShownNode::from),
        }
    }
}

/// The latest calls that the caller may know of, newest first: its own, or with the right to watch everybody's, of
/// tools that it may see.
#[utoipa::path(
    get, path = "/api/calls", operation_id = "list_calls", tag = "watch",
    params(CallsQuery),
    responses(
        (status = 200, description = "The calls", body = Vec<ShownRecord>),
        (status = 400, description = "The query is wrong", body = FailedResponse),
        (status = 503, description = "The records cannot be read", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn list(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    asked: Result<Query<CallsQuery>, QueryRejection>,
) -> Result<Json<Vec<ShownRecord>>, ApiError> {
    let Query(asked) = asked.map_err(|problem| ApiError::BadRequest(problem.body_text()))?;
    let most = asked.limit.unwrap_or(DEFAULT);
    if most > MOST {
        return Err(ApiError::BadRequest(format!("limit is {most}; it may be {MOST} at most")));
    }
    let (is_of_cluster, whole) = (asked.cluster, asked.whole);
    let shown = |records: Vec<Record>| {
        Json(records.into_iter().map(|record| ShownRecord::new(record, whole)).collect())
    };
    let filter = asked.filter(parts.executor.config().slow_call);
    if is_of_cluster {
        return Ok(shown(shared::list(&parts, &caller, filter, most).await?));
    }
    if let Some(mut records) = in_profile(&parts, &caller, &filter, PROFILE_MOST, whole).await? {
        records.truncate(most);
        return Ok(shown(records));
    }
    let Some(filter) = known_to(&caller, filter) else { return Ok(Json(Vec::new())) };
    let tools = parts.executor.tools().clone();
    let visible =
        move |record: &Record| caller.shown_call(&profile_view::names(record), &tools).is_some();
    let records = match &parts.store {
        Some(store) => {
            let store = store.clone();
            // A search may take longer than other lists.
            if filter.search.is_some() {
                let search = move |reader: &mut Reader| {
                    stored(|filter| listed(reader, filter, whole), filter, visible, most)
                };
                ask(store, search).await?
            } else {
                stored_in(store, filter, visible, most, whole).await?
            }
        }
        None => {
            let found = remembered(&**parts.executor.history(), &filter, visible, most).await;
            found.map_err(refused)?
        }
    };
    Ok(shown(records))
}

/// All about one of them. A result that is an MCP result has `text` beside it, what models and people read of it. One that was queued says how it is, and has its envelope as `result` once it has ended.
#[utoipa::path(
    get, path = "/api/calls/{id}", operation_id = "show_call", tag = "watch",
    params(("id" = String, Path, description = "The id of the call"), ClusterQuery),
    responses(
        (status = 200, description = "The call, its result and how long each stage took", body = Value),
        (status = 400, description = "The id is not valid UTF-8, or the query is invalid", body = FailedResponse),
        (status = 404, description = "There is no such call", body = FailedResponse),
        (status = 503, description = "The records, or the queue, cannot be read", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn show(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    id: Result<Path<String>, PathRejection>,
    asked: Result<Query<ClusterQuery>, QueryRejection>,
) -> Result<Json<Value>, ApiError> {
    let Query(asked) = asked.map_err(|problem| ApiError::BadRequest(problem.body_text()))?;
    let Path(id) = id.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    let unknown = || ApiError::NotFound(format!("Call '{id}' not found"));
    let call = CallId::parse(&id).ok_or_else(unknown)?;
    let away = match queued::find(&parts, &caller, call).await {
        Ok(QueuedLookup::Own(call)) => {
            let shown = serde_json::to_value(ShownQueuedCall::from(*call));
            return Ok(Json(shown.unwrap_or_default()));
        }
        Ok(QueuedLookup::Foreign) => return Err(unknown()),
        Ok(QueuedLookup::Unknown) => None,
        Err(away) => Some(away),
    };
    let found = match recorded(&parts, call).await? {
        None if asked.cluster => shared::recorded(&parts, &caller, call).await?,
        found => found,
    };
    match found {
        // If the queue cannot be reached, other calls can still be shown.
        Some((record, mut shown)) => {
            let tools = parts.executor.tools();
            let name = caller.shown_call(&profile_view::names(&record), tools);
            let Some(name) = name else { return Err(away.unwrap_or_else(unknown)) };
            profile_view::rename(&mut shown, &name, &caller, tools);
            match away {
                Some(away) if shown.pointer("/result/queued").is_some() => Err(away),
                _ => Ok(Json(shown)),
            }
        }
        None => Err(away.unwrap_or_else(unknown)),
    }
}

/// Returns the latest calls that a caller with a profile may know of and that pass the filter, as the profile names them,
/// newest first. `None` if the caller has no profile: the store answers faster. Unless it is to be `whole`, long arguments are
/// only there to be searched.
pub(super) async fn in_profile(
    parts: &Parts,
    caller: &Caller,
    filter: &Filter,
    most: usize,
    whole: bool,
) -> Result<Option<Vec<Record>>, ApiError> {
    if caller.visibility().profile().is_none() {
        return Ok(None);
    }
    // Names mean what the profile says, so they are compared afterwards. So are words: the index would also find calls by
    // a name, or by an argument, that the profile hides.
    let shown = Filter {
        tool: filter.tool.clone(),
        tools: filter.tools.clone(),
        search: filter.search.clone(),
        ..Filter::default()
    };
    let passes = shown.matcher().map_err(refused)?;
    let unnamed = Filter { tool: None, tools: None, search: None, ..filter.clone() };
    let Some(unnamed) = known_to(caller, unnamed) else { return Ok(Some(Vec::new())) };
    let tools = parts.executor.tools();
    let is_visible = {
        let (caller, tools) = (caller.clone(), tools.clone());
        move |record: &Record| caller.shown_call(&profile_view::names(record), &tools).is_some()
    };
    let found = match &parts.store {
        Some(store) => {
            let store = store.clone();
            stored_in(store, unnamed, is_visible, most, whole || filter.search.is_some()).await?
        }
        None => {
            let found = remembered(&**parts.executor.history(), &unnamed, is_visible, most).await;
            found.map_err(refused)?
        }
    };
    let shown = found.into_iter().filter_map(|record| profile_view::record(record, caller, tools));
    Ok(Some(shown.filter(|record| passes(record)).collect()))
}

/// Limits a filter to calls that the caller may know of; returns `None` if none of those can pass it.
pub(super) fn known_to(caller: &Caller, mut filter: Filter) -> Option<Filter> {
    if caller.visibility().watches() {
        return Some(filter);
    }
    let own = caller.name.as_deref()?;
    match &filter.caller {
        Some(asked) if asked != own => None,
        _ => {
            filter.caller = Some(own.to_owned());
            Some(filter)
        }
    }
}

/// Returns a call's record, and everything known of it as JSON.
async fn recorded(parts: &Parts, call: CallId) -> Result<Option<(Record, Value)>, ApiError> {
    let (record, shown) = match &parts.store {
        Some(store) => {
            let store = store.clone();
            let found = spawn_blocking(move || store.ask(|reader| found(reader, call))).await;
            let found = found.map_err(|error| ApiError::Unavailable(error.to_string()))?;
            let Some(detail) = found.map_err(refused)? else { return Ok(None) };
            let mut shown = serde_json::to_value(&detail);
            if let (Ok(Value::Object(shown)), Some(text)) = (&mut shown, detail.text()) {
                shown.insert("text".to_owned(), Value::String(text));
            }
            (detail.record, shown)
        }
        None => {
            let records = recent(&**parts.executor.history(), MOST).await.map_err(refused)?;
            let record = records.into_iter().find(|record| record.id == call);
            let Some(record) = record else { return Ok(None) };
            let shown = serde_json::to_value(&record);
            (record, shown)
        }
    };
    Ok(Some((record, shown.unwrap_or_default())))
}

/// Returns the details of a call, with the numbers of its lines.
fn found(reader: &mut Reader, call: CallId) -> Result<Option<CallDetail>, Error> {
    let mut detail = reader.show(call)?;
    if let Some(detail) = &mut detail {
        reader.count_lines(detail)?;
    }
    Ok(detail)
}

/// Queries the store with a separate reader: a query of many calls must not block others.
pub(super) async fn ask<T: Send + 'static>(
    store: Store,
    question: impl FnOnce(&mut Reader) -> Result<T, Error> + Send + 'static,
) -> Result<T, ApiError> {
    let asked = spawn_blocking(move || question(&mut Reader::open(store.folder())?)).await;
    asked.map_err(|error| ApiError::Unavailable(error.to_string()))?.map_err(refused)
}

/// Converts an error: an invalid pattern, or a store that cannot be read.
pub(super) fn refused(error: Error) -> ApiError {
    match error {
        Error::Glob { .. } => ApiError::BadRequest(error.to_string()),
        other => ApiError::Unavailable(other.to_string()),
    }
}
