//! Reads the responses to POSTs.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{
    StatusCode,
    header::{CONTENT_TYPE, LOCATION},
};
use serde_json::value::RawValue;
use switchboard_mcp_wire::{IncomingMessage, NotJsonRpc, parse};
use switchboard_toolcall::text;
use tokio::time::timeout;

use super::{error_reason, pool::PooledResponse};
use crate::transport::{Failure, Inbox};

/// How many bytes of an error response are read, and how long that may take.
const REFUSAL: (usize, Duration) = (64 << 10, Duration::from_secs(5));

/// How long the rest of an unused body may take.
const REST: Duration = Duration::from_millis(250);

/// The kind of a body, by its content type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyKind {
    /// One JSON text.
    Json,
    /// Server-sent events.
    Events,
    /// Anything else.
    Other,
}

/// Returns the kind of the body, by its content type.
pub(crate) fn kind(response: &PooledResponse) -> BodyKind {
    let value = response.header(&CONTENT_TYPE).unwrap_or_default();
    let essence = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    match essence {
        json if json.eq_ignore_ascii_case(b"application/json") => BodyKind::Json,
        events if events.eq_ignore_ascii_case(b"text/event-stream") => BodyKind::Events,
        _ => BodyKind::Other,
    }
}

/// Returns the response to request `id` from a JSON body; other messages in it go to the inbox.
pub(super) async fn json(
    body: PooledResponse,
    id: u64,
    inbox: &dyn Inbox,
    limit: usize,
) -> Result<Box<RawValue>, Failure> {
    let bytes = whole(body, limit).await?;
    let messages = messages(&bytes).map_err(|error| {
        Failure::Protocol(format!("the answer is {error}: {}", shortened(&bytes)))
    })?;
    let mut answer = None;
    for message in messages {
        match message {
            IncomingMessage::Response { id: found, outcome } if is_answer(found, id, &outcome) => {
                answer = Some(outcome.map_err(Failure::Rpc));
            }
            IncomingMessage::Response { id, .. } => {
                tracing::debug!(?id, "an answer to no request of ours was dropped");
            }
            message => inbox.take_during(message, id),
        }
    }
    answer.unwrap_or_else(|| Err(Failure::Protocol("the answer is for another request".to_owned())))
}

/// Whether a response is the one to request `id`. An error without an id is, because the POST carried no other request.
pub(super) fn is_answer<T, E>(found: Option<u64>, id: u64, outcome: &Result<T, E>) -> bool {
    found == Some(id) || (found.is_none() && outcome.is_err())
}

/// Parses the messages of a JSON text: one, or a batch.
pub(crate) fn messages(bytes: &[u8]) -> Result<Vec<IncomingMessage>, NotJsonRpc> {
    if bytes.trim_ascii_start().first() != Some(&b'[') {
        return Ok(vec![parse(bytes)?]);
    }
    let batch: Vec<&RawValue> =
        serde_json::from_slice(bytes).map_err(|error| NotJsonRpc(error.to_string()))?;
    batch.iter().map(|one| parse(one.get().as_bytes())).collect()
}

/// Returns the failure for a success status whose body is neither JSON nor events.
pub(super) async fn unreadable(response: PooledResponse) -> Failure {
    if response.status() == StatusCode::ACCEPTED {
        return Failure::Protocol("the server took the request but does not answer it".to_owned());
    }
    let found = match response.header(&CONTENT_TYPE).map(shortened) {
        Some(kind) => format!("`{kind}`"),
        None => "no content type".to_owned(),
    };
    let bytes = start(response).await;
    let text = page_title(&bytes).unwrap_or_else(|| shortened(&bytes));
    let text = if text.is_empty() { text } else { format!(": {text}") };
    Failure::Protocol(format!("the answer is neither JSON nor an event stream but {found}{text}"))
}

/// Returns the failure for an error status; `id` is that of the request, if the message was one.
pub(crate) async fn refused(response: PooledResponse, id: Option<u64>) -> Failure {
    let status = response.status();
    let location = response.headers().get(LOCATION).cloned();
    let bytes = start(response).await;
    let error = match parse(&bytes) {
        Ok(IncomingMessage::Response { id: found, outcome: Err(error) }) => Some((found, error)),
        _ => None,
    };
    let barred = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    match error {
        // The server has handled the request and returned a JSON-RPC error; the status only repeats that.
        Some((found, error)) if found.is_some() && found == id && !barred => Failure::Rpc(error),
        error => {
            let body = match location.filter(|_| status.is_redirection()) {
                Some(there) => format!("redirected to {}", shortened(there.as_bytes())),
                None => page_title(&bytes).unwrap_or_else(|| shortened(&bytes)),
            };
            Failure::Http { status: status.as_u16(), body, error: error.map(|(_, error)| error) }
        }
    }
}

/// Reads a whole body.
async fn whole(mut body: PooledResponse, limit: usize) -> Result<Bytes, Failure> {
    let too_large = || Failure::Protocol(format!("the answer has more than {limit} bytes"));
    if body.announced() > limit as u64 {
        return Err(too_large());
    }
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(piece) = body.piece().await {
        let data = piece.map_err(|error| Failure::Protocol(broken(&error)))?;
        if first.len() + rest.len() + data.len() > limit {
            return Err(too_large());
        }
        // Most bodies come in one piece, which is then parsed without a copy.
        if first.is_empty() {
            first = data;
        } else {
            if rest.is_empty() {
                rest.extend_from_slice(&first);
            }
            rest.extend_from_slice(&data);
        }
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

/// Returns why a body ended too early.
pub(crate) fn broken(error: &hyper::Error) -> String {
    format!("the answer broke off: {}", error_reason::reason(error))
}

/// Returns the first bytes of a body, as many as arrive in time.
async fn start(mut body: PooledResponse) -> Vec<u8> {
    let (limit, patience) = REFUSAL;
    let mut bytes = Vec::new();
    let reading = async {
        while let Some(Ok(piece)) = body.piece().await {
            bytes.extend_from_slice(&piece);
            if bytes.len() >= limit {
                break;
            }
        }
    };
    // If it times out, the bytes read so far are used.
    let _ = timeout(patience, reading).await;
    bytes
}

/// Reads an unused body to its end in the background, so that its connection can be reused.
pub(crate) fn let_end(mut body: PooledResponse) {
    if !body.is_end() {
        let rest = async move { while let Some(Ok(_)) = body.piece().await {} };
        tokio::spawn(timeout(REST, rest));
    }
}

/// Returns the title of an HTML page, empty if it has none; `None` if the text is not HTML.
fn page_title(bytes: &[u8]) -> Option<String> {
    let page = String::from_utf8_lossy(bytes);
    // Only ASCII letters change, so that byte offsets are the same in both.
    let lower = page.to_ascii_lowercase();
    let begins = |tag: &&str| lower.trim_start().starts_with(tag);
    if !["<!doctype html", "<html", "<head", "<body"].iter().any(begins) {
        return None;
    }
    let title = || {
        let tag = lower.find("<title")?;
        let start = tag + lower[tag..].find('>')? + 1;
        let end = start + lower[start..].find("</title")?;
        Some(shortened(page[start..end].as_bytes()))
    };
    Some(title().unwrap_or_default())
}

/// Shortens foreign text so that it fits into a message of ours.
pub(crate) fn shortened(bytes: &[u8]) -> String {
    const MOST: usize = 300;
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MOST)]).into_owned();
    let line = start.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().filter(|char| !char.is_control()).collect();
    text::shortened(&line, MOST).into_owned()
}

#[cfg(test)]
mod tests {
    use super::page_title;

    #[test]
    fn of_a_page_only_the_title_is_told() {
        let cases = [
            (
                "<!DOCTYPE html>\n<html><head><title>Error</title></head><body><pre>Cannot POST /sse</pre>",
                Some("Error"),
            ),
            ("<HTML lang=en><TITLE id=a>\u{dc}ber\n uns </TITLE>", Some("\u{dc}ber uns")),
            ("<html><body>no title</body></html>", Some("")),
            ("<!doctype html><title>cut off", Some("")),
            ("Not Found", None),
            ("{\"error\":\"<html>\"}", None),
            ("", None),
        ];
        for (body, title) in cases {
            assert_eq!(page_title(body.as_bytes()).as_deref(), title, "{body}");
        }
    }
}
