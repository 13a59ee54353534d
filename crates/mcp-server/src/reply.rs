//! Results of methods, written in the format of each era.

use serde_json::{Map, Value, json, value::RawValue};
use switchboard_toolcall::{
    Content, ErrorKind, Part, ToolOutput, ToolResult,
    json::{ObjectWriter, write_list, write_object, write_string, write_value},
};

use super::{ServerInner, exchange::Exchange};
use switchboard_mcp_wire::{
    JsonText,
    error_kind::{self, is_passed_on},
};

/// A result before it is written.
pub(crate) enum MethodReply {
    /// Fields, unchanged.
    Fields(Map<String, Value>),
    /// A page of a list.
    List(ListReply),
    /// The result of a tool.
    Tool(Box<ToolResult>),
    /// A task in place of the result of a tool.
    Task(Map<String, Value>),
}

/// A page of a list.
pub(crate) struct ListReply {
    pub(crate) key: &'static str,
    pub(crate) entries: Vec<Box<RawValue>>,
    pub(crate) next: Option<String>,
    /// How long the client may cache it, in milliseconds.
    pub(crate) ttl: u64,
    pub(crate) private: bool,
}

impl MethodReply {
    /// Makes an empty result.
    pub(crate) fn empty() -> Self {
        Self::Fields(Map::new())
    }

    /// Makes a result of an upstream server's.
    pub(crate) fn passed_on(
        mut fields: Map<String, Value>,
        cacheable: bool,
        exchange: &Exchange,
    ) -> Self {
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

impl ServerInner {
    /// Writes the result in the format of the client's era.
    pub(crate) fn render(&self, reply: &MethodReply, exchange: &Exchange) -> JsonText {
        let info = exchange.is_modern().then_some(&self.info);
        let kind = match reply {
            MethodReply::Tool(result) => result.error_kind().filter(|kind| is_passed_on(*kind)),
            _ => None,
        };
        let mut json = String::with_capacity(512);
        ReplyWriter { reply, info, kind }.write(&mut json);
        JsonText(json)
    }
}

/// A reply, with its `_meta`.
struct ReplyWriter<'a> {
    reply: &'a MethodReply,
    /// The server info, which modern results carry.
    info: Option<&'a Value>,
    /// The kind of a failure.
    kind: Option<ErrorKind>,
}

impl<'a> ReplyWriter<'a> {
    fn write(&self, json: &mut String) {
        let mut object = ObjectWriter::begin(json);
        let meta = match self.reply {
            MethodReply::Fields(fields) | MethodReply::Task(fields) => {
                self.fields(fields, &mut object)
            }
            MethodReply::List(list) => {
                self.list(list, &mut object);
                None
            }
            MethodReply::Tool(result) => self.tool(result, &mut object),
        };
        if self.info.is_some() {
            let is_task = matches!(self.reply, MethodReply::Task(_));
            write_string(object.field("resultType"), if is_task { "task" } else { "complete" });
        }
        if self.adds_to_meta() {
            self.meta(object.field("_meta"), meta);
        }
        object.end();
    }

    fn adds_to_meta(&self) -> bool {
        self.info.is_some() || self.kind.is_some()
    }

    /// Writes a `_meta` with our fields and the tool's.
    fn meta(&self, out: &mut String, theirs: Option<&Value>) {
        let mut object = ObjectWriter::begin(out);
        theirs.and_then(Value::as_object).into_iter().for_each(|theirs| object.fields(theirs));
        if let Some(info) = self.info {
            write_value(object.field("io.modelcontextprotocol/serverInfo"), info);
        }
        if let Some(kind) = self.kind {
            write_string(object.field(error_kind::KEY), kind.code());
        }
        object.end();
    }

    /// Writes all fields except for a `_meta` that needs more fields; that is returned.
    fn fields(
        &self,
        fields: &'a Map<String, Value>,
        object: &mut ObjectWriter<'_>,
    ) -> Option<&'a Value> {
        let mut meta = None;
        for (key, value) in fields {
            match key == "_meta" && self.adds_to_meta() {
                true => meta = Some(value),
                false => write_value(object.field(key), value),
            }
        }
        meta
    }

    fn list(&self, list: &ListReply, object: &mut ObjectWriter<'_>) {
        write_list(object.field(list.key), &list.entries, |out, entry| out.push_str(entry.get()));
        if let Some(next) = &list.next {
            write_string(object.field("nextCursor"), next);
        }
        if self.info.is_some() {
            write_value(object.field("ttlMs"), &list.ttl.into());
            let scope = if list.private { "private" } else { "public" };
            write_string(object.field("cacheScope"), scope);
        }
    }

    fn tool(&self, result: &'a ToolResult, object: &mut ObjectWriter<'_>) -> Option<&'a Value> {
        match &result.outcome {
            Ok(answer) => match &answer.output {
                ToolOutput::Content(content) => self.content(content, object),
                ToolOutput::Value(value) => {
                    write_text(object, result);
                    if value.is_object() {
                        write_value(object.field("structuredContent"), value);
                    }
                    None
                }
            },
            Err(error) => {
                let meta = match error.output.as_deref() {
                    Some(ToolOutput::Content(content)) => self.content(content, object),
                    _ => {
                        write_text(object, result);
                        None
                    }
                };
                object.field("isError").push_str("true");
                meta
            }
        }
    }

    fn content(&self, content: &'a Content, object: &mut ObjectWriter<'_>) -> Option<&'a Value> {
        let write_part = |out: &mut String, part: &Part| write_object(out, &part.0);
        write_list(object.field("content"), &content.parts, write_part);
        self.fields(&content.fields, object)
    }
}

/// Writes content with one text.
fn write_text(object: &mut ObjectWriter<'_>, result: &ToolResult) {
    let part = Part::text(result.text());
    write_list(object.field("content"), &[part], |out, part| write_object(out, &part.0));
}
