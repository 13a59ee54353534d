//! Values that a server asks for, one field after the other.

use std::io;

use serde_json::{Map, Value};
use switchboard_mcp_wire::elicitation::{ElicitForm, ElicitResult, Field, FieldChoice, FieldKind};

use super::QuestionScreen;
use crate::{
    approvals::arguments,
    terminal::{
        self,
        lines::{TypedLine, TypedLines},
        text,
    },
};

/// Asks for the values; an invalid value is asked for again.
pub(super) async fn ask(
    screen: &QuestionScreen<'_>,
    form: &ElicitForm,
) -> io::Result<ElicitResult> {
    terminal::tell(&screen.opening("asks you", &form.message));
    if form.fields.is_empty() {
        let keys = [('y', "es"), ('n', "o, decline"), ('c', "ancel")];
        return Ok(match screen.key("  Accept?", &keys).await? {
            'y' => ElicitResult::Accept(Some(Map::new())),
            'n' => ElicitResult::Decline,
            _ => ElicitResult::Cancel,
        });
    }
    terminal::tell("  The server gets what you answer. Do not tell it passwords or keys.");
    let keys = [('y', "es"), ('n', "o, decline"), ('c', "ancel")];
    match screen.key(&format!("  {}. Answer?", summary(&form.fields)), &keys).await? {
        'y' => {}
        'n' => return Ok(ElicitResult::Decline),
        _ => return Ok(ElicitResult::Cancel),
    }
    loop {
        let Some(content) = fields(screen, &form.fields).await? else {
            return Ok(ElicitResult::Cancel);
        };
        let whole = Value::Object(content.clone()).to_string();
        terminal::tell(&format!("\n  You answer:\n{}", arguments::indented(&whole, "    ")));
        let keys = [('y', "es"), ('n', "o, decline"), ('a', "gain"), ('c', "ancel")];
        match screen.key("  Send it?", &keys).await? {
            'y' => return Ok(ElicitResult::Accept(Some(content))),
            'n' => return Ok(ElicitResult::Decline),
            'a' => {}
            _ => return Ok(ElicitResult::Cancel),
        }
    }
}

/// How many fields there are.
fn summary(fields: &[Field]) -> String {
    let count = fields.len();
    let plural = if count == 1 { "" } else { "s" };
    let required = fields.iter().filter(|field| field.required).count();
    match required {
        0 => format!("{count} field{plural}, none required"),
        required if required == count => format!("{count} field{plural}, required"),
        required => format!("{count} field{plural}, {required} required"),
    }
}

/// Asks for all fields; returns `None` if the person cancels.
async fn fields(
    screen: &QuestionScreen<'_>,
    fields: &[Field],
) -> io::Result<Option<Map<String, Value>>> {
    let mut lines = TypedLines::open()?;
    let mut content = Map::new();
    for (index, field) in fields.iter().enumerate() {
        terminal::tell(&described(screen, field, index + 1, fields.len()));
        loop {
            let typed = match lines.ask(&prompt(field)).await {
                TypedLine::Text(typed) => typed,
                TypedLine::Interrupt | TypedLine::End => return Ok(None),
            };
            match value(field, &typed) {
                Ok(value) => {
                    content.extend(value.map(|value| (field.name.clone(), value)));
                    break;
                }
                Err(problem) => {
                    let problem = text::one_line(&problem);
                    terminal::tell(&format!("  {} it {problem}", screen.paint.red("✗")));
                }
            }
        }
    }
    Ok(Some(content))
}

/// Describes a field: its number, title and description, and the allowed values.
fn described(screen: &QuestionScreen<'_>, field: &Field, number: usize, count: usize) -> String {
    let paint = screen.paint;
    let name = paint.bold(&text::one_line(&field.name));
    let title = field.title.as_deref().filter(|title| *title != field.name);
    let title = title.map(|title| format!(" – {}", text::one_line(title))).unwrap_or_default();
    let need = if field.required { "required" } else { "optional" };
    let kind = paint.dim(&format!("({}, {need})", text::one_line(field.expected())));
    let about = field.description.as_deref().map(|about| screen.quoted(about)).unwrap_or_default();
    let choices = match &field.kind {
        FieldKind::One(choices) => numbered(choices, ""),
        FieldKind::Several(choices) => numbered(choices, ", several with commas between them"),
        _ => String::new(),
    };
    format!("\n  {number}/{count} {name}{title} {kind}\n{about}{choices}")
}

fn numbered(choices: &[FieldChoice], how: &str) -> String {
    let line = |(index, choice): (usize, &FieldChoice)| {
        let value = if choice.title == choice.value {
            String::new()
        } else {
            format!(" ({})", text::one_line(&choice.value))
        };
        format!("    {}) {}{value}\n", index + 1, text::one_line(&choice.title))
    };
    let lines: String = choices.iter().enumerate().map(line).collect();
    format!("{lines}    by number or name{how}\n")
}

fn prompt(field: &Field) -> String {
    let name = text::one_line(&field.name);
    let enter = match (&field.default, field.required) {
        (Some(default), true) => format!(" [Enter: {}]", text::one_line(&default.to_string())),
        (Some(default), false) => {
            format!(" [Enter: {}, -: leave out]", text::one_line(&default.to_string()))
        }
        (None, true) => String::new(),
        (None, false) => " [Enter: leave out]".to_owned(),
    };
    format!("  {name}{enter}: ")
}

/// Parses a typed line; returns `None` if the field is left out.
fn value(field: &Field, typed: &str) -> Result<Option<Value>, String> {
    match (typed.trim(), &field.default, field.required) {
        ("", Some(default), _) => Ok(Some(default.clone())),
        ("", None, false) => Ok(None),
        ("-", Some(_), false) => Ok(None),
        ("", None, true) => Err(format!("is required, and must be {}", field.expected())),
        _ => field.parse(typed).map(Some),
    }
}
