//! YAML → nodes: for configs of goose and Continue. Ours are TOML or JSON.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span};

use super::{
    node::{ConfigKey, ConfigNode, NodeContent},
    problem::ConfigProblem,
};
use crate::excerpt::TextPosition;

/// How deep lists and tables may lie in each other.
const MAX_DEPTH: usize = 100;
/// How many values a config may have once aliases are replaced; a few lines of aliases can stand for billions.
const MAX_VALUES: usize = 100_000;

/// Parses the first document of a YAML text.
pub(super) fn parse(text: &str) -> Result<ConfigNode, ConfigProblem> {
    let mut tree = YamlTree::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| syntax(text, &error))?;
        let line = span.start.line();
        if tree.take(event, span).map_err(|what| ConfigProblem::new(what).at(line))? {
            break;
        }
    }
    Ok(tree.root.unwrap_or_else(|| ConfigNode::new(1, NodeContent::Table(Vec::new()))))
}

fn syntax(text: &str, error: &ScanError) -> ConfigProblem {
    let marker = error.marker();
    let position = TextPosition { line: marker.line(), column: marker.col() + 1 };
    ConfigProblem::syntax(text, position, error.info())
}

/// A list or table that is not complete yet.
struct Open {
    line: usize,
    anchor: usize,
    content: OpenContent,
}

enum OpenContent {
    List(Vec<ConfigNode>),
    /// The entries, and the key whose value is next.
    Table(Vec<(ConfigKey, ConfigNode)>, Option<ConfigKey>),
}

#[derive(Default)]
struct YamlTree {
    open: Vec<Open>,
    anchors: HashMap<usize, ConfigNode>,
    values: usize,
    root: Option<ConfigNode>,
}

impl YamlTree {
    /// Takes one event. Returns true at the end of the document.
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<bool, String> {
        let line = span.start.line();
        match event {
            Event::SequenceStart(anchor, _) => {
                self.begin(line, anchor, OpenContent::List(Vec::new()))?;
            }
            Event::MappingStart(anchor, _) => {
                self.begin(line, anchor, OpenContent::Table(Vec::new(), None))?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end()?,
            Event::Scalar(text, style, anchor, _) => {
                let content = match style {
                    ScalarStyle::Plain => plain(&text),
                    _ => NodeContent::Text(text.into_owned()),
                };
                self.add(ConfigNode::new(line, content), anchor)?;
            }
            Event::Alias(anchor) => {
                let node = self.anchors.get(&anchor).cloned();
                self.add(node.ok_or("an alias stands inside of what it stands for")?, 0)?;
            }
            Event::DocumentEnd => return Ok(true),
            _ => {}
        }
        Ok(false)
    }

    fn begin(&mut self, line: usize, anchor: usize, content: OpenContent) -> Result<(), String> {
        if self.open.len() == MAX_DEPTH {
            return Err(format!("lists and tables lie in each other more than {MAX_DEPTH} deep"));
        }
        self.open.push(Open { line, anchor, content });
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        let Some(Open { line, anchor, content }) = self.open.pop() else { return Ok(()) };
        let content = match content {
            OpenContent::List(items) => NodeContent::List(items),
            OpenContent::Table(entries, _) => NodeContent::Table(merged(entries)),
        };
        self.add(ConfigNode::new(line, content), anchor)
    }

    fn add(&mut self, node: ConfigNode, anchor: usize) -> Result<(), String> {
        self.values += if anchor == 0 { size(&node) } else { 1 };
        if self.values > MAX_VALUES {
            return Err(format!("it stands for more than {MAX_VALUES} values"));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.root = Some(node),
            Some(OpenContent::List(items)) => items.push(node),
            Some(OpenContent::Table(entries, key)) => match key.take() {
                Some(key) => entries.push((key, node)),
                None => *key = Some(ConfigKey { line: node.line, name: name(node.content)? }),
            },
        }
        Ok(())
    }
}

fn name(content: NodeContent) -> Result<String, String> {
    match content {
        NodeContent::Text(text) => Ok(text),
        NodeContent::Number(number) => Ok(number.to_string()),
        NodeContent::Bool(value) => Ok(value.to_string()),
        _ => Err("a list or a table cannot be a key".to_owned()),
    }
}

fn size(node: &ConfigNode) -> usize {
    1 + match &node.content {
        NodeContent::List(items) => items.iter().map(size).sum(),
        NodeContent::Table(entries) => entries.iter().map(|(_, node)| size(node)).sum(),
        _ => 0,
    }
}

/// `<<: *base` adds the entries of another table; those that are there already win.
fn merged(entries: Vec<(ConfigKey, ConfigNode)>) -> Vec<(ConfigKey, ConfigNode)> {
    let (bases, mut own): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|(key, _)| key.name == "<<");
    let bases = bases.into_iter().flat_map(|(_, node)| match node.content {
        NodeContent::List(items) => items,
        content => vec![ConfigNode::new(node.line, content)],
    });
    for base in bases {
        let NodeContent::Table(entries) = base.content else { continue };
        for (key, node) in entries {
            if !own.iter().any(|(there, _)| there.name == key.name) {
                own.push((key, node));
            }
        }
    }
    own
}

/// A value without quotes: null, true, false, a number, or else text.
fn plain(text: &str) -> NodeContent {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => NodeContent::Null,
        "true" | "True" | "TRUE" => NodeContent::Bool(true),
        "false" | "False" | "FALSE" => NodeContent::Bool(false),
        _ => match serde_json::from_str(text) {
            Ok(number) => NodeContent::Number(number),
            Err(_) => NodeContent::Text(text.to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::{Value, json};

    use super::*;

    fn check(text: &str) -> Result<Value, String> {
        let node = parse(text).map_err(|problem| problem.to_string())?;
        Value::deserialize(node).map_err(|problem| problem.to_string())
    }

    // MC-8
    #[test]
    fn values_are_those_of_json() {
        let text = "# goose\na: 1\nb: [x, 'y', \"z\", ~, true]\nc:\n  d: |\n    two\n    lines\n  e: '1'\n  f:\n";
        let expected = json!({"a": 1, "b": ["x", "y", "z", null, true], "c": {"d": "two\nlines\n", "e": "1", "f": null}});
        assert_eq!(check(text), Ok(expected));
        assert_eq!(check(""), Ok(json!({})));
        assert_eq!(check("a: 1\n---\nb: 2\n"), Ok(json!({"a": 1})), "the first document");
        let aliases = "base: &b {x: 1, y: 2}\none:\n  <<: *b\n  y: 3\ntwo: *b\n";
        let expected =
            json!({"base": {"x": 1, "y": 2}, "one": {"y": 3, "x": 1}, "two": {"x": 1, "y": 2}});
        assert_eq!(check(aliases), Ok(expected));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let bomb: String = (1..10)
            .map(|n| {
                let alias = format!("*a{}", n - 1);
                format!("a{n}: &a{n} [{}]\n", vec![alias; 10].join(","))
            })
            .collect();
        for (text, says) in [
            ("a: 1\nb: [1\n", ":"),
            ("a: 1\n? [x]\n: 2\n", ":2: a list or a table cannot be a key"),
            ("a: &a [*a]\n", ":1: an alias stands inside"),
            (&"[".repeat(200), ":1: lists and tables lie in each other"),
            (&format!("a0: &a0 [1,2,3,4,5,6,7,8,9,0]\n{bomb}"), "more than 100000 values"),
        ] {
            let error = check(text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[a&*\\[\\]{}:,\"'|>#\\-! \n<~1]{0,60}") {
            let _ = check(&text);
        }
    }
}
