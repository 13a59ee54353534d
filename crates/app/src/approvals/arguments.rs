//! The arguments of a held call as the person who decides sees them: every character visible, nothing cut.

use serde_json::Value;
use switchboard_toolcall::json;

/// Formats the arguments over several lines, each starting with `indent`. Invisible characters become escapes.
pub(crate) fn indented(arguments: &str, indent: &str) -> String {
    let laid_out = serde_json::from_str::<Value>(arguments)
        .and_then(|value| serde_json::to_string_pretty(&value))
        .unwrap_or_else(|_| arguments.to_owned());
    let visible = json::visible(&laid_out);
    visible.lines().map(|line| format!("{indent}{line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_cut_and_nothing_is_hidden() {
        // PO-2
        let long = "x".repeat(10_000);
        let given = serde_json::json!({"note": long, "command": "rm\u{202e}\u{9b}\n"}).to_string();
        let expected = format!(
            "  {{\n    \"note\": \"{long}\",\n    \"command\": \"rm\\u202e\\u009b\\n\"\n  }}"
        );
        assert_eq!(indented(&given, "  "), expected);
        let many = Value::from(vec![1; 1000]).to_string();
        assert_eq!(indented(&many, "").lines().count(), 1002);
    }
}
