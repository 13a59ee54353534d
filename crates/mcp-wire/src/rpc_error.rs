//! The errors of JSON-RPC, and their codes.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

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
    /// The user declined, or cannot be asked.
    pub const REFUSED: i64 = -32000;
    /// A person has to open pages before the request is handled; they are in `data` (2025-11-25).
    pub const URL_ELICITATION_REQUIRED: i64 = -32042;
    /// Headers and body contradict each other (2026-07-28).
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The client lacks a capability that the request needs (2026-07-28).
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

    /// Parses the error of a response; anything else is quoted.
    pub(crate) fn read(error: &RawValue) -> Self {
        serde_json::from_str(error.get())
            .unwrap_or_else(|_| Self::new(0, format!("not a JSON-RPC error: {}", error.get())))
    }
}
