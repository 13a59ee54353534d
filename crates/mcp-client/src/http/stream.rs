//! Reads event streams: passes messages to the inbox, in order, until the response arrives.

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde_json::value::RawValue;
use switchboard_mcp_wire::{IncomingMessage, RpcError};
use switchboard_toolcall::sse;
use tokio::{
    sync::oneshot,
    time::{Duration, sleep},
};

use super::{
    HttpShared,
    answer::{self, BodyKind, broken, is_answer, shortened},
    pool::PooledResponse,
};
use crate::transport::{Failure, Inbox};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How long we wait before reconnecting, if the server does not say.
const RETRY: Duration = Duration::from_secs(1);
/// The longest backoff.
const LONGEST: Duration = Duration::from_secs(30);
/// The shortest pause, even if the server asks for a shorter one.
const SHORTEST: Duration = Duration::from_millis(20);
/// How many times in a row resuming a response may fail.
const RESUMES: u32 = 3;

/// The events of one body.
pub(crate) struct ResponseEvents {
    body: PooledResponse,
    parser: sse::SseParser,
    ready: std::vec::IntoIter<sse::SseEvent>,
    too_large: Option<sse::TooLarge>,
}

impl ResponseEvents {
    /// Reads the events in `body`; the parser knows where an earlier stream ended.
    pub(crate) fn new(body: PooledResponse, mut parser: sse::SseParser) -> Self {
        parser.restart();
        Self { body, parser, ready: Vec::new().into_iter(), too_large: None }
    }

    /// Returns the next event that has data; `None` at the orderly end.
    pub(crate) async fn next(&mut self) -> Result<Option<sse::SseEvent>, Failure> {
        loop {
            // An event without data only updates the id to resume from.
            if let Some(event) = self.ready.find(|event| !event.data.is_empty()) {
                return Ok(Some(event));
            }
            if let Some(large) = self.too_large {
                return Err(Failure::Protocol(format!("the server sent {large}")));
            }
            let Some(piece) = self.body.piece().await else { return Ok(None) };
            let piece = piece.map_err(|error| Failure::Lost(broken(&error)))?;
            let mut events = Vec::new();
            self.too_large = self.parser.feed(&piece, &mut events).err();
            self.ready = events.into_iter();
        }
    }
}

/// Reads the response to request `id` from the event stream of a POST, and from those that resume it.
pub(super) async fn answer(
    shared: &HttpShared,
    response: PooledResponse,
    id: u64,
    resumable: bool,
) -> Result<Box<RawValue>, Failure> {
    let mut events = ResponseEvents::new(response, sse::SseParser::new(shared.max_message));
    loop {
        let why = match until_answer(shared, &mut events, id).await? {
            StreamEnd::Answered(outcome) => {
                answer::let_end(events.body);
                return outcome.map_err(Failure::Rpc);
            }
            StreamEnd::Early(why) => why,
        };
        if !resumable || events.parser.last_id().is_none_or(str::is_empty) {
            return Err(Failure::Lost(why));
        }
        tracing::debug!(server = &*shared.name, id, why, "a stream is resumed");
        let rest = resume(shared, &events.parser).await?;
        events = ResponseEvents::new(rest, events.parser);
    }
}

enum StreamEnd {
    Answered(Result<Box<RawValue>, RpcError>),
    Early(String),
}

async fn until_answer(
    shared: &HttpShared,
    events: &mut ResponseEvents,
    id: u64,
) -> Result<StreamEnd, Failure> {
    let mut garbage = None;
    loop {
        let event = match events.next().await {
            Ok(Some(event)) => event,
            // The response may have been in an unreadable event, and is not sent again.
            Ok(None) => match garbage {
                Some(problem) => return Err(Failure::Protocol(problem)),
                None => {
                    return Ok(StreamEnd::Early("the stream ended before the answer".to_owned()));
                }
            },
            Err(Failure::Lost(why)) => return Ok(StreamEnd::Early(why)),
            Err(failure) => return Err(failure),
        };
        match messages(&event) {
            Ok(messages) => {
                if let Some(outcome) = deliver(messages, id, &*shared.inbox) {
                    return Ok(StreamEnd::Answered(outcome));
                }
            }
            Err(problem) => {
                tracing::warn!(server = &*shared.name, problem, "an event was skipped");
                garbage = Some(problem);
            }
        }
    }
}

/// Parses the messages of an event. Returns an empty list if the event has a name other than `message`.
pub(crate) fn messages(event: &sse::SseEvent) -> Result<Vec<IncomingMessage>, String> {
    if !matches!(&*event.name, "" | "message") {
        return Ok(Vec::new());
    }
    answer::messages(&event.data).map_err(|error| {
        format!("the server sent an event that is {error}: {}", shortened(&event.data))
    })
}

/// Passes messages to the inbox, and returns the response to request `id` if it is among them.
fn deliver(
    messages: Vec<IncomingMessage>,
    id: u64,
    inbox: &dyn Inbox,
) -> Option<Result<Box<RawValue>, RpcError>> {
    let mut answer = None;
    for message in messages {
        match message {
            IncomingMessage::Response { id: found, outcome } if is_answer(found, id, &outcome) => {
                answer = Some(outcome);
            }
            IncomingMessage::Response { id, .. } => {
                tracing::debug!(?id, "a response to an unknown request was dropped")
            }
            message => inbox.take_during(message, id),
        }
    }
    answer
}

/// Requests the rest of a stream that broke, after a pause.
async fn resume(shared: &HttpShared, parser: &sse::SseParser) -> Result<PooledResponse, Failure> {
    let mut failures = 0;
    loop {
        sleep(pause(parser, failures)).await;
        let why = match open(shared, parser.last_id()).await {
            Ok(response) if is_stream(&response) => return Ok(response),
            Ok(response) if response.status().is_client_error() => {
                let text = "the stream broke off and the server does not resume it: HTTP status";
                return Err(Failure::Lost(format!("{text} {}", response.status().as_u16())));
            }
            Ok(response) => format!("HTTP status {}", response.status().as_u16()),
            Err(failure) => failure.to_string(),
        };
        failures += 1;
        if failures == RESUMES {
            return Err(Failure::Lost(format!(
                "the stream broke off and cannot be resumed: {why}"
            )));
        }
    }
}

/// Follows the stream that legacy servers offer besides responses, until they no longer do. `answered` is dropped when
/// the server has responded for the first time.
pub(super) async fn listen(shared: &HttpShared, answered: oneshot::Sender<()>) {
    let mut parser = sse::SseParser::new(shared.max_message);
    let mut failures = 0;
    let mut answered = Some(answered);
    loop {
        let opened = open(shared, parser.last_id()).await;
        drop(answered.take());
        match opened {
            Ok(response) if is_stream(&response) => {
                failures = 0;
                let mut events = ResponseEvents::new(response, parser);
                let end = follow(shared, &mut events).await;
                tracing::debug!(server = &*shared.name, ?end, "the listening stream ended");
                parser = events.parser;
            }
            Ok(response) if !response.status().is_server_error() => {
                let status = response.status().as_u16();
                tracing::debug!(server = &*shared.name, status, "no listening stream is offered");
                return;
            }
            _ => failures += 1,
        }
        sleep(pause(&parser, failures)).await;
    }
}

async fn follow(shared: &HttpShared, events: &mut ResponseEvents) -> Result<(), Failure> {
    while let Some(event) = events.next().await? {
        match messages(&event) {
            // Responses belong on the streams of their requests: no request has this id.
            Ok(messages) => drop(deliver(messages, u64::MAX, &*shared.inbox)),
            Err(problem) => {
                tracing::warn!(server = &*shared.name, problem, "an event was skipped");
            }
        }
    }
    Ok(())
}

async fn open(shared: &HttpShared, last_id: Option<&str>) -> Result<PooledResponse, Failure> {
    let mut headers = HeaderMap::clone(&shared.request_headers().headers);
    headers.remove(header::CONTENT_TYPE);
    headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
    if let Some(id) = last_id.filter(|id| !id.is_empty()) {
        let value = HeaderValue::from_str(id).or_else(|_| HeaderValue::from_bytes(id.as_bytes()));
        headers.extend(value.map(|value| (LAST_EVENT_ID, value)));
    }
    shared.send(Method::GET, &headers).await
}

fn is_stream(response: &PooledResponse) -> bool {
    response.status().is_success() && answer::kind(response) == BodyKind::Events
}

/// Returns the pause that the server asks for, doubled with each failure.
fn pause(parser: &sse::SseParser, failures: u32) -> Duration {
    let asked = parser.retry().unwrap_or(RETRY).max(SHORTEST);
    asked.saturating_mul(1 << failures.min(10)).min(LONGEST.max(asked))
}
