//! Writes the `params` of a request as JSON, in one pass and without copies.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use switchboard_mcp_wire::eras;
use switchboard_toolcall::json::{ObjectWriter, write_string, write_value};

// The protocol's own keys.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const INFO: &str = "io.modelcontextprotocol/clientInfo";
const LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// Our own: a key that is the same if a call is repeated after a crash. A gateway of ours takes it for an idempotency key.
pub(super) const CALL_KEY: &str = "switchboard/idempotencyKey";

/// The parameters of a request, without `_meta`.
#[derive(Clone, Debug)]
pub enum OutgoingParams<'a> {
    /// Any fields.
    Fields(Map<String, Value>),
    /// The parameters of `tools/call`.
    Call {
        /// The tool's name at the server.
        name: &'a str,
        /// The arguments.
        arguments: &'a Value,
    },
}

/// The `params` of a request with `_meta`.
pub(super) struct ParamsWithMeta<'a> {
    pub(super) meta: &'a RequestMeta<'a>,
    pub(super) params: &'a OutgoingParams<'a>,
    /// What an earlier round adds, such as the answers to the server's questions.
    pub(super) further: &'a Map<String, Value>,
}

/// The `_meta` of a request.
#[derive(Default)]
pub(super) struct RequestMeta<'a> {
    /// The `_meta` that the caller sent with the call.
    pub(super) notes: Map<String, Value>,
    /// The client capabilities; only modern requests carry them.
    pub(super) capabilities: Option<Value>,
    /// The lowest level of log messages that the server should send.
    pub(super) level: Option<&'a str>,
    /// The progress token.
    pub(super) progress: Option<u64>,
    /// The trace context.
    pub(super) trace: &'a [(String, String)],
}

impl ParamsWithMeta<'_> {
    /// Appends the parameters to `json`.
    pub(super) fn write(&self, json: &mut String) {
        let mut object = ObjectWriter::begin(json);
        if !self.meta.is_empty() {
            self.meta.write(object.field("_meta"));
        }
        match self.params {
            OutgoingParams::Fields(fields) => object.fields(fields),
            OutgoingParams::Call { name, arguments } => {
                write_string(object.field("name"), name);
                write_value(object.field("arguments"), arguments);
            }
        }
        object.fields(self.further);
        object.end();
    }
}

impl RequestMeta<'_> {
    fn is_empty(&self) -> bool {
        let Self { notes, capabilities, level, progress, trace } = self;
        notes.is_empty()
            && capabilities.is_none()
            && level.is_none()
            && progress.is_none()
            && trace.is_empty()
    }

    fn write(&self, json: &mut String) {
        let mut object = ObjectWriter::begin(json);
        // Our own trace context replaces the caller's.
        let is_ours = |key: &str| self.trace.iter().any(|(ours, _)| ours == key);
        for (key, value) in self.notes.iter().filter(|(key, _)| !is_ours(key)) {
            write_value(object.field(key), value);
        }
        if let Some(capabilities) = &self.capabilities {
            write_string(object.field(VERSION), eras::MODERN);
            write_value(object.field(CAPABILITIES), capabilities);
            object.field(INFO).push_str(&CLIENT_INFO);
        }
        if let Some(level) = self.level {
            write_string(object.field(LEVEL), level);
        }
        if let Some(number) = self.progress {
            write_value(object.field("progressToken"), &number.into());
        }
        for (key, value) in self.trace {
            write_string(object.field(key), value);
        }
        object.end();
    }
}

/// Our client info, serialized once: every request carries it.
static CLIENT_INFO: LazyLock<String> = LazyLock::new(|| client_info().to_string());

/// Returns our name and version.
pub(super) fn client_info() -> Value {
    json!({"name": "switchboard", "title": "Switchboard", "version": env!("CARGO_PKG_VERSION")})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(meta: &RequestMeta<'_>, params: &OutgoingParams<'_>, further: Value) -> String {
        let further = further.as_object().cloned().unwrap_or_default();
        let mut json = String::new();
        ParamsWithMeta { meta, params, further: &further }.write(&mut json);
        json
    }

    #[test]
    fn what_is_not_there_is_not_sent() {
        let params = OutgoingParams::Fields(Map::new());
        assert_eq!(sent(&RequestMeta::default(), &params, json!({})), "{}");
        let arguments = json!({"a": 1.0});
        let params = OutgoingParams::Call { name: "t", arguments: &arguments };
        let expected = r#"{"name":"t","arguments":{"a":1.0},"requestState":"s"}"#;
        assert_eq!(sent(&RequestMeta::default(), &params, json!({"requestState": "s"})), expected);
    }

    // MC-1
    #[test]
    fn a_request_says_who_asks_and_where_it_stands() {
        let trace = [("traceparent".to_owned(), "ours".to_owned())];
        let notes = json!({"vendor/x": 1, "traceparent": "theirs"});
        let meta = RequestMeta {
            notes: notes.as_object().cloned().unwrap_or_default(),
            capabilities: Some(json!({})),
            level: Some("info"),
            progress: Some(7),
            trace: &trace,
        };
        let sent: Value =
            serde_json::from_str(&sent(&meta, &OutgoingParams::Fields(Map::new()), json!({})))
                .unwrap();
        let version = env!("CARGO_PKG_VERSION");
        let expected = json!({"_meta": {
            "vendor/x": 1,
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "switchboard", "title": "Switchboard", "version": version},
            "io.modelcontextprotocol/logLevel": "info",
            "progressToken": 7,
            "traceparent": "ours",
        }});
        assert_eq!(sent, expected);
    }
}
