//! Calls as they happen, as server-sent events.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::State,
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, StreamExt};
use tokio_stream::wrappers::{BroadcastStream, errors::BroadcastStreamRecvError};

use crate::{Caller, draining::Draining, gateway::Parts, rest::openapi::words::Refused};

/// The beginning and end of every call whose tool the caller may see, as they happen.
#[utoipa::path(
    get, path = "/api/events", operation_id = "watch_calls", tag = "watch",
    responses(
        (status = 200, body = String, content_type = "text/event-stream",
            description = "Server-sent events; each `data` is JSON with `type`, `id` and `tool`"),
        Refused,
    )
)]
pub(crate) async fn stream(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    Extension(draining): Extension<Draining>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let events = BroadcastStream::new(parts.feed.watch());
    let tools = parts.executor.tools().clone();
    let events = events.filter_map(move |event| {
        let event = match event {
            Ok(event) if caller.may_see(&event.tool, &tools) => {
                Some(Event::default().data(&event.json))
            }
            Ok(_) => None,
            // Whoever reads too slowly is told how much it missed.
            Err(BroadcastStreamRecvError::Lagged(missed)) => Some(
                Event::default()
                    .event("missed")
                    .data(format!("{{\"missed\":{missed},\"tool\":null}}")),
            ),
        };
        std::future::ready(event.map(Ok))
    });
    Sse::new(draining.ends(events)).keep_alive(KeepAlive::new().interval(Duration::from_secs(15)))
}
