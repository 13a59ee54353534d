//! The parameters of a request as they are sent: written in one go, nothing copied on the way.

use std::sync::LazyLock;

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value, value::RawValue};

use super::transport::Failure;
use crate::wire::eras;

// The protocol's own keys.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const TAKES: &str = "io.modelcontextprotocol/clientCapabilities";
const INFO: &str = "io.modelcontextprotocol/clientInfo";
const LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// The parameters of a request, without `_meta`.
#[derive(Clone, Debug)]
pub enum Params<'a> {
    /// Any fields.
    Fields(Map<String, Value>),
    /// Those of a call.
    Call {
        /// The tool's name at the server.
        name: &'a str,
        /// The arguments.
        arguments: &'a Value,
    },
}

/// What is sent as `params`.
pub(super) struct Sent<'a> {
    pub(super) meta: &'a Meta<'a>,
    pub(super) params: &'a Params<'a>,
    /// What an earlier round adds.
    pub(super) further: &'a Map<String, Value>,
}

/// The `_meta` of a request.
#[derive(Default)]
pub(super) struct Meta<'a> {
    /// What the caller says beside the call.
    pub(super) notes: Map<String, Value>,
    /// What may be asked of us; only the modern era tells it with each request.
    pub(super) takes: Option<Value>,
    /// From which level on the tool's log is wanted.
    pub(super) level: Option<&'a str>,
    /// Under which number progress is told.
    pub(super) progress: Option<u64>,
    /// The place in a trace.
    pub(super) trace: &'a [(String, String)],
}

impl Sent<'_> {
    pub(super) fn to_json(&self) -> Result<Box<RawValue>, Failure> {
        serde_json::value::to_raw_value(self).map_err(|error| Failure::Protocol(error.to_string()))
    }
}

impl Serialize for Sent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if !self.meta.is_empty() {
            map.serialize_entry("_meta", self.meta)?;
        }
        match self.params {
            Params::Fields(fields) => entries(&mut map, fields)?,
            Params::Call { name, arguments } => {
                map.serialize_entry("name", name)?;
                map.serialize_entry("arguments", arguments)?;
            }
        }
        entries(&mut map, self.further)?;
        map.end()
    }
}

impl Meta<'_> {
    fn is_empty(&self) -> bool {
        let Self { notes, takes, level, progress, trace } = self;
        notes.is_empty()
            && takes.is_none()
            && level.is_none()
            && progress.is_none()
            && trace.is_empty()
    }
}

impl Serialize for Meta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        // Our own place in the trace stands for the caller's.
        let is_ours = |key: &str| self.trace.iter().any(|(ours, _)| ours == key);
        for (key, value) in self.notes.iter().filter(|(key, _)| !is_ours(key)) {
            map.serialize_entry(key, value)?;
        }
        if let Some(takes) = &self.takes {
            map.serialize_entry(VERSION, eras::MODERN)?;
            map.serialize_entry(TAKES, takes)?;
            match &*CLIENT_INFO {
                Some(text) => map.serialize_entry(INFO, text)?,
                None => map.serialize_entry(INFO, &ClientInfo)?,
            }
        }
        if let Some(level) = self.level {
            map.serialize_entry(LEVEL, level)?;
        }
        if let Some(number) = self.progress {
            map.serialize_entry("progressToken", &number)?;
        }
        for (key, value) in self.trace {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Who we are, written once: every request says it.
static CLIENT_INFO: LazyLock<Option<Box<RawValue>>> =
    LazyLock::new(|| serde_json::value::to_raw_value(&ClientInfo).ok());

/// Who we are.
pub(super) struct ClientInfo;

impl Serialize for ClientInfo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("name", "switchboard")?;
        map.serialize_entry("title", "Switchboard")?;
        map.serialize_entry("version", env!("CARGO_PKG_VERSION"))?;
        map.end()
    }
}

fn entries<M: SerializeMap>(map: &mut M, fields: &Map<String, Value>) -> Result<(), M::Error> {
    fields.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sent(meta: &Meta<'_>, params: &Params<'_>, further: Value) -> String {
        let further = further.as_object().cloned().unwrap_or_default();
        Sent { meta, params, further: &further }.to_json().unwrap().get().to_owned()
    }

    #[test]
    fn what_is_not_there_is_not_sent() {
        let params = Params::Fields(Map::new());
        assert_eq!(sent(&Meta::default(), &params, json!({})), "{}");
        let arguments = json!({"a": 1.0});
        let params = Params::Call { name: "t", arguments: &arguments };
        let expected = r#"{"name":"t","arguments":{"a":1.0},"requestState":"s"}"#;
        assert_eq!(sent(&Meta::default(), &params, json!({"requestState": "s"})), expected);
    }

    // MC-1
    #[test]
    fn a_request_says_who_asks_and_where_it_stands() {
        let trace = [("traceparent".to_owned(), "ours".to_owned())];
        let notes = json!({"vendor/x": 1, "traceparent": "theirs"});
        let meta = Meta {
            notes: notes.as_object().cloned().unwrap_or_default(),
            takes: Some(json!({})),
            level: Some("info"),
            progress: Some(7),
            trace: &trace,
        };
        let sent: Value =
            serde_json::from_str(&sent(&meta, &Params::Fields(Map::new()), json!({}))).unwrap();
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
