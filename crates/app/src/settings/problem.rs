//! Errors of a config, with their lines.

use std::fmt::{self, Display};

use serde::de::{self, Expected, Unexpected};
use switchboard_runtime::lookup::close_names;

use super::node::ConfigNode;
use crate::excerpt::{TextPosition, excerpt};

/// What is wrong, on which line and at which key. Displays from the line on: `:12: …` follows the file's name.
#[derive(Debug)]
pub(crate) struct ConfigProblem {
    what: ProblemKind,
    line: Option<usize>,
    /// From the top of the config.
    path: Vec<PathStep>,
}

#[derive(Debug)]
enum ProblemKind {
    UnknownKey { key: String, way_out: String },
    Syntax { column: usize, reason: String, excerpt: String },
    Other(String),
}

/// One step from the top of a config to a value.
#[derive(Debug)]
pub(super) enum PathStep {
    Key(String),
    /// An item of a list, with the name that it gives itself.
    Item(usize, Option<String>),
}

impl PathStep {
    pub(super) fn key(name: &str) -> Self {
        Self::Key(name.to_owned())
    }

    pub(super) fn item(index: usize, node: &ConfigNode) -> Self {
        Self::Item(index, node.own_name().map(str::to_owned))
    }
}

impl ConfigProblem {
    pub(super) fn new(what: impl Display) -> Self {
        Self { what: ProblemKind::Other(what.to_string()), line: None, path: Vec::new() }
    }

    pub(super) fn syntax(text: &str, position: TextPosition, reason: &str) -> Self {
        let TextPosition { line, column } = position;
        let excerpt = excerpt(text, position);
        let what = ProblemKind::Syntax { column, reason: reason.to_owned(), excerpt };
        Self { what, line: Some(line), path: Vec::new() }
    }

    pub(super) fn unknown_key(key: &str, known: &[&str]) -> Self {
        let near = other_name(key).filter(|name| known.contains(name));
        let near = near.or_else(|| close_names(key, known.iter().copied()).first().copied());
        let way_out = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known are {}", quoted(known)),
        };
        let what = ProblemKind::UnknownKey { key: key.to_owned(), way_out };
        Self { what, line: None, path: Vec::new() }
    }

    /// Sets the line, unless a narrower one is known.
    pub(super) fn at(mut self, line: usize) -> Self {
        self.line.get_or_insert(line);
        self
    }

    /// Adds a step at the start of the path to the problem.
    pub(super) fn inside(mut self, step: PathStep) -> Self {
        self.path.insert(0, step);
        self
    }

    /// Returns the tool that the path leads to, and the rest of the path as people write it.
    fn place(&self) -> (Option<String>, String) {
        let (tool, rest) = match &self.path[..] {
            [PathStep::Key(tools), PathStep::Item(index, name), rest @ ..] if tools == "tools" => {
                let tool = match name {
                    Some(name) => format!("tool `{name}`"),
                    None => format!("tool number {}", index + 1),
                };
                (Some(tool), rest)
            }
            whole => (None, whole),
        };
        let mut keys = String::new();
        for step in rest {
            match step {
                PathStep::Key(key) if keys.is_empty() => keys.push_str(key),
                PathStep::Key(key) => keys = format!("{keys}.{key}"),
                PathStep::Item(index, _) => keys = format!("{keys}[{index}]"),
            }
        }
        (tool, keys)
    }
}

impl Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        let (tool, keys) = self.place();
        match &self.what {
            ProblemKind::Syntax { column, reason, excerpt } => {
                write!(f, ":{column}: {reason}\n{excerpt}")
            }
            ProblemKind::UnknownKey { key, way_out } => {
                write!(f, ": unknown key `{key}` ")?;
                match (tool, keys.as_str()) {
                    (Some(tool), "") => write!(f, "in {tool}")?,
                    (Some(tool), keys) => write!(f, "in `{keys}` of {tool}")?,
                    (None, "") => f.write_str("at the top level")?,
                    (None, keys) => write!(f, "in [{keys}]")?,
                }
                write!(f, "; {way_out}")
            }
            ProblemKind::Other(what) => {
                f.write_str(": ")?;
                if let Some(tool) = tool {
                    write!(f, "{tool}: ")?;
                }
                if !keys.is_empty() {
                    write!(f, "`{keys}`: ")?;
                }
                f.write_str(what)
            }
        }
    }
}

impl std::error::Error for ConfigProblem {}

impl de::Error for ConfigProblem {
    fn custom<T: Display>(what: T) -> Self {
        Self::new(what)
    }

    fn invalid_type(got: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format_args!("expected {}, got {}", plain(expected), kind(got)))
    }

    fn invalid_value(got: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(got, expected)
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        Self::unknown_key(key, known)
    }

    fn unknown_variant(value: &str, known: &'static [&'static str]) -> Self {
        let near = close_names(value, known.iter().copied());
        let near = near.first().map(|near| format!("; did you mean \"{near}\"?"));
        let known = quoted(known);
        Self::new(format_args!(
            "expected one of {known}, got `{value}`{}",
            near.unwrap_or_default()
        ))
    }

    fn missing_field(key: &'static str) -> Self {
        Self::new(format_args!("`{key}` is missing"))
    }

    fn duplicate_field(key: &'static str) -> Self {
        Self::new(format_args!("`{key}` is given twice"))
    }
}

/// Returns our name for a section that has another name in other programs, or that spelling alone would correct wrongly.
fn other_name(key: &str) -> Option<&'static str> {
    let plain = key.to_lowercase().replace(['-', '_'], "");
    matches!(plain.as_str(), "server" | "mcpserver" | "mcpservers").then_some("servers")
}

fn quoted(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Says what serde expects in words for people who do not write Rust.
fn plain(expected: &dyn Expected) -> String {
    match expected.to_string().as_str() {
        "usize" | "u64" | "u32" | "u16" | "u8" => "a whole number, 0 or more".to_owned(),
        "a nonzero usize" | "a nonzero u32" => "a whole number, 1 or more".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        text if text.starts_with("struct ") => "a table".to_owned(),
        text => text.to_owned(),
    }
}

/// Says what was found; strings are not quoted, because they may be secrets.
fn kind(got: Unexpected<'_>) -> String {
    match got {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(value) => format!("the number {value}"),
        Unexpected::Signed(value) => format!("the number {value}"),
        Unexpected::Float(value) => format!("the number {value:?}"),
        Unexpected::Str(_) => "a string".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        Unexpected::Unit => "null".to_owned(),
        other => other.to_string(),
    }
}
