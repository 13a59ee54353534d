//! Server-sent events: all our streams are created here, so that keep-alive and headers are the same.

use std::{convert::Infallible, time::Duration};

use axum::response::{
    IntoResponse, Response,
    sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, StreamExt};
use http::HeaderValue;
use serde::Serialize;

/// The interval of keep-alive comments.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// Creates the response for these events.
pub(crate) fn answer(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let events = Sse::new(events.map(Ok::<_, Infallible>));
    let mut response = events.keep_alive(KeepAlive::new().interval(SIGN_OF_LIFE)).into_response();
    // Proxies must not buffer events.
    let no = HeaderValue::from_static("no");
    response.headers_mut().insert("x-accel-buffering", no);
    response
}

/// Creates an event with this name and a JSON body.
pub(crate) fn named(name: &str, body: &impl Serialize) -> Event {
    // Cannot fail: our types are always valid JSON.
    Event::default().event(name).data(serde_json::to_string(body).unwrap_or_default())
}
