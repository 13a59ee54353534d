//! A client's request as methods see it: its parameters and its `_meta`.

use std::sync::Arc;

use serde_json::{Map, Value, json, value::RawValue};
use switchboard_mcp_wire::{META, RequestParams, RpcError, eras};
use switchboard_toolcall::{LogLevel, TraceContext, client_name};

use super::{
    exchange::{ModernClient, ReplyChannel},
    outbox::Outbox,
};

/// A JSON-RPC request of a client.
#[derive(Debug)]
pub(crate) struct RpcRequest {
    pub(crate) id: Box<RawValue>,
    pub(crate) method: String,
    /// The parameters without `_meta`.
    pub(crate) params: Map<String, Value>,
    meta: Option<RequestMetaFields>,
    /// The trace context of `_meta`, or else of the headers.
    pub(crate) trace: Option<Arc<TraceContext>>,
}

impl RpcRequest {
    /// Creates a request that was just read.
    pub(crate) fn new(id: Box<RawValue>, method: String, params: Option<RequestParams>) -> Self {
        let RequestParams { meta, fields } = params.unwrap_or_default();
        let meta = meta.map(RequestMetaFields::of);
        let trace = meta.as_ref().and_then(RequestMetaFields::trace);
        Self { id, method, params: fields, meta, trace }
    }

    /// Checks the id, and the parameters that all stateless requests have in common.
    ///
    /// # Errors
    /// Fails if one of them has the wrong type.
    pub(crate) fn check(&self) -> Result<(), RpcError> {
        if !is_id(&self.id) {
            let text = "`id` must be a string or a number";
            return Err(RpcError::new(RpcError::INVALID_REQUEST, text));
        }
        if self.meta.is_none() {
            return Ok(());
        }
        let is_text = |value: &Value| value.is_null() || value.is_string();
        let is_wrong = |key: &&str| !self.params.get(*key).is_none_or(is_text);
        let wrong = ["name", "uri", "taskId", "requestState"].into_iter().find(is_wrong);
        let responses = self.params.get("inputResponses");
        let is_object = responses.is_none_or(|value| value.is_null() || value.is_object());
        let text = match wrong {
            Some(key) => format!("`{key}` must be a string"),
            None if !is_object => "`inputResponses` must be an object".to_owned(),
            None => return Ok(()),
        };
        Err(RpcError::new(RpcError::INVALID_PARAMS, text))
    }

    /// Returns a string parameter.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.params.get(key)?.as_str()
    }

    /// Returns the answers to questions that the request carries.
    pub(crate) fn responses(&self) -> Map<String, Value> {
        let responses = self.params.get("inputResponses").and_then(Value::as_object);
        responses.cloned().unwrap_or_default()
    }

    /// Returns the protocol version that it states, as stateless ones do.
    pub(crate) fn version(&self) -> Option<&str> {
        self.meta.as_ref()?.version()
    }

    /// Returns whether it states a protocol version.
    pub(crate) fn is_modern(&self) -> bool {
        self.version().is_some()
    }

    /// Returns the channel for its messages, and the rest of its `_meta`.
    pub(crate) fn channel(&mut self, outbox: Arc<Outbox>) -> (ReplyChannel, Map<String, Value>) {
        let meta = self.meta.take().unwrap_or_default();
        (ReplyChannel { outbox, progress_token: meta.progress_token() }, meta.notes)
    }

    /// Returns the name of the target, which `Mcp-Name` repeats.
    pub(crate) fn named(&self) -> Option<&str> {
        match self.method.as_str() {
            "tools/call" | "prompts/get" => self.text("name"),
            "resources/read" => self.text("uri"),
            "tasks/get" | "tasks/update" | "tasks/cancel" => self.text("taskId"),
            _ => None,
        }
    }

    /// Returns the client that sent it.
    ///
    /// # Errors
    /// Fails if something required is missing, or the protocol version is another one.
    pub(crate) fn sender(&self) -> Result<ModernClient, RpcError> {
        let missing = |key: &str| {
            let text = format!("`_meta` must have `io.modelcontextprotocol/{key}`");
            RpcError::new(RpcError::INVALID_PARAMS, text)
        };
        let meta = self.meta.as_ref().ok_or_else(|| missing("protocolVersion"))?;
        let version = meta.version().ok_or_else(|| missing("protocolVersion"))?;
        let capabilities = meta.capabilities.as_ref();
        let capabilities = capabilities.ok_or_else(|| missing("clientCapabilities"))?;
        if !capabilities.is_object() || meta.is_misnamed {
            let text = "`clientCapabilities` and `clientInfo` must be objects";
            return Err(RpcError::new(RpcError::INVALID_PARAMS, text));
        }
        if version != eras::MODERN {
            let text = format!("protocol version {version:?} is not spoken here");
            let data = json!({"supported": supported(), "requested": version});
            return Err(RpcError::new(RpcError::UNSUPPORTED_VERSION, text).with_data(data));
        }
        let log_level = meta.log_level().and_then(LogLevel::named);
        let (capabilities, client) = (capabilities.clone(), meta.client.clone());
        Ok(ModernClient { capabilities, client, log_level })
    }
}

/// Returns whether this is a valid request id.
pub(crate) fn is_id(id: &RawValue) -> bool {
    id.get().starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit())
}

/// Returns the supported protocol versions, the newest first.
pub(crate) fn supported() -> Vec<&'static str> {
    std::iter::once(eras::MODERN).chain(eras::LEGACY.iter().copied()).collect()
}

/// The fields of `_meta`.
#[derive(Debug, Default)]
struct RequestMetaFields {
    version: Option<Value>,
    /// The sender's capabilities.
    capabilities: Option<Value>,
    /// Whether `clientInfo` is malformed.
    is_misnamed: bool,
    /// The sender's name, as records have it.
    client: Option<Arc<str>>,
    log_level: Option<Value>,
    progress: Option<Value>,
    /// Other fields, to be passed on.
    notes: Map<String, Value>,
}

impl RequestMetaFields {
    /// Separates the protocol's own fields from the rest, which is kept unchanged.
    fn of(mut fields: Map<String, Value>) -> Self {
        let mut meta = Self::default();
        if fields.keys().any(|key| key.starts_with(META)) {
            fields.retain(|key, value| {
                let Some(key) = key.strip_prefix(META) else { return true };
                let value = value.take();
                match key {
                    "protocolVersion" => meta.version = Some(value),
                    "clientCapabilities" => meta.capabilities = Some(value),
                    "clientInfo" => {
                        meta.is_misnamed = !value.is_object();
                        meta.client = value["name"].as_str().and_then(client_name);
                    }
                    "logLevel" => meta.log_level = Some(value),
                    // A field of the protocol that we do not know.
                    _ => {}
                }
                false
            });
        }
        meta.progress = fields.shift_remove("progressToken");
        meta.notes = fields;
        meta
    }

    /// Returns the protocol version that the request states.
    fn version(&self) -> Option<&str> {
        self.version.as_ref()?.as_str()
    }

    /// Returns the minimum log level, if one is stated.
    fn log_level(&self) -> Option<&str> {
        self.log_level.as_ref()?.as_str()
    }

    /// Returns the token for progress notifications.
    fn progress_token(&self) -> Option<Box<RawValue>> {
        let token =
            self.progress.as_ref().filter(|token| token.is_string() || token.is_number())?;
        serde_json::value::to_raw_value(token).ok()
    }

    /// Returns the trace context of the request (SEP-414); ignores an invalid one.
    fn trace(&self) -> Option<Arc<TraceContext>> {
        let state = self.notes.get("tracestate").and_then(Value::as_str);
        TraceContext::parse(self.notes.get("traceparent")?.as_str()?, state).map(Arc::new)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(meta: &Value) -> RequestMetaFields {
        RequestMetaFields::of(meta.as_object().cloned().unwrap_or_default())
    }

    #[test]
    fn the_protocols_own_words_are_told_from_notes() {
        let meta = read(&json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
            "io.modelcontextprotocol/clientInfo": {"name": "t"},
            "io.modelcontextprotocol/logLevel": "info",
            "io.modelcontextprotocol/later": [1],
            "progressToken": 7,
            "vendor/x": {"y": 1.50},
            "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        }));
        assert_eq!(meta.version(), Some("2026-07-28"));
        assert_eq!(meta.capabilities, Some(json!({"roots": {}})));
        assert_eq!((meta.log_level(), meta.is_misnamed), (Some("info"), false));
        assert_eq!(meta.client.as_deref(), Some("t"));
        assert_eq!(meta.progress_token().unwrap().get(), "7");
        assert!(meta.trace().is_some());
        let names: Vec<_> = meta.notes.keys().collect();
        assert_eq!(names, ["vendor/x", "traceparent"]);
    }

    #[test]
    fn values_of_the_wrong_kind_are_seen() {
        for info in [json!(1), json!("t"), json!([]), Value::Null] {
            let meta = read(&json!({"io.modelcontextprotocol/clientInfo": info}));
            assert!(meta.is_misnamed, "{info}");
        }
        let meta = read(&json!({
            "io.modelcontextprotocol/protocolVersion": 1,
            "io.modelcontextprotocol/clientCapabilities": null,
            "io.modelcontextprotocol/logLevel": 2,
            "progressToken": {},
        }));
        assert_eq!((meta.version(), meta.log_level()), (None, None));
        assert_eq!(meta.capabilities, Some(Value::Null));
        assert!(meta.progress_token().is_none());
    }
}
