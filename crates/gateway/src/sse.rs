//! Server-sent events: every stream of ours is made here, so that all live and end alike.

use std::{convert::Infallible, time::Duration};

use axum::response::{
    IntoResponse, Response,
    sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, StreamExt};
use http::HeaderValue;
use serde::Serialize;

/// How often a silent stream shows that it is alive.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// The answer that these events make.
pub(crate) fn answer(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let events = Sse::new(events.map(Ok::<_, Infallible>));
    let mut response = events.keep_alive(KeepAlive::new().interval(SIGN_OF_LIFE)).into_response();
    // Proxies that collect what they pass on would hold events back.
    let no = HeaderValue::from_static("no");
    response.headers_mut().insert("x-accel-buffering", no);
    response
}

/// An event of this name, with a body of JSON.
pub(crate) fn named(name: &str, body: &impl Serialize) -> Event {
    // Ours are always JSON.
    Event::default().event(name).data(serde_json::to_string(body).unwrap_or_default())
}
