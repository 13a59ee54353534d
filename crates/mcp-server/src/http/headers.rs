//! Parses a request's headers, and compares them with its body.

use std::{borrow::Cow, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{self, AsHeaderName},
};
use serde_json::Value;
use switchboard_toolcall::TraceContext;

use crate::rpc_request::RpcRequest;
use switchboard_mcp_wire::RpcError;
use switchboard_mcp_wire::headers::{self, ParameterHeader};

/// The header that carries the revision.
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

// The headers of a modern request that repeat its body.
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The `Accept` header that MCP requires of every client.
const BOTH: &[u8] = b"application/json, text/event-stream";

/// The kinds of responses that the client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepts {
    pub(super) json: bool,
    pub(super) events: bool,
}

/// Reads `Accept`; if it is missing, everything is accepted.
pub(super) fn accepts(headers: &HeaderMap) -> Accepts {
    let mut values = headers.get_all(header::ACCEPT).iter().peekable();
    if values.peek().is_none_or(|first| first.as_bytes() == BOTH) {
        return Accepts { json: true, events: true };
    }
    let mut accepts = Accepts { json: false, events: false };
    for value in values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')) {
        let essence = value.split(';').next().unwrap_or_default().trim();
        let is = |kinds: [&str; 3]| kinds.iter().any(|kind| essence.eq_ignore_ascii_case(kind));
        accepts.json |= is(["application/json", "application/*", "*/*"]);
        accepts.events |= is(["text/event-stream", "text/*", "*/*"]);
    }
    accepts
}

/// Whether the body is JSON, as far as the headers say.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let Some(kind) = headers.get(header::CONTENT_TYPE) else {
        return true;
    };
    let essence = kind.to_str().unwrap_or("").split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// Returns a header as text.
pub(super) fn text(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// Parses the trace context of a request.
pub(super) fn trace(headers: &HeaderMap) -> Option<Arc<TraceContext>> {
    let values = |name| headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    TraceContext::from_headers(values).map(Arc::new)
}

/// Checks that the headers of a modern request repeat what its body says.
///
/// # Errors
/// The headers do not match the body, or one is missing.
pub(super) fn check(headers: &HeaderMap, rpc: &RpcRequest) -> Result<(), RpcError> {
    let same = |name: HeaderName, expected| same(headers.get(&name), name.as_str(), expected);
    same(VERSION, rpc.version())?;
    same(METHOD, Some(&rpc.method))?;
    match rpc.named() {
        Some(name) => same(NAME, Some(name)),
        None => Ok(()),
    }
}

/// Checks the headers that repeat parameters of a tool call.
///
/// # Errors
/// As [`check`].
pub(super) fn check_parameters(
    headers: &HeaderMap,
    parameters: &[ParameterHeader],
    args: &Value,
) -> Result<(), RpcError> {
    let expected = headers::of_call("", parameters, args);
    for parameter in parameters {
        let name = parameter.header_name();
        let value = expected.iter().find(|(expected, _)| *expected == name);
        let sent = headers.get(&name);
        match value {
            Some((_, value)) => same(sent, &name, Some(value))?,
            None if sent.is_some() => {
                return Err(mismatch(&name, "the body has no such parameter"));
            }
            None => {}
        }
    }
    Ok(())
}

fn same(sent: Option<&HeaderValue>, name: &str, expected: Option<&str>) -> Result<(), RpcError> {
    let Some(value) = sent else {
        return Err(mismatch(name, "it is missing"));
    };
    match decoded(value.as_bytes()) {
        Some(value) if expected == Some(&*value) => Ok(()),
        Some(_) => Err(mismatch(name, "the body says something else")),
        None => Err(mismatch(name, "it cannot be read")),
    }
}

/// Returns the value of a header: plain, or decoded from base64.
fn decoded(value: &[u8]) -> Option<Cow<'_, str>> {
    let text = str::from_utf8(value).ok()?.trim_matches([' ', '\t']);
    let encoded = text.get(..9).filter(|start| start.eq_ignore_ascii_case("=?base64?"));
    match encoded.and_then(|_| text[9..].strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok().map(Cow::Owned),
        None => {
            let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
            is_plain.then_some(Cow::Borrowed(text))
        }
    }
}

fn mismatch(name: &str, problem: &str) -> RpcError {
    RpcError::new(RpcError::HEADER_MISMATCH, format!("header `{name}`: {problem}"))
}
