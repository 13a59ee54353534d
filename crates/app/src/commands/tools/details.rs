//! The details of one tool.

use std::fmt::Write;

use serde_json::Value;
use switchboard_runtime::RegisteredTool;
use unicode_width::UnicodeWidthStr;

use crate::{
    arguments::schema::Schema,
    terminal::{self, Paint, json, text},
};

/// The name, what it does, its parameters, how to call it, and its schema.
pub(super) fn of(tool: &RegisteredTool, notes: &[&str], paint: Paint) -> String {
    let spec = tool.spec();
    let width = terminal::width().min(100);
    let mut page = paint.bold(&text::one_line(tool.name()));
    if let Some(server) = spec.server() {
        page.push_str(&paint.cyan(&format!("  server {server}")));
    }
    if !notes.is_empty() {
        page.push_str(&paint.dim(&format!("  {}", notes.join(", "))));
    }
    page.push('\n');
    for line in text::wrap(&spec.description, width - 2) {
        page.push_str(&format!("  {line}\n"));
    }
    let parameters = parameters(&spec.parameters);
    page.push_str(&format!("\n{}\n", paint.bold("Parameters")));
    if parameters.is_empty() {
        page.push_str("  none declared\n");
    }
    let name = parameters.iter().map(|parameter| parameter.name.width()).max().unwrap_or(0);
    let kind = parameters.iter().map(|parameter| parameter.kind.width()).max().unwrap_or(0);
    for parameter in &parameters {
        page.push_str(&parameter.show(name, kind, width, paint));
    }
    let example = example(tool.name(), &parameters);
    let _ = write!(page, "\n{}\n  {example}\n", paint.bold("Example"));
    let schema = json::pretty(&spec.parameters, paint).replace('\n', "\n  ");
    let _ = write!(page, "\n{}\n  {schema}\n", paint.bold("Schema"));
    page
}

struct Parameter<'a> {
    name: String,
    kind: String,
    is_required: bool,
    description: &'a str,
    schema: Schema<'a>,
}

fn parameters(schema: &Value) -> Vec<Parameter<'_>> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|n| n == name));
    let declared = Schema::of(schema).properties().into_iter();
    let parameters = declared.map(|(name, schema)| Parameter {
        name: text::one_line(name),
        kind: text::one_line(&kind(schema)),
        is_required: is_required(name),
        description: schema.keyword("description").and_then(Value::as_str).unwrap_or_default(),
        schema,
    });
    parameters.collect()
}

/// The type as people read it: `string`, `integer or null`, `get | set`.
fn kind(schema: Schema<'_>) -> String {
    let options = schema.options();
    if !options.is_empty() {
        let shown = options.iter().map(|option| match option {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        return shown.collect::<Vec<_>>().join(" | ");
    }
    match schema.types() {
        types if types.is_empty() => "any".to_owned(),
        types => types.join(" or "),
    }
}

impl Parameter<'_> {
    fn show(&self, name: usize, kind: usize, width: usize, paint: Paint) -> String {
        // Long lists of options stand alone, so that the others keep their columns.
        let kind = kind.min(24);
        let mut text = self.description.to_owned();
        if self.is_required {
            text = format!("(required) {text}");
        }
        if let Some(default) = self.schema.keyword("default").filter(|default| !default.is_null()) {
            text = format!("{text} [default: {default}]");
        }
        let margin = name + kind + 6;
        let lines = text::wrap(&text, width.saturating_sub(margin).max(30));
        let mut shown = format!(
            "  {}  {}",
            paint.cyan(&text::pad(&self.name, name)),
            paint.dim(&text::pad(&self.kind, kind))
        );
        for (index, line) in lines.iter().enumerate() {
            let fits = index > 0 || self.kind.width() <= kind;
            match (index, fits) {
                (0, true) => shown.push_str("  "),
                _ => shown.push_str(&format!("\n{}", " ".repeat(margin))),
            }
            shown.push_str(line);
        }
        format!("{}\n", shown.trim_end())
    }
}

fn example(tool: &str, parameters: &[Parameter<'_>]) -> String {
    let mut example = format!("switchboard call {}", text::one_line(tool));
    for parameter in parameters.iter().filter(|parameter| parameter.is_required) {
        let value = match parameter.schema.options().first() {
            Some(Value::String(option)) => text::one_line(option),
            Some(option) => text::one_line(&option.to_string()),
            None => match parameter.schema.types().first() {
                Some(&"integer" | &"number") => "1".to_owned(),
                Some(&"boolean") => "true".to_owned(),
                Some(&"object") => "'{}'".to_owned(),
                _ => "…".to_owned(),
            },
        };
        example.push_str(&format!(" {}={value}", parameter.name));
    }
    example
}
