use serde_json::json;

use super::*;

fn lowered(provider: Provider, parameters: Value) -> LoweredTool {
    let spec = ToolSpec::new("f", "Does it.", parameters);
    let before = spec.clone();
    let mut lowered = tools(provider, &[&spec]);
    // ML-1: pure
    assert_eq!(spec, before);
    lowered.tools.remove(0)
}

// ML-6
#[test]
fn names_fit_and_come_back() {
    let long = "x".repeat(80);
    let longer = format!("{long}y");
    let names = ["a.b", "a_b", "a b", "ok-1", &long, &longer, "", "größe", "a.b"];
    let map = Names::new(names.iter().copied());
    let mut sent: Vec<_> = names[..8].iter().map(|name| map.wire_name(name).into_owned()).collect();
    for (name, wire) in names.iter().zip(&sent) {
        assert_eq!(map.tool_name(wire), *name);
        assert!((1..=64).contains(&wire.len()), "{wire}");
        assert!(
            wire.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'),
            "{wire}"
        );
    }
    assert_eq!(sent[1], "a_b");
    assert_eq!(sent[3], "ok-1");
    assert_eq!(map.wire_name("gone.tool"), "gone_tool");
    sent.sort();
    sent.dedup();
    assert_eq!(sent.len(), 8);
}

// ML-1, ML-2
#[test]
fn plain_schemas_pass_unchanged() {
    let plain = json!({"type": "object", "properties": {"city": {"type": "string", "description": "Where"}},
        "required": ["city"]});
    for provider in [Provider::Anthropic, Provider::OpenAi, Provider::Ollama] {
        let tool = lowered(provider, plain.clone());
        assert_eq!(tool.parameters.to_string(), plain.to_string());
        assert_eq!(tool.notes, [""; 0]);
        assert!(tools(provider, &[]).tools.is_empty());
        assert_eq!(
            lowered(provider, Value::Null).parameters,
            json!({"type": "object", "properties": {}})
        );
    }
}

// ML-6
#[test]
fn references_are_inlined_within_bounds() {
    let tool = lowered(
        Provider::OpenAi,
        json!({"type": "object",
            "properties": {
                "at": {"$ref": "#/$defs/Point", "description": "Where"},
                "tree": {"$ref": "#/$defs/Tree"},
                "far": {"$ref": "https://example.com/x"},
                "$ref": {"type": "string", "default": {"$ref": "#/kept"}}},
            "$defs": {
                "Point": {"type": "object", "properties": {"x": {"type": "number"}}, "description": "Lost"},
                "Tree": {"type": "object", "properties": {"child": {"$ref": "#/$defs/Tree"}}}}}),
    );
    assert_eq!(
        tool.parameters,
        json!({"type": "object", "properties": {
            "at": {"type": "object", "properties": {"x": {"type": "number"}}, "description": "Where"},
            "tree": {"type": "object", "properties": {"child": {}}},
            "far": {},
            "$ref": {"type": "string", "default": {"$ref": "#/kept"}}}})
    );
    assert_eq!(
        tool.notes,
        [
            "`$ref` to `#/$defs/Point` inlined",
            "`$ref` to `#/$defs/Tree` inlined",
            "`#/$defs/Tree` contains itself; it was followed once",
            "`$ref` to `https://example.com/x` dropped: it is elsewhere",
        ]
    );
}

// ML-6
#[test]
fn a_schema_that_doubles_at_every_level_stays_small() {
    let mut defs = serde_json::Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        defs.insert(format!("l{level}"), json!({"properties": {"a": next, "b": next}}));
    }
    let bomb =
        json!({"type": "object", "$defs": defs, "properties": {"x": {"$ref": "#/$defs/l0"}}});
    let tool = lowered(Provider::Anthropic, bomb);
    assert!(tool.parameters.to_string().len() < 1_000_000);
    assert!(tool.notes.iter().any(|note| note.contains("too large")), "{:?}", tool.notes);
}

// ML-6
#[test]
fn unions_at_the_top_become_one_object() {
    let tool = lowered(
        Provider::Anthropic,
        json!({"oneOf": [
            {"type": "object", "properties": {"op": {"const": "read"}, "path": {"type": "string"}},
             "required": ["op", "path"]},
            {"type": "object", "properties": {"op": {"const": "list"}, "depth": {"type": "integer"}},
             "required": ["op"]}],
            "not": {"required": ["x"]}}),
    );
    assert_eq!(
        tool.parameters,
        json!({"type": "object", "required": ["op"], "properties": {
            "path": {"type": "string"}, "op": {"enum": ["read", "list"]}, "depth": {"type": "integer"}}})
    );
    assert_eq!(tool.description, "Does it. Give one of: op = \"read\", path; op = \"list\".");
    let tool = lowered(
        Provider::OpenAi,
        json!({"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]},
                         {"properties": {"b": {"type": "string"}}, "required": ["b"]}]}),
    );
    assert_eq!(tool.parameters["required"], json!(["a", "b"]));
    assert_eq!(tool.description, "Does it.");
}

// ML-6: what Ollama's server would drop is said in other words.
#[test]
fn ollama_gets_what_its_server_keeps() {
    let tool = lowered(
        Provider::Ollama,
        json!({"type": "object", "title": "Args", "additionalProperties": false, "properties": {
            "when": {"type": "string", "format": "date-time", "description": "When"},
            "level": {"type": "integer", "minimum": 0, "maximum": 100, "default": 5},
            "kind": {"const": "light"},
            "target": {"oneOf": [{"type": "string", "maxLength": 3}, {"type": "integer"}]},
            "both": {"allOf": [{"type": "object"}, {"properties": {"a": true}}]},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}},
            "list": {"type": "array", "items": {"type": "string", "pattern": "^a"}}}}),
    );
    assert_eq!(
        tool.parameters,
        json!({"type": "object", "properties": {
            "when": {"type": "string", "description": "When (format: date-time)"},
            "level": {"type": "integer", "description": "(minimum: 0, maximum: 100, default: 5)"},
            "kind": {"enum": ["light"]},
            "target": {"anyOf": [{"type": "string", "description": "(maxLength: 3)"}, {"type": "integer"}]},
            "both": {"type": "object", "properties": {"a": {}}},
            "map": {"type": "object", "description": "(values: {\"type\":\"integer\"})"},
            "list": {"type": "array", "items": {"type": "string", "description": "(pattern: ^a)"}}}})
    );
    assert!(tool.notes.contains(&"`oneOf` of `target` became `anyOf`".to_owned()));
    assert!(tool.notes.contains(&"`additionalProperties` of the top was dropped".to_owned()));
}

#[test]
fn the_report_names_only_what_was_changed() {
    let plain = ToolSpec::new("plain", "", json!({"type": "object", "properties": {}}));
    let odd = ToolSpec::new("odd.name", "", json!({"type": "object", "properties": {}}));
    let report = report(Provider::OpenAi, &[&plain, &odd]);
    let expected = Lowering {
        tool: "odd.name".to_owned(),
        sent_as: "odd_name".to_owned(),
        notes: vec!["the name is sent as `odd_name`".to_owned()],
    };
    assert_eq!(report, [expected]);
}
