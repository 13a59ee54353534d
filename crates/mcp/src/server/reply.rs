//! Results as each era wants them.

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value, json, value::RawValue};
use switchboard_toolcall::{Content, Part, ToolOutput, ToolResult};

use super::{
    Inner,
    exchange::{Exchange, Outcome},
};
use crate::{client::session::META, wire::RpcError};

/// A result that is not on the wire yet.
pub(crate) enum Reply {
    /// Fields, as they are.
    Fields(Map<String, Value>),
    /// A page of a list.
    List(ListReply),
    /// What a tool answered.
    Tool(Box<ToolResult>),
    /// A task in the place of what a tool will answer.
    Task(Map<String, Value>),
}

/// A page of a list.
pub(crate) struct ListReply {
    pub(crate) key: &'static str,
    pub(crate) entries: Vec<Box<RawValue>>,
    pub(crate) next: Option<String>,
    /// How long it stays true, in milliseconds.
    pub(crate) ttl: u64,
    pub(crate) private: bool,
}

impl Reply {
    /// Nothing but success.
    pub(crate) fn empty() -> Self {
        Self::Fields(Map::new())
    }

    /// A result of an upstream server's, without what its own hop added.
    pub(crate) fn passed_on(result: Value, cacheable: bool, exchange: &Exchange) -> Self {
        let Value::Object(mut fields) = result else {
            return Self::empty();
        };
        fields.remove("resultType");
        if let Some(Value::Object(meta)) = fields.get_mut("_meta") {
            meta.remove(&format!("{META}serverInfo"));
            if meta.is_empty() {
                fields.remove("_meta");
            }
        }
        if !exchange.is_modern() {
            fields.remove("ttlMs");
            fields.remove("cacheScope");
        } else if cacheable {
            fields.entry("ttlMs").or_insert(json!(0));
            fields.entry("cacheScope").or_insert(json!("private"));
        }
        Self::Fields(fields)
    }
}

impl Inner {
    /// The result as the client's era wants it.
    pub(crate) fn dress(&self, reply: &Reply, exchange: &Exchange) -> Outcome {
        let info = exchange.is_modern().then_some(&self.info);
        serde_json::value::to_raw_value(&Dressed { reply, info })
            .map_err(|error| RpcError::new(RpcError::INTERNAL, error.to_string()))
    }
}

/// A reply, with what a modern result has beside it.
struct Dressed<'a> {
    reply: &'a Reply,
    info: Option<&'a Value>,
}

impl Serialize for Dressed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let meta = match self.reply {
            Reply::Fields(fields) | Reply::Task(fields) => self.fields(fields, &mut map)?,
            Reply::List(list) => {
                self.list(list, &mut map)?;
                None
            }
            Reply::Tool(result) => self.tool(result, &mut map)?,
        };
        if let Some(info) = self.info {
            let is_task = matches!(self.reply, Reply::Task(_));
            map.serialize_entry("resultType", if is_task { "task" } else { "complete" })?;
            map.serialize_entry("_meta", &Meta { theirs: meta, info })?;
        }
        map.end()
    }
}

impl Dressed<'_> {
    /// Writes all fields but the `_meta` that gets something added, which is returned.
    fn fields<'a, M: SerializeMap>(
        &self,
        fields: &'a Map<String, Value>,
        map: &mut M,
    ) -> Result<Option<&'a Value>, M::Error> {
        let mut meta = None;
        for (key, value) in fields {
            match key == "_meta" && self.info.is_some() {
                true => meta = Some(value),
                false => map.serialize_entry(key, value)?,
            }
        }
        Ok(meta)
    }

    fn list<M: SerializeMap>(&self, list: &ListReply, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry(list.key, &list.entries)?;
        if let Some(next) = &list.next {
            map.serialize_entry("nextCursor", next)?;
        }
        if self.info.is_some() {
            map.serialize_entry("ttlMs", &list.ttl)?;
            map.serialize_entry("cacheScope", if list.private { "private" } else { "public" })?;
        }
        Ok(())
    }

    fn tool<'a, M: SerializeMap>(
        &self,
        result: &'a ToolResult,
        map: &mut M,
    ) -> Result<Option<&'a Value>, M::Error> {
        let meta = match &result.outcome {
            Ok(answer) => match &answer.output {
                ToolOutput::Content(content) => self.content(content, map)?,
                ToolOutput::Value(value) => {
                    map.serialize_entry("content", &[Part::text(result.text())])?;
                    if value.is_object() {
                        map.serialize_entry("structuredContent", value)?;
                    }
                    None
                }
            },
            Err(error) => {
                let meta = match error.output.as_deref() {
                    Some(ToolOutput::Content(content)) => self.content(content, map)?,
                    _ => {
                        map.serialize_entry("content", &[Part::text(result.text())])?;
                        None
                    }
                };
                map.serialize_entry("isError", &true)?;
                meta
            }
        };
        Ok(meta)
    }

    fn content<'a, M: SerializeMap>(
        &self,
        content: &'a Content,
        map: &mut M,
    ) -> Result<Option<&'a Value>, M::Error> {
        map.serialize_entry("content", &content.parts)?;
        self.fields(&content.fields, map)
    }
}

/// A `_meta` that also says who we are.
struct Meta<'a> {
    theirs: Option<&'a Value>,
    info: &'a Value,
}

impl Serialize for Meta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.theirs.and_then(Value::as_object).into_iter().flatten() {
            map.serialize_entry(key, value)?;
        }
        map.serialize_entry("io.modelcontextprotocol/serverInfo", self.info)?;
        map.end()
    }
}
