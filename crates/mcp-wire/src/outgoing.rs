//! A message of ours: most of it is JSON already, and only copied.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_toolcall::json::write_string;

use super::RpcError;

/// What holds JSON as text.
pub trait AsJson {
    /// The JSON.
    fn as_json(&self) -> &str;
}

impl AsJson for str {
    fn as_json(&self) -> &str {
        self
    }
}

impl AsJson for RawValue {
    fn as_json(&self) -> &str {
        self.get()
    }
}

impl<T: AsJson + ?Sized> AsJson for Box<T> {
    fn as_json(&self) -> &str {
        (**self).as_json()
    }
}

/// JSON that we have written ourselves, here or at another gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonText(pub String);

impl AsJson for JsonText {
    fn as_json(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(|raw| Self(Box::<str>::from(raw).into()))
    }
}

impl Serialize for JsonText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = serde_json::from_str::<&RawValue>(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// A message of ours. Payloads and ids of others are JSON.
#[derive(Clone, Copy, Debug)]
pub enum Outgoing<'a> {
    /// A request.
    Request {
        /// Our id.
        id: u64,
        /// The method.
        method: &'a str,
        /// With which parameters.
        params: Option<&'a str>,
    },
    /// A notification.
    Notification {
        /// The method.
        method: &'a str,
        /// The details.
        params: Option<&'a str>,
    },
    /// A good answer.
    Result {
        /// Their id.
        id: &'a str,
        /// The result.
        result: &'a str,
    },
    /// A bad answer.
    Error {
        /// Their id.
        id: &'a str,
        /// What went wrong.
        error: &'a RpcError,
    },
}

impl<'a> Outgoing<'a> {
    /// A request of ours.
    pub fn request(id: u64, method: &'a str, params: Option<&'a (impl AsJson + ?Sized)>) -> Self {
        Self::Request { id, method, params: params.map(AsJson::as_json) }
    }

    /// A notification.
    pub fn notification(method: &'a str, params: Option<&'a (impl AsJson + ?Sized)>) -> Self {
        Self::Notification { method, params: params.map(AsJson::as_json) }
    }

    /// The answer to a request of theirs.
    pub fn response(id: &'a RawValue, outcome: &'a Result<impl AsJson, RpcError>) -> Self {
        match outcome {
            Ok(result) => Self::Result { id: id.get(), result: result.as_json() },
            Err(error) => Self::error(id, error),
        }
    }

    /// Creates an error response.
    pub fn error(id: &'a RawValue, error: &'a RpcError) -> Self {
        Self::Error { id: id.get(), error }
    }

    /// The message as JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        // The envelope is short; one allocation is enough for everything.
        let payload = match self {
            Self::Request { params, .. } | Self::Notification { params, .. } => *params,
            Self::Result { result, .. } => Some(*result),
            Self::Error { .. } => None,
        };
        let mut json = String::with_capacity(128 + payload.map_or(0, str::len));
        self.write(&mut json);
        json.into_bytes()
    }

    fn write(&self, json: &mut String) {
        match self {
            Self::Request { id, method, params } => write_head(json, Some(*id), method, *params),
            Self::Notification { method, params } => write_head(json, None, method, *params),
            Self::Result { id, result } => {
                for part in [START, ",\"id\":", id, ",\"result\":", result] {
                    json.push_str(part);
                }
            }
            Self::Error { id, error } => {
                // A code and texts can always be written.
                let error = serde_json::to_string(error).unwrap_or_default();
                for part in [START, ",\"id\":", id, ",\"error\":", &error] {
                    json.push_str(part);
                }
            }
        }
        json.push('}');
    }
}

const START: &str = r#"{"jsonrpc":"2.0""#;

/// Writes a request whose parameters `params` appends, as JSON.
pub fn write_request(id: u64, method: &str, params: impl FnOnce(&mut String)) -> String {
    let mut json = String::with_capacity(512);
    write_head(&mut json, Some(id), method, Some(""));
    params(&mut json);
    json.push('}');
    json
}

/// Appends all of a request or notification but its last brace.
fn write_head(json: &mut String, id: Option<u64>, method: &str, params: Option<&str>) {
    json.push_str(START);
    if let Some(id) = id {
        // Writing to a string cannot fail.
        _ = write!(json, ",\"id\":{id}");
    }
    json.push_str(",\"method\":");
    write_string(json, method);
    if let Some(params) = params {
        json.push_str(",\"params\":");
        json.push_str(params);
    }
}

/// Lays a message out on one line: raw JSON may have come on several. Within its strings a line end is always escaped.
pub fn flatten(message: &mut [u8]) {
    for byte in message {
        if matches!(*byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(message: Outgoing<'_>, expected: &str) {
        assert_eq!(String::from_utf8(message.to_bytes()).unwrap(), expected);
        let mut line = message.to_bytes();
        flatten(&mut line);
        let expected = expected.replace('\n', " ");
        assert_eq!(String::from_utf8(line).unwrap(), expected);
    }

    #[test]
    fn messages_have_the_fields_of_their_kind() {
        let json = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let params = json("{\n\"a\":1.0}");
        check(
            Outgoing::request(7, "tools/call", Some(&params)),
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\n\"a\":1.0}}",
        );
        let written = write_request(7, "tools/call", |json| json.push_str("[]"));
        let expected = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[]}"#;
        assert_eq!(written, expected);
        check(
            Outgoing::request(8, "ping", None::<&str>),
            r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#,
        );
        check(
            Outgoing::notification("a\"b", Some("[]")),
            r#"{"jsonrpc":"2.0","method":"a\"b","params":[]}"#,
        );
        check(Outgoing::notification("n", None::<&str>), r#"{"jsonrpc":"2.0","method":"n"}"#);
        check(
            Outgoing::response(&json("\"x\""), &Ok(JsonText("{}".to_owned()))),
            r#"{"jsonrpc":"2.0","id":"x","result":{}}"#,
        );
        let error = RpcError::new(-1, "no").with_data(json!({"why": ["b", 2]}));
        check(
            Outgoing::error(RawValue::NULL, &error),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no","data":{"why":["b",2]}}}"#,
        );
    }
}
