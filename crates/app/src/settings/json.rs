//! JSON → nodes.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use super::{
    jsonc,
    node::{ConfigKey, ConfigNode, LineIndex, NodeContent},
    problem::ConfigProblem,
};
use crate::excerpt::{self, TextPosition};

/// Whether a text is meant to be JSON: no TOML begins with `{`, or with a `[` that opens a list.
pub(super) fn looks_like_it(text: &str) -> bool {
    let text = text.trim_start();
    let in_list = text.strip_prefix('[').map(str::trim_start);
    text.starts_with('{') || in_list.is_some_and(|text| text.starts_with(['{', ']']))
}

/// Parses a JSON document; comments and trailing commas are allowed.
pub(super) fn parse(text: &str) -> Result<ConfigNode, ConfigProblem> {
    let syntax = |error: serde_json::Error| {
        ConfigProblem::syntax(text, TextPosition::of(text, &error), &excerpt::reason(&error))
    };
    let plain = jsonc::plain(text);
    // Finds errors, also too deep nesting, before the tree is built.
    serde_json::from_str::<Value>(&plain).map_err(syntax)?;
    let root: &RawValue = serde_json::from_str(&plain).map_err(syntax)?;
    JsonTree { text: &plain, lines: LineIndex::of(&plain) }.node(root).map_err(syntax)
}

struct JsonTree<'a> {
    text: &'a str,
    lines: LineIndex,
}

impl JsonTree<'_> {
    fn node(&self, raw: &RawValue) -> serde_json::Result<ConfigNode> {
        let text = raw.get();
        let content = match text.as_bytes().first() {
            Some(b'{') => {
                let RawEntries(entries) = serde_json::from_str(text)?;
                let entries = entries.into_iter().map(|(name, value)| {
                    let key = ConfigKey {
                        name: serde_json::from_str(name.get())?,
                        line: self.line(name),
                    };
                    Ok((key, self.node(value)?))
                });
                NodeContent::Table(entries.collect::<serde_json::Result<_>>()?)
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(text)?;
                let items = items.into_iter().map(|item| self.node(item));
                NodeContent::List(items.collect::<serde_json::Result<_>>()?)
            }
            _ => match serde_json::from_str(text)? {
                Value::Bool(value) => NodeContent::Bool(value),
                Value::Number(number) => NodeContent::Number(number),
                Value::String(text) => NodeContent::Text(text),
                _ => NodeContent::Null,
            },
        };
        Ok(ConfigNode::new(self.line(raw), content))
    }

    /// Raw values are pieces of the text; where a piece begins says on which line it is.
    fn line(&self, raw: &RawValue) -> usize {
        let offset = raw.get().as_ptr().addr().saturating_sub(self.text.as_ptr().addr());
        self.lines.at(offset)
    }
}

/// The entries of an object, in order.
struct RawEntries<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for RawEntries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RawEntriesVisitor;
        impl<'de> Visitor<'de> for RawEntriesVisitor {
            type Value = RawEntries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawEntries<'de>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(RawEntries(entries))
            }
        }
        deserializer.deserialize_map(RawEntriesVisitor)
    }
}
