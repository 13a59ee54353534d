//! A request of a client's as methods see it: its parameters, and what `_meta` says beside them.

use std::sync::Arc;

use serde_json::{Map, Value, json, value::RawValue};
use switchboard_mcp_wire::{META, RequestParams, RpcError, eras};
use switchboard_toolcall::{LogLevel, TraceContext, client_name};

use super::{
    exchange::{ModernClient, ReplyChannel},
    outbox::Outbox,
};

/// A JSON-RPC request of a client's.
#[derive(Debug)]
pub(crate) struct RpcRequest {
    pub(crate) id: Box<RawValue>,
    pub(crate) method: String,
    /// The parameters without `_meta`.
    pub(crate) params: Map<String, Value>,
    meta: Option<Meta>,
    /// The trace of `_meta`, or else of the headers.
    pub(crate) trace: Option<Arc<TraceContext>>,
}

impl RpcRequest {
    /// A request that has just been read.
    pub(crate) fn new(id: Box<RawValue>, method: String, params: Option<RequestParams>) -> Self {
        let RequestParams { meta, fields } = params.unwrap_or_default();
        let meta = meta.map(Meta::of);
        let trace = meta.as_ref().and_then(Meta::trace);
        Self { id, method, params: fields, meta, trace }
    }

    /// Checks the id, and the parameters that are read before the method's own: those that stateless requests have in
    /// common.
    ///
    /// # Errors
    /// One of them has the wrong type.
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

    /// Returns a parameter that is text.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.params.get(key)?.as_str()
    }

    /// Returns the answers to questions that it brings.
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

    /// Returns what it names, as `Mcp-Name` repeats it.
    pub(crate) fn named(&self) -> Option<&str> {
        match self.method.as_str() {
            "tools/call" | "prompts/get" => self.text("name"),
            "resources/read" => self.text("uri"),
            "tasks/get" | "tasks/update" | "tasks/cancel" => self.text("taskId"),
            _ => None,
        }
    }

    /// Returns what the sender says of itself.
    ///
    /// # Errors
    /// Something required is missing, or the protocol version is another.
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

/// What `_meta` says.
#[derive(Debug, Default)]
struct Meta {
    version: Option<Value>,
    /// What the sender can do.
    capabilities: Option<Value>,
    /// Whether `clientInfo` is malformed.
    is_misnamed: bool,
    /// What the sender calls itself, as records have it.
    client: Option<Arc<str>>,
    log_level: Option<Value>,
    progress: Option<Value>,
    /// What is neither the protocol's nor this hop's.
    notes: Map<String, Value>,
}

impl Meta {
    /// Tells the protocol's own words from the rest, which is kept as it came.
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
                    // The protocol's, and unknown to us.
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

    /// The trace that the request is part of (SEP-414); one that cannot be read is no reason to refuse it.
    fn trace(&self) -> Option<Arc<TraceContext>> {
        let state = self.notes.get("tracestate").and_then(Value::as_str);
        TraceContext::parse(self.notes.get("traceparent")?.as_str()?, state).map(Arc::new)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(meta: &Value) -> Meta {
        Meta::of(meta.as_object().cloned().unwrap_or_default())
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
