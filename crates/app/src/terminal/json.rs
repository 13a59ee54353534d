//! JSON for people: over several lines, in colours.

use serde_json::Value;

use super::{Paint, guard::guarded};

/// Formats the value over several lines.
pub(crate) fn pretty(value: &Value, paint: Paint) -> String {
    let mut text = String::new();
    write(value, paint, 0, &mut text);
    text
}

fn write(value: &Value, paint: Paint, depth: usize, text: &mut String) {
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            text.push('{');
            for (index, (name, value)) in entries.iter().enumerate() {
                new_line(index > 0, depth + 1, text);
                text.push_str(&paint.blue(&quoted(name)));
                text.push_str(": ");
                write(value, paint, depth + 1, text);
            }
            new_line(false, depth, text);
            text.push('}');
        }
        Value::Array(items) if !items.is_empty() => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                new_line(index > 0, depth + 1, text);
                write(item, paint, depth + 1, text);
            }
            new_line(false, depth, text);
            text.push(']');
        }
        Value::String(string) => text.push_str(&paint.green(&quoted(string))),
        Value::Number(number) => text.push_str(&paint.cyan(&number.to_string())),
        Value::Bool(true) => text.push_str(&paint.yellow("true")),
        Value::Bool(false) => text.push_str(&paint.yellow("false")),
        Value::Null | Value::Object(_) | Value::Array(_) => {
            text.push_str(&paint.dim(&value.to_string()));
        }
    }
}

/// The string as JSON, without control sequences for the terminal.
fn quoted(string: &str) -> String {
    guarded(&Value::from(string).to_string()).into_owned()
}

fn new_line(comma: bool, depth: usize, text: &mut String) {
    text.push_str(if comma { ",\n" } else { "\n" });
    text.push_str(&"  ".repeat(depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_the_same_json() {
        let json =
            r#"{"a":[1.0,12345678901234567890123,{}],"b":{"c":null,"d":"x\"\u0085\n"},"e":[]}"#;
        let value: Value = serde_json::from_str(json).unwrap();
        let shown = pretty(&value, Paint(false));
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
        assert!(shown.starts_with("{\n  \"a\": [\n    1.0,\n"), "{shown}");
        assert!(!shown.contains('\u{85}'));
        assert!(pretty(&value, Paint(true)).contains("\x1b[36m1.0\x1b[0m"));
    }
}
