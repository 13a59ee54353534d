//! YAML → JSON values. The app's reader of configs keeps lines, which nothing here needs.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

/// How deep lists and maps may be nested.
const MAX_DEPTH: usize = 100;
/// How many values a description may have once aliases are replaced: a few lines of aliases can stand for billions.
const MAX_VALUES: usize = 2_000_000;

/// Parses the first document of a YAML text.
///
/// # Errors
/// Says on which line the syntax is wrong, or which limit is exceeded.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    let mut tree = Tree::default();
    for event in Parser::new_from_str(text) {
        let (event, span) =
            event.map_err(|error| format!("line {}: {}", error.marker().line(), error.info()))?;
        let at = |problem| format!("line {}: {problem}", span.start.line());
        if tree.take(event).map_err(at)? {
            break;
        }
    }
    Ok(tree.root.unwrap_or(Value::Null))
}

/// A list or map that is not complete yet.
struct Open {
    anchor: usize,
    content: OpenContent,
}

enum OpenContent {
    List(Vec<Value>),
    /// The entries, and the key whose value is next.
    Map(Map<String, Value>, Option<String>),
}

#[derive(Default)]
struct Tree {
    open: Vec<Open>,
    anchors: HashMap<usize, (Value, usize)>,
    values: usize,
    root: Option<Value>,
}

impl Tree {
    /// Takes one event. Returns true at the end of the document.
    fn take(&mut self, event: Event<'_>) -> Result<bool, String> {
        match event {
            Event::SequenceStart(anchor, _) => self.begin(anchor, OpenContent::List(Vec::new()))?,
            Event::MappingStart(anchor, _) => {
                self.begin(anchor, OpenContent::Map(Map::new(), None))?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end()?,
            Event::Scalar(text, style, anchor, _) => {
                let value = match style {
                    ScalarStyle::Plain => plain(&text),
                    _ => Value::String(text.into_owned()),
                };
                self.add(value, anchor, 1)?;
            }
            Event::Alias(anchor) => {
                let known = self.anchors.get(&anchor).cloned();
                let (value, size) = known.ok_or("an alias stands inside of what it stands for")?;
                self.add(value, 0, size)?;
            }
            Event::DocumentEnd => return Ok(true),
            _ => {}
        }
        Ok(false)
    }

    fn begin(&mut self, anchor: usize, content: OpenContent) -> Result<(), String> {
        if self.open.len() == MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} deep"));
        }
        self.open.push(Open { anchor, content });
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        let Some(Open { anchor, content }) = self.open.pop() else { return Ok(()) };
        let value = match content {
            OpenContent::List(items) => Value::Array(items),
            OpenContent::Map(entries, _) => Value::Object(merged(entries)),
        };
        self.add(value, anchor, 1)
    }

    /// Adds a value that stands for `size` values.
    fn add(&mut self, value: Value, anchor: usize, size: usize) -> Result<(), String> {
        self.values += size;
        if self.values > MAX_VALUES {
            return Err(format!("it stands for more than {MAX_VALUES} values"));
        }
        if anchor != 0 {
            let size = count(&value);
            self.anchors.insert(anchor, (value.clone(), size));
        }
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.root = Some(value),
            Some(OpenContent::List(items)) => items.push(value),
            Some(OpenContent::Map(entries, key)) => match key.take() {
                Some(key) => _ = entries.insert(key, value),
                None => *key = Some(name(value)?),
            },
        }
        Ok(())
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(entries) => entries.values().map(count).sum(),
        _ => 0,
    }
}

fn name(key: Value) -> Result<String, String> {
    match key {
        Value::String(text) => Ok(text),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Null => Ok("null".to_owned()),
        Value::Array(_) | Value::Object(_) => Err("a list or a map cannot be a key".to_owned()),
    }
}

/// `<<: *base` adds the entries of another map; those that are there already win.
fn merged(mut entries: Map<String, Value>) -> Map<String, Value> {
    let bases = match entries.shift_remove("<<") {
        None => return entries,
        Some(Value::Array(bases)) => bases,
        Some(base) => vec![base],
    };
    for base in bases {
        let Value::Object(base) = base else { continue };
        for (key, value) in base {
            entries.entry(key).or_insert(value);
        }
    }
    entries
}

/// A value without quotes: null, true, false, a number, or else text.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => match serde_json::from_str(text) {
            Ok(number) => Value::Number(number),
            Err(_) => Value::String(text.to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    // TK-3
    #[test]
    fn values_are_those_of_json() {
        let text = "openapi: 3.0.0\nx: &x {a: 1, 200: 'b'}\ny:\n  <<: *x\n  a: [~, yes, 1.50]\n";
        let expected = json!({"openapi": "3.0.0", "x": {"a": 1, "200": "b"}, "y": {"a": [null, "yes"], "200": "b"}});
        let mut read = parse(text).unwrap();
        let last = read["y"]["a"].as_array_mut().unwrap().pop().unwrap();
        assert_eq!(last.to_string(), "1.50");
        assert_eq!(read, expected);
    }

    // TK-3
    #[test]
    fn bombs_and_broken_texts_are_refused() {
        let level =
            |n: usize| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(","));
        let bomb: String = (1..10).map(level).collect();
        for (text, says) in [
            ("a: 1\nb: [1\n", "line "),
            ("? [x]\n: 2\n", "cannot be a key"),
            ("a: &a [*a]\n", "an alias stands inside"),
            (&"[".repeat(200), "more than 100 deep"),
            (&format!("a0: &a0 [1,2,3,4,5,6,7,8,9,0]\n{bomb}"), "more than 2000000 values"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[a&*\\[\\]{}:,\"'|>#\\-! \n<~1]{0,60}") {
            let _ = parse(&text);
        }
    }
}
