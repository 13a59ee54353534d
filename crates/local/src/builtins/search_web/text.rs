//! Plain text from what search engines send.

use serde::Deserialize;
use serde_json::Value;

/// A field that should be text; empty if it is missing or something else.
#[derive(Default, Deserialize)]
#[serde(from = "Value")]
pub(super) struct PlainText(String);

impl PlainText {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text as it came.
    pub(super) fn raw(&self) -> &str {
        &self.0
    }

    /// The text without marks and entities.
    pub(super) fn plain(&self) -> String {
        plain(&self.0)
    }
}

impl From<Value> for PlainText {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self(text),
            Value::Number(number) => Self(number.to_string()),
            _ => Self::default(),
        }
    }
}

/// The marks that engines put around the words they found.
const MARKS: &[&str] = &["strong", "b", "em", "i", "br", "br/", "br /", "mark"];

const ENTITIES: &[(&str, &str)] = &[
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&apos;", "'"),
    ("&nbsp;", " "),
    // Last, so that `&amp;lt;` stays `&lt;`.
    ("&amp;", "&"),
];

/// The text without marks and entities; any other angle brackets (`Vec<u8>`) are text.
pub(super) fn plain(text: &str) -> String {
    let mut plain = text.to_owned();
    if plain.contains('<') {
        for mark in MARKS {
            plain = plain.replace(&format!("<{mark}>"), "").replace(&format!("</{mark}>"), "");
        }
    }
    if plain.contains('&') {
        for (entity, character) in ENTITIES {
            plain = plain.replace(entity, character);
        }
    }
    plain.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_go_and_text_stays() {
        assert_eq!(plain("<strong>Rust</strong> &amp; C++"), "Rust & C++");
        assert_eq!(plain("Vec<u8> isn&#x27;t a &lt;b&gt;"), "Vec<u8> isn't a <b>");
        assert_eq!(plain("&amp;lt;"), "&lt;");
        assert_eq!(plain(" plain "), "plain");
    }
}
