//! One value that a server asks for.

use std::fmt::Display;

use serde_json::{Map, Value, json};

use super::kind::{FieldChoice, FieldKind};

/// Returns whether a value fits the schema that the function was made of.
pub type SchemaPredicate = Box<dyn Fn(&Value) -> bool + Send + Sync>;

/// One value that a server asks for.
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// Its description, if the server gave one.
    pub description: Option<String>,
    /// Whether it must be given.
    pub required: bool,
    /// Its default value.
    pub default: Option<Value>,
    /// What its value can be.
    pub kind: FieldKind,
    /// What its value must be, in words.
    expected: String,
    /// Checks an object in which it is the only member.
    check: SchemaPredicate,
}

impl Field {
    pub(super) fn read<E: Display>(
        name: &str,
        schema: &Value,
        required: bool,
        compile: &impl Fn(&Value) -> Result<SchemaPredicate, E>,
    ) -> Result<Self, String> {
        let problem = |problem: String| format!("its field '{name}' {problem}");
        let kind = FieldKind::read(schema).map_err(problem)?;
        let whole = json!({"type": "object", "properties": {name: schema}, "required": [name]});
        let check = compile(&whole)
            .map_err(|error| problem(format!("has a schema that cannot be used: {error}")))?;
        let text = |key: &str| schema[key].as_str().map(str::to_owned);
        let mut field = Self {
            name: name.to_owned(),
            title: text("title"),
            description: text("description"),
            required,
            default: None,
            expected: kind.expected(schema),
            kind,
            check,
        };
        // A default that does not fit the field is ignored.
        let default = schema.get("default").cloned();
        field.default = default.filter(|default| field.check(default).is_ok());
        Ok(field)
    }

    /// Says what its value must be, as in "must be …".
    pub fn expected(&self) -> &str {
        &self.expected
    }

    /// Checks a value.
    ///
    /// # Errors
    /// Says what the value must be.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let whole = Value::Object(Map::from_iter([(self.name.clone(), value.clone())]));
        let has_format = match (&self.kind, value) {
            (FieldKind::Text(Some(format)), Value::String(text)) => format.accepts(text),
            _ => true,
        };
        match has_format && (self.check)(&whole) {
            true => Ok(()),
            false => Err(format!("must be {}", self.expected)),
        }
    }

    /// Parses a typed value; choices by their number or name.
    ///
    /// # Errors
    /// Says what the value must be.
    pub fn parse(&self, typed: &str) -> Result<Value, String> {
        let value = match &self.kind {
            FieldKind::Text(_) => Some(Value::from(typed)),
            FieldKind::Number | FieldKind::Integer => {
                typed.trim().parse::<serde_json::Number>().ok().map(Value::Number)
            }
            FieldKind::Boolean => match typed.trim().to_lowercase().as_str() {
                "y" | "yes" | "true" => Some(Value::Bool(true)),
                "n" | "no" | "false" => Some(Value::Bool(false)),
                _ => None,
            },
            FieldKind::One(choices) => chosen(choices, typed),
            FieldKind::Several(choices) => {
                typed.split(',').map(|one| chosen(choices, one)).collect()
            }
        };
        let value = value.ok_or_else(|| format!("must be {}", self.expected))?;
        self.check(&value).map(|()| value)
    }
}

/// Finds a choice by its number, counted from 1, or by its title or value.
fn chosen(choices: &[FieldChoice], typed: &str) -> Option<Value> {
    let typed = typed.trim();
    let number = typed.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let is_meant = |choice: &&FieldChoice| {
        choice.value == typed || choice.title.to_lowercase() == typed.to_lowercase()
    };
    let found = number.and_then(|index| choices.get(index));
    let found = found.or_else(|| choices.iter().find(is_meant));
    found.map(|choice| Value::from(choice.value.as_str()))
}
