//! Arguments that a tool does not know: they are passed on (SPEC VA-3), so a misspelt one would go unnoticed.

use serde_json::{Map, Value};
use switchboard_runtime::{lookup::close_names, rename};
use switchboard_toolcall::ToolSpec;

use crate::terminal::{self, text};

/// Warns the person of arguments that the tool's schema does not have.
pub(super) fn print_suggestion(spec: &ToolSpec, args: &Map<String, Value>) {
    if let Some(warning) = warning(spec, args) {
        terminal::tell(&text::one_line(&warning));
    }
}

fn warning(spec: &ToolSpec, args: &Map<String, Value>) -> Option<String> {
    let known = known(&spec.parameters)?;
    // Silent, because the executor renames again, and logs it then.
    let silent = tracing::subscriber::NoSubscriber::default();
    let rename = || rename::for_server(spec, args.clone());
    let args = tracing::subscriber::with_default(silent, rename);
    let unknown = args.keys().filter(|key| !known.contains_key(*key)).map(String::as_str);
    let unknown: Vec<_> = unknown.collect();
    let known: Vec<_> = known.keys().map(String::as_str).collect();
    let near = |name: &str| close_names(name, known.iter().copied()).first().copied();
    let quoted = |names: &[&str]| {
        names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
    };
    Some(match &unknown[..] {
        [] => return None,
        [one] => match near(one) {
            Some(near) => format!("unknown parameter '{one}'; did you mean '{near}'?"),
            None if known.is_empty() => format!("unknown parameter '{one}'; the tool takes none"),
            None => format!("unknown parameter '{one}'; the tool has {}", quoted(&known)),
        },
        many if known.is_empty() => {
            format!("unknown parameters {}; the tool takes none", quoted(many))
        }
        many => format!("unknown parameters {}; the tool has {}", quoted(many), quoted(&known)),
    })
}

/// Returns the properties of a schema that lists all allowed names; `None` if other names may be valid, too.
fn known(schema: &Value) -> Option<&Map<String, Value>> {
    const OPEN: [&str; 7] =
        ["$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "unevaluatedProperties"];
    let properties = schema["properties"].as_object()?;
    let is_closed = match schema.get("additionalProperties") {
        Some(more) => *more == Value::Bool(false),
        None => !properties.is_empty(),
    };
    (is_closed && OPEN.iter().all(|key| schema.get(key).is_none())).then_some(properties)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use switchboard_toolcall::{ToolOrigin, ToolSpec};

    use super::*;

    fn said(parameters: Value, origin: Option<ToolOrigin>, args: Value) -> Option<String> {
        let mut spec = ToolSpec::new("t", "a tool", parameters);
        spec.origin = origin.unwrap_or(spec.origin);
        warning(&spec, args.as_object().unwrap())
    }

    // VA-3, AN-2
    #[test]
    fn only_what_the_schema_cannot_mean_is_warned_of() {
        let one = json!({"type": "object", "properties": {"expression": {"type": "string"}}});
        let extra = json!({"expression": "2+2", "precision": 3});
        let expected = Some("unknown parameter 'precision'; the tool has 'expression'".to_owned());
        assert_eq!(said(one.clone(), None, extra.clone()), expected);
        assert_eq!(said(one.clone(), None, json!({"expression": "2"})), None);
        let two = said(one.clone(), None, json!({"a": 1, "b": 2}));
        assert_eq!(two.unwrap(), "unknown parameters 'a', 'b'; the tool has 'expression'");
        let near = said(one.clone(), None, json!({"expresion": "2"}));
        assert_eq!(near.unwrap(), "unknown parameter 'expresion'; did you mean 'expression'?");
        let none = json!({"type": "object", "properties": {}, "additionalProperties": false});
        let none = said(none, None, json!({"a": 1}));
        assert_eq!(none.unwrap(), "unknown parameter 'a'; the tool takes none");
        for open in [
            json!({"type": "object"}),
            json!({"type": "object", "properties": {}}),
            json!({"properties": {"a": {}}, "additionalProperties": true}),
            json!({"properties": {"a": {}}, "additionalProperties": {"type": "string"}}),
            json!({"properties": {"a": {}}, "patternProperties": {"^x": {}}}),
            json!({"properties": {"a": {}}, "anyOf": [{"properties": {"precision": {}}}]}),
        ] {
            assert_eq!(said(open.clone(), None, extra.clone()), None, "{open}");
        }
        // A name that is renamed for a server is known.
        let origin = ToolOrigin::Server { server: "s".into(), tool: "t".into() };
        let camel = json!({"type": "object", "properties": {"deviceName": {"type": "string"}}});
        assert_eq!(said(camel, Some(origin), json!({"device_name": "x"})), None);
    }
}
