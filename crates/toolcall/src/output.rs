//! What a tool returns.

use std::borrow::Cow;

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

use crate::ToolError;

/// The output of a tool: a plain value, or content parts.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolOutput {
    /// Any JSON value, including strings.
    Value(Value),
    /// Text, images, audio and resources, as MCP tools return them.
    Content(Content),
}

impl ToolOutput {
    /// Returns what models and people read (SPEC RS-3): strings as they are, other values as compact JSON, and of
    /// content parts [the text](Content::text).
    pub fn text(&self) -> String {
        match self {
            Self::Value(Value::String(text)) => text.clone(),
            Self::Value(value) => value.to_string(),
            Self::Content(content) => content.text(&[]),
        }
    }
}

/// Content parts, with the other fields of the result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content {
    /// The parts, in order.
    pub parts: Vec<Part>,
    /// `structuredContent`, `_meta` and vendor fields, unchanged.
    pub fields: Map<String, Value>,
}

impl Content {
    /// Converts an object of the form that [`Content`] serializes to.
    ///
    /// # Errors
    /// The object has no list of parts; it is returned.
    pub fn from_object(mut object: Map<String, Value>) -> Result<Self, Map<String, Value>> {
        match object.get("content") {
            Some(Value::Array(parts)) if parts.iter().all(Value::is_object) => {}
            _ => return Err(object),
        }
        let Some(Value::Array(parts)) = object.shift_remove("content") else { return Err(object) };
        let parts = parts.into_iter().filter_map(|part| match part {
            Value::Object(part) => Some(Part(part)),
            _ => None,
        });
        Ok(Self { parts: parts.collect(), fields: object })
    }

    /// Returns the joined text, if all parts are text.
    pub fn only_text(&self) -> Option<Cow<'_, str>> {
        if !self.fields.is_empty() {
            return None;
        }
        match &self.parts[..] {
            [only] => only.only_text().map(Cow::Borrowed),
            parts => {
                let texts: Option<Vec<_>> = parts.iter().map(Part::only_text).collect();
                texts.map(|texts| Cow::Owned(texts.join("\n")))
            }
        }
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len() + 1))?;
        map.serialize_entry("content", &self.parts)?;
        for (key, value) in &self.fields {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// One content part: a JSON object whose `type` says what it is, unchanged.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Part(pub Map<String, Value>);

impl Part {
    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Self {
        let text = Value::String(text.into());
        Self(Map::from_iter([("type".to_owned(), "text".into()), ("text".to_owned(), text)]))
    }

    /// Creates a binary part of kind `image` or `audio`; `data` is base64.
    pub fn binary(kind: &str, media_type: &str, data: impl Into<String>) -> Self {
        Self(Map::from_iter([
            ("type".to_owned(), kind.into()),
            ("data".to_owned(), Value::String(data.into())),
            ("mimeType".to_owned(), media_type.into()),
        ]))
    }

    /// Returns its `type`.
    pub fn kind(&self) -> &str {
        self.field("type").and_then(Value::as_str).unwrap_or("")
    }

    /// Returns a field. There are few, so a scan is faster than hashing.
    pub(crate) fn field(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Returns the text of a text part.
    pub fn as_text(&self) -> Option<&str> {
        match self.kind() {
            "text" => self.field("text").and_then(Value::as_str),
            _ => None,
        }
    }

    /// Returns the text of a part that has nothing else.
    fn only_text(&self) -> Option<&str> {
        self.as_text().filter(|_| self.0.len() == 2)
    }

    /// Returns the binary content of an image, an audio clip or an embedded blob.
    pub fn as_binary(&self) -> Option<BinaryPart<'_>> {
        let (kind, holder, data) = match self.kind() {
            "image" => ("image", &self.0, "data"),
            "audio" => ("audio", &self.0, "data"),
            "resource" => ("blob", self.0.get("resource")?.as_object()?, "blob"),
            _ => return None,
        };
        let media_type = holder.get("mimeType").and_then(Value::as_str);
        Some(BinaryPart {
            kind,
            media_type: media_type.unwrap_or("application/octet-stream"),
            data: holder.get(data)?.as_str()?,
        })
    }
}

/// The binary content of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinaryPart<'a> {
    /// `image`, `audio` or `blob`.
    pub kind: &'static str,
    /// The media type.
    pub media_type: &'a str,
    /// The content in base64.
    pub data: &'a str,
}

/// What a tool function may return.
pub trait IntoOutput {
    /// Converts the value to the tool's output.
    ///
    /// # Errors
    /// The function failed, or the value is not JSON.
    fn into_output(self) -> Result<ToolOutput, ToolError>;
}

/// Returns a serializable value as JSON.
#[derive(Clone, Copy, Debug)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoOutput for Json<T> {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        let value = serde_json::to_value(self.0).map_err(|error| {
            ToolError::failed(format_args!("the answer is not JSON: {error}")).caused_by(error)
        })?;
        Ok(ToolOutput::Value(value))
    }
}

impl IntoOutput for ToolOutput {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        Ok(self)
    }
}

impl IntoOutput for Value {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::Value(self))
    }
}

impl IntoOutput for String {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::Value(Value::String(self)))
    }
}

impl IntoOutput for &str {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        self.to_owned().into_output()
    }
}

impl<T: IntoOutput, E: Into<ToolError>> IntoOutput for Result<T, E> {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        self.map_err(Into::into)?.into_output()
    }
}
