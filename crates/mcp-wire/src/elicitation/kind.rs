//! The type of a field's value, by its schema.

use std::fmt::Display;

use serde_json::Value;
use url::Url;

/// How many choices a field may have.
const MOST_CHOICES: usize = 500;

/// The type of a field's value.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldKind {
    /// A text.
    Text(Option<TextFormat>),
    /// A number.
    Number,
    /// A whole number.
    Integer,
    /// Yes or no.
    Boolean,
    /// One of these.
    One(Vec<FieldChoice>),
    /// Several of these.
    Several(Vec<FieldChoice>),
}

/// Something that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldChoice {
    /// The value.
    pub value: String,
    /// The title that is shown.
    pub title: String,
}

/// How a text has to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// `email`
    Email,
    /// `uri`
    Uri,
    /// `date`
    Date,
    /// `date-time`
    DateTime,
}

impl FieldKind {
    /// Reads it from the schema of a field.
    ///
    /// # Errors
    /// The schema is not supported; the text says why.
    pub(super) fn read(schema: &Value) -> Result<Self, String> {
        match schema["type"].as_str() {
            Some("string") => match choices(schema)? {
                Some(choices) => Ok(Self::One(choices)),
                None => Ok(Self::Text(TextFormat::read(&schema["format"]))),
            },
            Some("number") => Ok(Self::Number),
            Some("integer") => Ok(Self::Integer),
            Some("boolean") => Ok(Self::Boolean),
            Some("array") => match choices(&schema["items"])? {
                Some(choices) => Ok(Self::Several(choices)),
                None => Err("is a list of no choices".to_owned()),
            },
            _ => Err(format!("is of the type {}, which cannot be asked for", schema["type"])),
        }
    }

    /// Returns what a value must be, as in "must be …".
    pub(super) fn expected(&self, schema: &Value) -> String {
        let limits = |least: &str, most: &str, unit: &str| {
            let (least, most) = (schema.get(least), schema.get(most));
            match (least, most) {
                (Some(least), Some(most)) => format!(" from {least} to {most}{unit}"),
                (Some(least), None) => format!(" of at least {least}{unit}"),
                (None, Some(most)) => format!(" of at most {most}{unit}"),
                (None, None) => String::new(),
            }
        };
        match self {
            Self::Text(Some(format)) => format.expected().to_owned(),
            Self::Text(None) => {
                let length = limits("minLength", "maxLength", " characters");
                let pattern = schema["pattern"].as_str();
                let pattern = pattern.map(|pattern| format!(" that matches {pattern}"));
                format!("text{length}{}", pattern.unwrap_or_default())
            }
            Self::Number => format!("a number{}", limits("minimum", "maximum", "")),
            Self::Integer => format!("a whole number{}", limits("minimum", "maximum", "")),
            Self::Boolean => "yes or no".to_owned(),
            Self::One(choices) => format!("one of the {} choices", choices.len()),
            Self::Several(choices) => {
                format!(
                    "some of the {} choices{}",
                    choices.len(),
                    limits("minItems", "maxItems", "")
                )
            }
        }
    }
}

impl TextFormat {
    fn read(name: &Value) -> Option<Self> {
        match name.as_str()? {
            "email" => Some(Self::Email),
            "uri" => Some(Self::Uri),
            "date" => Some(Self::Date),
            "date-time" => Some(Self::DateTime),
            _ => None,
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Self::Email => "an email address, such as ada@example.org",
            Self::Uri => "an address, such as https://example.org/",
            Self::Date => "a date, such as 2026-07-28",
            Self::DateTime => "a date and time, such as 2026-07-28T09:30:00Z",
        }
    }

    /// Returns whether the text is written so.
    pub(super) fn accepts(self, text: &str) -> bool {
        match self {
            Self::Email => is_email(text),
            Self::Uri => Url::parse(text).is_ok(),
            Self::Date => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
            Self::DateTime => text.parse::<jiff::Timestamp>().is_ok(),
        }
    }
}

/// Whether the text looks like an email address: whether there is such a mailbox, only a mail to it tells.
fn is_email(text: &str) -> bool {
    let has_space = text.chars().any(|c| c.is_whitespace() || c.is_control());
    let parts = text.rsplit_once('@').filter(|_| !has_space);
    parts.is_some_and(|(name, host)| {
        !name.is_empty() && !name.contains('@') && host.contains('.') && !host.starts_with('.')
    })
}

/// The choices of a schema in any of the forms that MCP has had: `enum`, with or without `enumNames`, and
/// `oneOf` or `anyOf` of titled constants.
fn choices(schema: &Value) -> Result<Option<Vec<FieldChoice>>, String> {
    let titled = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
    let choices: Vec<_> = match (schema["enum"].as_array(), titled) {
        (Some(values), _) => {
            let name = |index: usize| schema["enumNames"][index].as_str();
            let choice = |(index, value): (usize, &Value)| FieldChoice::new(value, name(index));
            values.iter().enumerate().map(choice).collect::<Result<_, _>>()?
        }
        (None, Some(titled)) => {
            let choice = |one: &Value| FieldChoice::new(&one["const"], one["title"].as_str());
            titled.iter().map(choice).collect::<Result<_, _>>()?
        }
        (None, None) => return Ok(None),
    };
    match choices.len() {
        0 => Err("has no choices".to_owned()),
        1..=MOST_CHOICES => Ok(Some(choices)),
        count => Err(too_many(count)),
    }
}

fn too_many(count: impl Display) -> String {
    format!("has {count} choices, and {MOST_CHOICES} at most can be shown")
}

impl FieldChoice {
    fn new(value: &Value, title: Option<&str>) -> Result<Self, String> {
        let value = value.as_str().ok_or("has a choice that is not text")?;
        Ok(Self { value: value.to_owned(), title: title.unwrap_or(value).to_owned() })
    }
}
