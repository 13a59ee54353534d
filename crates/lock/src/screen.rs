//! Finds what is meant to deceive in definitions: a help for people who decide, not a proof that the rest is harmless.
//!
//! `characters.rs` finds characters that cannot be seen or look like others, `phrases.rs` text that is addressed to the model or asks
//! for secrets, `markup.rs` text that people do not see, `names.rs` names that look like another server's.

mod characters;
mod combinations;
mod markup;
mod names;
mod phrases;
mod sentences;
mod words;

use serde_json::Value;
use switchboard_toolcall::text::{one_line, visible};

use crate::definition::{DefinitionKind, LockableDefinition};
use names::KnownNames;

/// How many findings of one definition are told.
const MOST_FINDINGS: usize = 8;

/// How much of a text is read, in bytes.
const LONGEST_TEXT: usize = 64 * 1024;

/// What is suspicious.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Suspicion {
    /// Characters that cannot be seen.
    Invisible,
    /// Characters that change the direction of text.
    Direction,
    /// Characters that look like others.
    LookAlike,
    /// Text that tells the model what to do apart from using the tool.
    Order,
    /// A request for secrets, files or the conversation.
    Secret,
    /// Text that people are not shown.
    Markup,
    /// A name that looks like another server's.
    Shadow,
}

impl Suspicion {
    /// Its name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Invisible => "invisible",
            Self::Direction => "direction",
            Self::LookAlike => "look_alike",
            Self::Order => "order",
            Self::Secret => "secret",
            Self::Markup => "markup",
            Self::Shadow => "shadow",
        }
    }
}

/// Something suspicious in a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The definition's name.
    pub name: String,
    /// What it is.
    pub suspicion: Suspicion,
    /// A sentence that says what and where.
    pub sentence: String,
}

impl Finding {
    /// Returns the line that people read: `⚠ server__tool: sentence`.
    pub fn line(&self, server: &str, separator: &str) -> String {
        format!("⚠ {}{separator}{}: {}", visible(server), visible(&self.name), self.sentence)
    }
}

/// Returns what is suspicious in a definition of `server`, apart from other servers' names.
pub fn screen(server: &str, definition: &LockableDefinition) -> Vec<Finding> {
    Screen::default().findings(server, definition)
}

/// A screen that knows the tools of all servers.
#[derive(Debug, Default)]
pub struct Screen {
    names: KnownNames,
}

impl Screen {
    /// Creates a screen that knows these tools, each with its server.
    pub fn new<'a>(tools: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        Self { names: KnownNames::new(tools) }
    }

    /// Says which of the tools wait to be trusted, each with its server: of many names that two servers share, one that waits is
    /// told.
    #[must_use]
    pub fn with_waiting<'a>(mut self, tools: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        self.names.set_waiting(tools);
        self
    }

    /// Returns what is suspicious in a definition of `server`.
    pub fn findings(&self, server: &str, definition: &LockableDefinition) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut add = |suspicion: Suspicion, sentence: String| {
            if found.len() < MOST_FINDINGS && !found.iter().any(|(known, _)| *known == suspicion) {
                found.push((suspicion, sentence));
            }
        };
        for text in texts(definition) {
            characters::find(&text, &mut add);
            markup::find(&text, &mut add);
            phrases::find(&text, &mut add);
        }
        if definition.kind == DefinitionKind::Tool {
            self.names.find(server, definition, &mut add);
        }
        let name = definition.name.clone();
        let finding = |(suspicion, sentence)| Finding { name: name.clone(), suspicion, sentence };
        found.into_iter().map(finding).collect()
    }
}

/// A text of a definition.
struct ScreenedText<'a> {
    /// What it is, such as `its description` or `the description of its parameter 'path'`.
    place: String,
    text: &'a str,
    role: TextRole,
}

/// What a text of a definition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextRole {
    /// The name of the definition or of a parameter.
    Name,
    /// The name of a parameter.
    ParameterName,
    /// Text about a parameter.
    Parameter,
    /// Any other text.
    Text,
}

/// Returns all texts that a model or client reads.
fn texts(definition: &LockableDefinition) -> Vec<ScreenedText<'_>> {
    let mut texts = Vec::new();
    for (key, value) in &definition.entry {
        match (key.as_str(), value) {
            ("name" | "uriTemplate", Value::String(text)) => {
                texts.push(ScreenedText {
                    place: "its name".to_owned(),
                    text: cut(text),
                    role: TextRole::Name,
                });
            }
            ("inputSchema" | "arguments", value) => parameters(None, value, &mut texts),
            ("icons", _) => {}
            (key, value) => others(&format!("its {}", visible(key)), value, &mut texts),
        }
    }
    texts
}

/// Collects the texts of a schema, or of a prompt's arguments.
fn parameters<'a>(parameter: Option<&str>, value: &'a Value, out: &mut Vec<ScreenedText<'a>>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match (key.as_str(), value) {
                    (
                        "properties" | "$defs" | "definitions" | "patternProperties",
                        Value::Object(own),
                    ) => {
                        for (name, schema) in own {
                            let place = format!("the name of its parameter `{}`", short(name));
                            let role = TextRole::ParameterName;
                            out.push(ScreenedText { place, text: cut(name), role });
                            parameters(Some(name), schema, out);
                        }
                    }
                    ("name", Value::String(name)) if parameter.is_none() => {
                        let place = format!("the name of its parameter `{}`", short(name));
                        out.push(ScreenedText {
                            place,
                            text: cut(name),
                            role: TextRole::ParameterName,
                        });
                    }
                    (_, value) => parameters(parameter, value, out),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| parameters(parameter, value, out)),
        Value::String(text) => {
            let place = match parameter {
                Some(name) => format!("the text of its parameter `{}`", short(name)),
                None => "its schema".to_owned(),
            };
            out.push(ScreenedText { place, text: cut(text), role: TextRole::Parameter });
        }
        _ => {}
    }
}

fn others<'a>(place: &str, value: &'a Value, out: &mut Vec<ScreenedText<'a>>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                out.push(ScreenedText {
                    place: place.to_owned(),
                    text: cut(key),
                    role: TextRole::Text,
                });
                others(place, value, out);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| others(place, value, out)),
        Value::String(text) => {
            out.push(ScreenedText {
                place: place.to_owned(),
                text: cut(text),
                role: TextRole::Text,
            });
        }
        _ => {}
    }
}

fn cut(text: &str) -> &str {
    let end = (0..=LONGEST_TEXT.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

/// Returns the beginning of a text on one line.
fn short(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(100) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
