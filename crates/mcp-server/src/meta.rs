//! What `_meta` says of a request, read in one go: the protocol's own words by their names, the rest as it is.

use std::{borrow::Cow, fmt, sync::Arc};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value, value::RawValue};
use switchboard_toolcall::{TraceContext, client_name};

use switchboard_mcp_wire::META;

/// What `_meta` says.
#[derive(Debug, Default)]
pub(crate) struct Meta {
    version: Option<Value>,
    /// What the sender can do.
    pub(super) capabilities: Option<Value>,
    /// Whether `clientInfo` is malformed.
    pub(super) is_misnamed: bool,
    /// What the sender calls itself, as records have it.
    pub(super) client: Option<Arc<str>>,
    log_level: Option<Value>,
    progress: Option<Value>,
    /// What is neither the protocol's nor this hop's.
    pub(super) notes: Map<String, Value>,
}

impl Meta {
    /// Returns the protocol version that the request states.
    pub(crate) fn version(&self) -> Option<&str> {
        self.version.as_ref()?.as_str()
    }

    /// Returns the minimum log level, if one is stated.
    pub(super) fn log_level(&self) -> Option<&str> {
        self.log_level.as_ref()?.as_str()
    }

    /// Returns the token for progress notifications.
    pub(super) fn progress_token(&self) -> Option<Box<RawValue>> {
        let token =
            self.progress.as_ref().filter(|token| token.is_string() || token.is_number())?;
        serde_json::value::to_raw_value(token).ok()
    }

    /// The trace that the request is part of (SEP-414); one that cannot be read is no reason to refuse it.
    pub(super) fn trace(&self) -> Option<Arc<TraceContext>> {
        let state = self.notes.get("tracestate").and_then(Value::as_str);
        TraceContext::parse(self.notes.get("traceparent")?.as_str()?, state).map(Arc::new)
    }
}

/// Returns the name in a `clientInfo`, `None` if there is none.
fn client(info: &RawValue) -> Option<Arc<str>> {
    #[derive(Deserialize)]
    struct Info<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
    }
    let info: Info<'_> = serde_json::from_str(info.get()).ok()?;
    client_name(&info.name)
}

/// A key of `_meta`.
enum MetaKey {
    Version,
    Capabilities,
    Info,
    LogLevel,
    Progress,
    /// The protocol's, and unknown to us.
    Unknown,
    Note(String),
}

impl MetaKey {
    fn of(name: &str) -> Self {
        match name.strip_prefix(META) {
            Some("protocolVersion") => Self::Version,
            Some("clientCapabilities") => Self::Capabilities,
            Some("clientInfo") => Self::Info,
            Some("logLevel") => Self::LogLevel,
            Some(_) => Self::Unknown,
            None if name == "progressToken" => Self::Progress,
            None => Self::Note(name.to_owned()),
        }
    }
}

impl<'de> Deserialize<'de> for MetaKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl Visitor<'_> for KeyVisitor {
            type Value = MetaKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E>(self, name: &str) -> Result<MetaKey, E> {
                Ok(MetaKey::of(name))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

impl<'de> Deserialize<'de> for Meta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MetaVisitor;
        impl<'de> Visitor<'de> for MetaVisitor {
            type Value = Meta;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Meta, A::Error> {
                let mut meta = Meta::default();
                while let Some(key) = map.next_key()? {
                    match key {
                        MetaKey::Version => meta.version = Some(map.next_value()?),
                        MetaKey::Capabilities => meta.capabilities = Some(map.next_value()?),
                        MetaKey::Info => {
                            let info: &RawValue = map.next_value()?;
                            meta.is_misnamed = !info.get().starts_with('{');
                            meta.client = client(info);
                        }
                        MetaKey::LogLevel => meta.log_level = Some(map.next_value()?),
                        MetaKey::Progress => meta.progress = Some(map.next_value()?),
                        MetaKey::Unknown => _ = map.next_value::<IgnoredAny>()?,
                        MetaKey::Note(name) => _ = meta.notes.insert(name, map.next_value()?),
                    }
                }
                Ok(meta)
            }
        }
        deserializer.deserialize_map(MetaVisitor)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(meta: &Value) -> Meta {
        serde_json::from_str(&meta.to_string()).unwrap()
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
        for wrong in ["1", "\"a\"", "[]", "{\"a\"}"] {
            assert!(serde_json::from_str::<Meta>(wrong).is_err(), "{wrong}");
        }
    }
}
