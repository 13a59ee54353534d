//! A message that comes: told apart by its fields, its payload kept raw.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A message from the other side.
#[derive(Debug)]
pub enum IncomingMessage {
    /// The answer to a request of ours.
    Response {
        /// Our id; none where the other side could not read it.
        id: Option<u64>,
        /// The result, or why there is none.
        outcome: Result<Box<RawValue>, RpcError>,
    },
    /// A request of theirs.
    Request {
        /// Their id, given back as it came.
        id: Box<RawValue>,
        /// What they want.
        method: String,
        /// With which parameters.
        params: Option<Box<RawValue>>,
    },
    /// Something they tell us.
    Notification {
        /// What it is about.
        method: String,
        /// The details.
        params: Option<Box<RawValue>>,
    },
}

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    /// The code.
    #[serde(default)]
    pub code: i64,
    /// What went wrong, in words.
    #[serde(default)]
    pub message: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<serde_json::Value>>,
}

impl RpcError {
    /// The bytes are not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The JSON is no JSON-RPC request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method is not known.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Something failed on our side.
    pub const INTERNAL: i64 = -32603;
    /// There is no such resource (up to 2025-11-25).
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// Who was asked said no, or cannot be asked.
    pub const REFUSED: i64 = -32000;
    /// The headers do not say what the body says (2026-07-28).
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The client does not have what the request needs (2026-07-28).
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// The revision is not spoken (2026-07-28).
    pub const UNSUPPORTED_VERSION: i64 = -32022;

    /// An error of ours.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The same error with more about it.
    #[must_use]
    pub fn with_data(mut self, data: serde_json::Value) -> Self {
        self.data = Some(Box::new(data));
        self
    }
}

/// Bytes that are no JSON-RPC message, and why.
#[derive(Debug, thiserror::Error)]
#[error("not JSON-RPC: {0}")]
pub struct NotJsonRpc(pub String);

/// All fields that a message can have.
#[derive(Deserialize)]
struct MessageFields<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Reads one message.
///
/// # Errors
/// The bytes are not JSON, or JSON of another kind.
pub fn parse(bytes: &[u8]) -> Result<IncomingMessage, NotJsonRpc> {
    let fields: MessageFields<'_> =
        serde_json::from_slice(bytes).map_err(|error| NotJsonRpc(error.to_string()))?;
    fields.message()
}

/// Reads the first message of the bytes, and returns how many of them it took.
///
/// # Errors
/// As [`parse`].
pub fn parse_prefix(bytes: &[u8]) -> Result<(IncomingMessage, usize), NotJsonRpc> {
    let mut stream = serde_json::Deserializer::from_slice(bytes).into_iter::<MessageFields<'_>>();
    match stream.next() {
        Some(Ok(fields)) => Ok((fields.message()?, stream.byte_offset())),
        Some(Err(error)) => Err(NotJsonRpc(error.to_string())),
        None => Err(NotJsonRpc("nothing there".to_owned())),
    }
}

impl MessageFields<'_> {
    fn message(self) -> Result<IncomingMessage, NotJsonRpc> {
        if self.jsonrpc.as_deref() != Some("2.0") {
            return Err(NotJsonRpc("no \"jsonrpc\":\"2.0\"".to_owned()));
        }
        let owned = |raw: &RawValue| raw.to_owned();
        // `"id": null` is as good as none.
        let id = self.id.filter(|id| id.get() != "null");
        match (self.method, id) {
            (Some(method), Some(id)) => Ok(IncomingMessage::Request {
                id: id.to_owned(),
                method: method.into_owned(),
                params: self.params.map(owned),
            }),
            (Some(method), None) => Ok(IncomingMessage::Notification {
                method: method.into_owned(),
                params: self.params.map(owned),
            }),
            (None, id) => {
                let outcome = match (self.result, self.error) {
                    (_, Some(error)) if error.get() != "null" => Err(read_error(error)),
                    (Some(result), _) => Ok(result.to_owned()),
                    _ => return Err(NotJsonRpc("no method, result or error".to_owned())),
                };
                Ok(IncomingMessage::Response { id: id.and_then(our_id), outcome })
            }
        }
    }
}

/// Some servers give our number back as a string.
fn our_id(id: &RawValue) -> Option<u64> {
    id.get().trim_matches('"').parse().ok()
}

fn read_error(error: &RawValue) -> RpcError {
    serde_json::from_str(error.get()).unwrap_or_else(|_| RpcError {
        code: 0,
        message: format!("not a JSON-RPC error: {}", error.get()),
        data: None,
    })
}
