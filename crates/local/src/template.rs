//! Texts of the config in which `{name}` is replaced by an argument (SPEC TK-1, TK-2).
//!
//! `{{name}}` is the text `{name}`. Braces around anything that could not be a name stand for themselves, so that the
//! programs of jq and awk need no other spelling.

use std::{borrow::Cow, collections::BTreeSet};

use serde_json::{Map, Value};

#[cfg(test)]
mod tests;

/// The arguments of a call.
pub(crate) type TemplateArguments = Map<String, Value>;

/// The names that may be used in templates: the parameters of the tool's schema.
pub(crate) struct Parameters {
    names: BTreeSet<String>,
    /// Those whose values can only be numbers, `true` or `false`.
    without_text: BTreeSet<String>,
}

/// A text with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template(Vec<TemplatePiece>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TemplatePiece {
    Text(String),
    Argument(String),
}

impl Parameters {
    /// The names that a schema declares at its top level, in `allOf`, `anyOf` and `oneOf` too.
    pub(crate) fn of(schema: &Value) -> Self {
        let is_without_text = |(name, schema): (&String, &Value)| {
            let kind = schema.get("type").and_then(Value::as_str);
            matches!(kind, Some("integer" | "number" | "boolean")).then(|| name.clone())
        };
        let own = schema.get("properties").and_then(Value::as_object);
        let without_text = own.into_iter().flatten().filter_map(is_without_text).collect();
        let mut names = BTreeSet::new();
        let mut schemas = vec![schema];
        while let Some(schema) = schemas.pop() {
            let properties = schema.get("properties").and_then(Value::as_object);
            names.extend(properties.into_iter().flat_map(Map::keys).cloned());
            let parts = ["allOf", "anyOf", "oneOf"].iter().filter_map(|key| schema.get(key));
            schemas.extend(parts.filter_map(Value::as_array).flatten());
        }
        Self { names, without_text }
    }

    /// Adds names that the schema does not declare.
    pub(crate) fn with<'a>(mut self, names: impl Iterator<Item = &'a String>) -> Self {
        self.names.extend(names.cloned());
        self
    }

    /// Returns whether no name is declared.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns whether the schema declares the name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Returns whether values of that name can hold any text.
    pub(crate) fn may_be_text(&self, name: &str) -> bool {
        !self.without_text.contains(name)
    }

    /// Says which name was probably meant, or which ones there are.
    pub(crate) fn way_out(&self, name: &str, show: impl Fn(&str) -> String) -> String {
        const NEAR: f64 = 0.7;
        let likeness = |known: &&String| strsim::jaro_winkler(name, known);
        let near = self.names.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        match near {
            Some(near) if likeness(&near) > NEAR => format!("did you mean {}?", show(near)),
            Some(_) => {
                let known: Vec<_> = self.names.iter().map(|name| show(name)).collect();
                format!("there are {}", known.join(", "))
            }
            None => "its `parameters` declare none".to_owned(),
        }
    }
}

impl Template {
    /// Reads a text.
    ///
    /// # Errors
    /// A name in braces is not a parameter.
    pub(crate) fn parse(text: &str, parameters: &Parameters) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            literal.push_str(&rest[..open]);
            rest = &rest[open..];
            let opening = rest.bytes().take_while(|byte| *byte == b'{').count();
            let inner = &rest[opening..];
            let name = inner.split(['{', '}']).next().unwrap_or_default();
            let closing = inner[name.len()..].bytes().take_while(|byte| *byte == b'}').count();
            if closing == 0 || !(parameters.has(name) || is_name(name)) {
                literal.push_str(&rest[..opening]);
                rest = inner;
            } else if opening > 1 && closing > 1 {
                literal.push_str(&rest[1..opening + name.len() + closing - 1]);
                rest = &inner[name.len() + closing..];
            } else if parameters.has(name) {
                literal.push_str(&rest[1..opening]);
                pieces.push(TemplatePiece::Text(std::mem::take(&mut literal)));
                pieces.push(TemplatePiece::Argument(name.to_owned()));
                rest = &inner[name.len() + 1..];
            } else {
                let way_out = parameters.way_out(name, |name| format!("`{{{name}}}`"));
                return Err(format!(
                    "`{{{name}}}` stands for no parameter; {way_out} (`{{{{{name}}}}}` is the text)"
                ));
            }
        }
        literal.push_str(rest);
        pieces.push(TemplatePiece::Text(literal));
        pieces.retain(|piece| !matches!(piece, TemplatePiece::Text(text) if text.is_empty()));
        Ok(Self(pieces))
    }

    /// The pieces, in order; none of the texts is empty.
    pub(crate) fn pieces(&self) -> &[TemplatePiece] {
        &self.0
    }

    /// The names of the arguments that it needs.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            TemplatePiece::Argument(name) => Some(name.as_str()),
            TemplatePiece::Text(_) => None,
        })
    }

    /// The argument's name, if the template is one placeholder and nothing else.
    pub(crate) fn lone(&self) -> Option<&str> {
        match &self.0[..] {
            [TemplatePiece::Argument(name)] => Some(name),
            _ => None,
        }
    }

    /// Whether the template is this text.
    pub(crate) fn is_text(&self, text: &str) -> bool {
        matches!(&self.0[..], [TemplatePiece::Text(own)] if own == text)
    }

    /// Fills in the arguments. Returns `None` if one of them was left out.
    pub(crate) fn fill(&self, args: &TemplateArguments) -> Option<String> {
        self.fill_with(args, |value| Cow::Borrowed(value))
    }

    /// Like [`fill`](Self::fill), encoding each value.
    pub(crate) fn fill_with(
        &self,
        args: &TemplateArguments,
        spell: impl for<'a> Fn(&'a str) -> Cow<'a, str>,
    ) -> Option<String> {
        let mut filled = String::new();
        for piece in &self.0 {
            match piece {
                TemplatePiece::Text(text) => filled.push_str(text),
                TemplatePiece::Argument(name) => {
                    filled.push_str(&spell(&text_of(given(args, name)?)))
                }
            }
        }
        Some(filled)
    }
}

/// The argument of this name; null counts as left out.
pub(crate) fn given<'a>(args: &'a TemplateArguments, name: &str) -> Option<&'a Value> {
    args.get(name).filter(|value| !value.is_null())
}

/// The value as it stands within a text: strings as they are, anything else as compact JSON.
pub(crate) fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// The values of a list one by one, or the one value.
pub(crate) fn each(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        other => std::slice::from_ref(other),
    }
}

/// Whether people would take this for the name of a parameter.
fn is_name(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(is_inner)
}
