//! How values are written into paths, queries, headers and cookies: the styles of OpenAPI, and Swagger's formats.

use serde_json::Value;
use switchboard_local::http::encoded;

/// How a list or an object becomes text; single values are the same in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    TabDelimited,
    PipeDelimited,
    DeepObject,
    /// As JSON text.
    Json,
}

impl Style {
    /// Returns the style with this name; `None` if OpenAPI has no such style.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "simple" | "csv" => Self::Simple,
            "label" => Self::Label,
            "matrix" => Self::Matrix,
            "form" => Self::Form,
            "spaceDelimited" | "ssv" => Self::SpaceDelimited,
            "tsv" => Self::TabDelimited,
            "pipeDelimited" | "pipes" => Self::PipeDelimited,
            "deepObject" => Self::DeepObject,
            _ => return None,
        })
    }
}

/// A style with its variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Serialization {
    pub(crate) style: Style,
    /// Whether items and members stand apart.
    pub(crate) explode: bool,
    /// Whether `/`, `:` and the like stay as they are.
    pub(crate) allow_reserved: bool,
}

impl Serialization {
    /// Returns what stands in a path.
    pub(crate) fn path(self, name: &str, value: &Value) -> String {
        let name = encoded(name);
        let parts = self.parts(value);
        match (self.style, self.explode, value) {
            (Style::Label, true, _) => format!(".{}", parts.join(".")),
            (Style::Label, false, _) => format!(".{}", parts.join(",")),
            (Style::Matrix, true, Value::Array(_)) => {
                parts.iter().map(|part| format!(";{name}={part}")).collect()
            }
            (Style::Matrix, true, Value::Object(_)) => {
                parts.iter().map(|part| format!(";{part}")).collect()
            }
            (Style::Matrix, ..) => format!(";{name}={}", parts.join(",")),
            _ => parts.join(","),
        }
    }

    /// Returns the pairs of a query or a form, encoded.
    pub(crate) fn pairs(self, name: &str, value: &Value) -> Vec<String> {
        let own = encoded(name);
        let is_nested = matches!(value, Value::Array(_) | Value::Object(_));
        match (self.style, value) {
            (Style::DeepObject, Value::Array(_) | Value::Object(_)) => {
                let mut pairs = Vec::new();
                self.deep(&own, value, &mut pairs);
                pairs
            }
            // An empty list is not sent: `name=` would be one empty item.
            (_, Value::Array(items)) if items.is_empty() => Vec::new(),
            (Style::Form, Value::Array(_)) if self.explode => {
                self.parts(value).iter().map(|part| format!("{own}={part}")).collect()
            }
            (Style::Form, Value::Object(_)) if self.explode => self.parts(value),
            _ => {
                let between = match self.style {
                    Style::SpaceDelimited => "%20",
                    Style::TabDelimited => "%09",
                    Style::PipeDelimited => "%7C",
                    _ => ",",
                };
                let parts = if is_nested {
                    Self { explode: false, ..self }.parts(value)
                } else {
                    self.parts(value)
                };
                vec![format!("{own}={}", parts.join(between))]
            }
        }
    }

    /// Returns the text of a header; nothing is encoded in it.
    pub(crate) fn header(self, value: &Value) -> String {
        match value {
            _ if self.style == Style::Json => value.to_string(),
            Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(","),
            Value::Object(members) => {
                let between = if self.explode { "=" } else { "," };
                let members =
                    members.iter().map(|(name, value)| format!("{name}{between}{}", text(value)));
                members.collect::<Vec<_>>().join(",")
            }
            other => text(other),
        }
    }

    /// Returns the encoded parts of a value: itself, its items, or its members.
    fn parts(self, value: &Value) -> Vec<String> {
        match value {
            _ if self.style == Style::Json => vec![self.encoded(&value.to_string())],
            Value::Array(items) => items.iter().map(|item| self.encoded(&text(item))).collect(),
            Value::Object(members) if self.explode => {
                let members = members.iter();
                members
                    .map(|(name, value)| {
                        format!("{}={}", encoded(name), self.encoded(&text(value)))
                    })
                    .collect()
            }
            Value::Object(members) => {
                let members = members.iter();
                members
                    .flat_map(|(name, value)| {
                        [encoded(name).into_owned(), self.encoded(&text(value))]
                    })
                    .collect()
            }
            other => vec![self.encoded(&text(other))],
        }
    }

    fn deep(self, name: &str, value: &Value, pairs: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                for (member, value) in members {
                    self.deep(&format!("{name}%5B{}%5D", encoded(member)), value, pairs);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.deep(&format!("{name}%5B{index}%5D"), item, pairs);
                }
            }
            other => pairs.push(format!("{name}={}", self.encoded(&text(other)))),
        }
    }

    fn encoded(self, value: &str) -> String {
        let safe = encoded(value);
        if !self.allow_reserved {
            return safe.into_owned();
        }
        // Without those that would end the value: `&`, `=`, `+` and `#`.
        let kept = "/:?@!$'()*,;[]";
        kept.chars().fold(safe.into_owned(), |text, c| {
            text.replace(&format!("%{:02X}", u32::from(c)), &c.to_string())
        })
    }
}

/// Returns a single value as text: strings as they are, numbers with their digits, everything else as JSON.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(style: Style, explode: bool) -> Serialization {
        Serialization { style, explode, allow_reserved: false }
    }

    // TK-3: the table of the OpenAPI specification.
    #[test]
    fn paths_are_written_in_their_styles() {
        let (list, object) = (json!(["blue", "black"]), json!({"R": 100, "G": 200}));
        for (style, explode, one, many, members) in [
            (Style::Simple, false, "a%2Fb", "blue,black", "R,100,G,200"),
            (Style::Simple, true, "a%2Fb", "blue,black", "R=100,G=200"),
            (Style::Label, false, ".a%2Fb", ".blue,black", ".R,100,G,200"),
            (Style::Label, true, ".a%2Fb", ".blue.black", ".R=100.G=200"),
            (Style::Matrix, false, ";color=a%2Fb", ";color=blue,black", ";color=R,100,G,200"),
            (Style::Matrix, true, ";color=a%2Fb", ";color=blue;color=black", ";R=100;G=200"),
        ] {
            let written = |value| of(style, explode).path("color", value);
            assert_eq!(
                [written(&json!("a/b")), written(&list), written(&object)],
                [one, many, members],
                "{style:?}"
            );
        }
    }

    // TK-3
    #[test]
    fn queries_are_written_in_their_styles() {
        let (list, object) = (json!(["a b", "c&d"]), json!({"R": 100, "x": {"y": [1.50]}}));
        for (style, explode, many, members) in [
            (Style::Form, true, "q=a%20b&q=c%26d", "R=100&x=%7B%22y%22%3A%5B1.5%5D%7D"),
            (Style::Form, false, "q=a%20b,c%26d", "q=R,100,x,%7B%22y%22%3A%5B1.5%5D%7D"),
            (Style::SpaceDelimited, false, "q=a%20b%20c%26d", ""),
            (Style::PipeDelimited, false, "q=a%20b%7Cc%26d", ""),
            (Style::TabDelimited, false, "q=a%20b%09c%26d", ""),
            (
                Style::DeepObject,
                true,
                "q%5B0%5D=a%20b&q%5B1%5D=c%26d",
                "q%5BR%5D=100&q%5Bx%5D%5By%5D%5B0%5D=1.5",
            ),
            (
                Style::Json,
                false,
                "q=%5B%22a%20b%22%2C%22c%26d%22%5D",
                "q=%7B%22R%22%3A100%2C%22x%22%3A%7B%22y%22%3A%5B1.5%5D%7D%7D",
            ),
        ] {
            assert_eq!(of(style, explode).pairs("q", &list).join("&"), many, "{style:?}");
            if !members.is_empty() {
                assert_eq!(of(style, explode).pairs("q", &object).join("&"), members, "{style:?}");
            }
        }
        assert_eq!(of(Style::Form, true).pairs("q", &json!([])), Vec::<String>::new());
        assert_eq!(of(Style::Form, true).pairs("a b", &json!(true)), ["a%20b=true"]);
        let reserved = Serialization { allow_reserved: true, ..of(Style::Form, true) };
        assert_eq!(reserved.pairs("q", &json!("a/b?c&d=e#f")), ["q=a/b?c%26d%3De%23f"]);
        assert_eq!(of(Style::Simple, true).header(&json!({"a": 1, "b": "c"})), "a=1,b=c");
        assert_eq!(of(Style::Simple, false).header(&json!(["a", 2])), "a,2");
    }
}
