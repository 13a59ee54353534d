//! The text of content parts for models and people (SPEC RS-3).

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::{Content, Part, text::one_line};

impl Content {
    /// Returns what models and people read: the texts of the parts, including embedded resources, joined by newlines,
    /// and one line for each part that is not text. `structuredContent` is read only if there is no text at all,
    /// `_meta`, annotations and other fields never.
    ///
    /// `binaries` are the lines for the binary parts, in order; [`Artifact`](crate::Artifact) formats such a line.
    pub fn text(&self, binaries: &[String]) -> String {
        let mut texts = self.part_texts(binaries);
        if self.parts.iter().any(Part::has_text) {
            return texts.join("\n");
        }
        texts.retain(|text| !text.is_empty());
        let structured = self.fields.get("structuredContent").filter(|value| !value.is_null());
        texts.extend(structured.map(|value| Cow::Owned(value.to_string())));
        texts.join("\n")
    }

    /// Returns one text for each part: its own, or the line that replaces it.
    pub fn part_texts<'a>(&'a self, binaries: &'a [String]) -> Vec<Cow<'a, str>> {
        let mut binaries = binaries.iter();
        let text = |part: &'a Part| match (part.as_binary(), part.readable()) {
            (Some(binary), _) => match binaries.next() {
                Some(line) => Cow::Borrowed(line.as_str()),
                None => format!("[{}: {}]", binary.kind, one_line(binary.media_type)).into(),
            },
            (None, Some(text)) => Cow::Borrowed(text),
            (None, None) => Cow::Owned(part.line()),
        };
        self.parts.iter().map(text).collect()
    }
}

impl Part {
    /// Returns the text of a text part or of an embedded resource.
    fn readable(&self) -> Option<&str> {
        match self.kind() {
            "resource" => self.field("resource")?.get("text")?.as_str(),
            _ => self.as_text(),
        }
    }

    /// Returns whether the part has text.
    fn has_text(&self) -> bool {
        self.as_binary().is_none() && self.readable().is_some_and(|text| !text.is_empty())
    }

    /// Returns the line that replaces a part that is neither text nor binary.
    fn line(&self) -> String {
        match (self.kind(), self.field("uri").and_then(Value::as_str)) {
            ("resource_link", Some(uri)) => link_line(uri, &self.0),
            ("", _) => "[content without a type, not shown]".to_owned(),
            (kind, _) => format!("[{} content, not shown]", one_line(kind)),
        }
    }
}

/// Returns the line for a linked resource: its URI, and its description.
fn link_line(uri: &str, link: &Map<String, Value>) -> String {
    let text = |key: &str| {
        let text = link.get(key).and_then(Value::as_str).map(one_line);
        text.filter(|text| !text.is_empty())
    };
    let size = link.get("size").and_then(Value::as_u64).map(|size| format!("{size} bytes"));
    let said = [Some(one_line(uri)), text("title").or(text("name")), text("mimeType"), size];
    let said = said.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let description = text("description").map(|words| format!(": {words}")).unwrap_or_default();
    format!("[resource link: {said}{description}]")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(result: Value, binaries: &[&str]) -> String {
        let Value::Object(object) = result else { panic!("no object") };
        let binaries: Vec<_> = binaries.iter().map(|&line| line.to_owned()).collect();
        Content::from_object(object).unwrap().text(&binaries)
    }

    // RS-3
    #[test]
    fn only_the_text_is_read() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let structured = json!({"n": 1.0, "big": 12345678901234567890_u64});
        let cases = [
            (json!({"content": [text("a"), text("b\n")]}), "a\nb\n"),
            (json!({"content": [text("a"), text(""), text("b")]}), "a\n\nb"),
            (json!({"content": [text("a")], "structuredContent": structured}), "a"),
            (json!({"content": [text("a")], "_meta": {"x": 1}, "vendor": true}), "a"),
            (
                json!({"content": [{"type": "text", "text": "a", "annotations": {"priority": 1}}]}),
                "a",
            ),
            // Nothing but structure, an empty text included.
            (
                json!({"content": [], "structuredContent": structured}),
                r#"{"n":1.0,"big":12345678901234567890}"#,
            ),
            (
                json!({"content": [text("")], "structuredContent": {"result": ""}}),
                r#"{"result":""}"#,
            ),
            (json!({"content": [text("")], "structuredContent": null}), ""),
            (json!({"content": []}), ""),
            // Embedded resources.
            (
                json!({"content": [text("see:"),
                    {"type": "resource", "resource": {"uri": "x://y", "mimeType": "text/plain", "text": "inside"}}],
                    "structuredContent": structured}),
                "see:\ninside",
            ),
        ];
        for (result, expected) in cases {
            assert_eq!(read(result.clone(), &[]), expected, "{result}");
        }
    }

    // RS-3
    #[test]
    fn what_is_no_text_is_one_line_in_its_place() {
        let cases = [
            (
                json!({"type": "resource_link", "uri": "x://y", "name": "why"}),
                "[resource link: x://y, why]",
            ),
            (
                json!({"type": "resource_link", "uri": "x://\ny", "name": "n", "title": "Why\tnot", "size": 7,
                    "mimeType": "text/plain", "description": "two\nlines\u{1b}"}),
                "[resource link: x:// y, Why not, text/plain, 7 bytes: two lines\\u{1b}]",
            ),
            (json!({"type": "resource_link"}), "[resource_link content, not shown]"),
            (json!({"type": "hologram\n", "depth": 3}), "[hologram content, not shown]"),
            (json!({"type": "image"}), "[image content, not shown]"),
            (json!({"type": "resource", "resource": 5}), "[resource content, not shown]"),
            (json!({"type": "text", "text": 5}), "[text content, not shown]"),
            (json!({"depth": 3}), "[content without a type, not shown]"),
        ];
        for (part, line) in cases {
            let around = json!({"content": [{"type": "text", "text": "<"}, part, {"type": "text", "text": ">"}]});
            assert_eq!(read(around, &[]), format!("<\n{line}\n>"));
        }
    }

    // RS-3, RS-6
    #[test]
    fn binaries_are_named_by_their_lines() {
        let image = json!({"type": "image", "data": "AAEC", "mimeType": "image/png"});
        let blob = json!({"type": "resource", "resource": {"uri": "x://y", "blob": "AAEC"}});
        let result = json!({"content": [image, {"type": "text", "text": "and"}, blob]});
        assert_eq!(read(result.clone(), &["[one]", "[two]"]), "[one]\nand\n[two]");
        assert_eq!(read(result, &[]), "[image: image/png]\nand\n[blob: application/octet-stream]");
        // A line is no text: the structure is read too.
        let alone = json!({"content": [image], "structuredContent": {"width": 2}});
        assert_eq!(read(alone, &["[one]"]), "[one]\n{\"width\":2}");
    }
}
