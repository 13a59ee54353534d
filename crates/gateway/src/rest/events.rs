//! Calls as they happen, as server-sent events.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::{Query, State, rejection::QueryRejection},
    http::HeaderMap,
    response::{Response, sse},
};
use futures_util::{Stream, StreamExt, future, stream};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use switchboard_access::Caller;
use switchboard_runtime::ToolManager;
use switchboard_toolcall::HumanDuration;
use tokio_stream::wrappers::{BroadcastStream, errors::BroadcastStreamRecvError};
use utoipa::IntoParams;

use super::{
    calls::{flag, shared},
    turns::knows_turn,
};
use crate::{
    draining::Draining,
    error::ApiError,
    feed::{EventSubscription, Feed, FeedEvent},
    gateway::Parts,
    profile_view,
    rest::openapi::responses::{FailedResponse, RejectedResponse},
    sse::{answer, named},
};

/// How many events a batch has at most.
const MOST: usize = 1000;

/// How the events are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsQuery {
    /// Events of so much time, 10ms to 5s, come as one message: an array.
    #[param(value_type = Option<String>, nullable = false, pattern = "^[1-9][0-9]{1,2}ms$")]
    batch: Option<HumanDuration>,
    /// The calls of all nodes of the cluster, as their records come in; held calls, questions and turns are those of this gateway.
    #[serde(default, alias = "fleet", deserialize_with = "flag")]
    #[param(required = false)]
    cluster: bool,
}

/// An event for a watcher.
enum WatchedEvent {
    /// With its JSON if the caller's profile has other names for its tool.
    Event(Arc<FeedEvent>, Option<String>),
    /// The number of events that were missed; `None` if unknown.
    Missed(Option<u64>),
}

/// The beginning and end of every call that the caller may know of, as they happen.
#[utoipa::path(
    get, path = "/api/events", operation_id = "watch_calls", tag = "watch",
    params(
        EventsQuery,
        ("Last-Event-ID" = inline(Option<String>), Header, nullable = false,
            description = "The last event that was seen: what happened since comes first"),
    ),
    responses(
        (status = 200, body = String, content_type = "text/event-stream",
            description = "Server-sent events; each `data` is JSON with `type`, `id` and `tool` (none for `turn_ended`, a turn of a model), or an array of those"),
        (status = 400, description = "`batch` makes no sense", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn stream(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    Extension(draining): Extension<Draining>,
    headers: HeaderMap,
    wanted: Result<Query<EventsQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(wanted) = wanted.map_err(|wrong| ApiError::BadRequest(wrong.body_text()))?;
    let last = headers.get("last-event-id").map(|last| last.to_str().unwrap_or_default());
    let last = last.filter(|last| !last.is_empty());
    let subscription = match wanted.cluster {
        true => parts.feed.watch_cluster(shared::records(&parts)?, last),
        false => parts.feed.watch(last),
    };
    let events = draining.ends(visible_events(&parts, caller, subscription));
    let feed = WatchedFeed { feed: parts.feed.clone(), is_of_cluster: wanted.cluster };
    Ok(match wanted.batch {
        None => answer(events.map(move |event| feed.one(&event))),
        Some(HumanDuration(pause)) if is_batch(pause) => {
            let batches = tokio_stream::StreamExt::chunks_timeout(events, MOST, pause);
            answer(batches.flat_map(move |events| stream::iter(feed.batch(events))))
        }
        Some(pause) => {
            let text = format!("batch: {pause} is not within 10ms and 5s");
            return Err(ApiError::BadRequest(text));
        }
    })
}

fn is_batch(pause: Duration) -> bool {
    (Duration::from_millis(10)..=Duration::from_secs(5)).contains(&pause)
}

/// Returns the events since the last one that was seen, then those from now on.
fn visible_events(
    parts: &Arc<Parts>,
    caller: Caller,
    subscription: EventSubscription,
) -> impl Stream<Item = WatchedEvent> + Send + use<> {
    let EventSubscription { missed, past, live } = subscription;
    // A caller that may only know of its own calls must not learn how many events others caused.
    let counts = caller.visibility().watches() && !caller.visibility().hides_tools();
    let missed = (missed != Some(0)).then_some(WatchedEvent::Missed(missed.filter(|_| counts)));
    let past = past.into_iter().map(|event| WatchedEvent::Event(event, None));
    let live = BroadcastStream::new(live).map(move |event| match event {
        Ok(event) => WatchedEvent::Event(event, None),
        // A slow reader learns how much it missed.
        Err(BroadcastStreamRecvError::Lagged(missed)) => {
            WatchedEvent::Missed(Some(missed).filter(|_| counts))
        }
    });
    let tools = parts.executor.tools().clone();
    let events = stream::iter(missed.into_iter().chain(past)).chain(live);
    events.filter_map(move |event| {
        future::ready(match event {
            WatchedEvent::Event(event, _) => visible_to(event, &caller, &tools),
            missed @ WatchedEvent::Missed(_) => Some(missed),
        })
    })
}

/// Returns the event as the caller may see it. Events about held calls also go to callers that may decide about them;
/// questions go only to the caller of the call.
fn visible_to(event: Arc<FeedEvent>, caller: &Caller, tools: &ToolManager) -> Option<WatchedEvent> {
    let Some(names) = event.names() else {
        let knows = knows_turn(caller, event.caller.as_ref());
        return knows.then_some(WatchedEvent::Event(event, None));
    };
    if event.is_private {
        // The question has the name that its caller uses.
        let is_own = event.caller == caller.name;
        // All calls of a token are made through its profile; those of the owner are not.
        let is_owner_in_profile = caller.name.is_none() && caller.visibility().profile().is_some();
        let is_seen = !is_owner_in_profile || caller.may_see(names.tool, tools);
        return (is_own && is_seen).then_some(WatchedEvent::Event(event, None));
    }
    let decides = event.is_held && caller.may_approve;
    let of_others = || decides.then(|| tools.shown_tool(caller.visibility(), &names)).flatten();
    let name = caller.shown_call(&names, tools).or_else(of_others)?;
    let json = profile_view::event(&event, &name, caller, tools);
    let json = match shared::sees_nodes(caller) {
        true => json,
        false => without_node(json.as_deref().unwrap_or(&event.json)).or(json),
    };
    Some(WatchedEvent::Event(event, json))
}

impl WatchedEvent {
    /// Returns the JSON of an event.
    fn json(&self) -> &str {
        match self {
            Self::Event(_, Some(json)) => json,
            Self::Event(event, None) => &event.json,
            Self::Missed(_) => "",
        }
    }
}

/// Returns the JSON of an event without its node; `None` if it has none.
fn without_node(json: &str) -> Option<String> {
    // Only events of all nodes have one.
    if !json.contains("\"node\"") {
        return None;
    }
    let mut event: Map<String, Value> = serde_json::from_str(json).ok()?;
    event.shift_remove("node")?;
    Some(Value::Object(event).to_string())
}

/// The feed of this gateway, or of all nodes.
struct WatchedFeed {
    feed: Arc<Feed>,
    is_of_cluster: bool,
}

impl WatchedFeed {
    fn name(&self, event: &FeedEvent) -> String {
        self.feed.name(event, self.is_of_cluster)
    }

    /// Returns one message.
    fn one(&self, event: &WatchedEvent) -> sse::Event {
        match event {
            WatchedEvent::Event(known, _) => {
                sse::Event::default().id(self.name(known)).data(event.json())
            }
            WatchedEvent::Missed(missed) => {
                named("missed", &json!({"missed": missed, "tool": null}))
            }
        }
    }

    /// Returns one message for all events, and one for what was missed.
    fn batch(&self, events: Vec<WatchedEvent>) -> Vec<sse::Event> {
        let mut messages = Vec::new();
        let mut array = String::new();
        let mut last = None;
        for watched in &events {
            match watched {
                WatchedEvent::Event(event, _) => {
                    array.push(if array.is_empty() { '[' } else { ',' });
                    array.push_str(watched.json());
                    last = Some(event);
                }
                WatchedEvent::Missed(_) => messages.push(self.one(watched)),
            }
        }
        if let Some(last) = last {
            array.push(']');
            messages.push(sse::Event::default().id(self.name(last)).data(array));
        }
        messages
    }
}
