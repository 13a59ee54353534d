use serde_json::json;

use super::*;

/// Returns the components that a schema becomes.
fn placed(schema: &Value) -> Value {
    let mut components = Map::new();
    place(schema, "f.arguments", &mut components);
    Value::Object(components)
}

#[test]
fn references_follow_their_definitions() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.org/s",
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/My%20Node"},
            "b": {"$ref": "#"},
            "c": {"$ref": "#/properties/a"},
            "d": {"$ref": "#/$defs/My Node/properties/next", "description": "kept"},
            "e": {"$ref": "https://example.org/other"},
            "f": {"$ref": "#anchor"},
            "id": {"type": "string", "default": {"$ref": "#/not/a/reference"}},
        },
        "$defs": {"My Node": {"properties": {"next": {"$ref": "#/$defs/My Node"}}}, "My_Node": true},
    });
    let at = |place: &str| json!({"$ref": format!("#/components/schemas/f.arguments{place}")});
    let mut described = at(".My_Node/properties/next");
    described["description"] = json!("kept");
    assert_eq!(
        placed(&schema),
        json!({
            "f.arguments": {
                "type": "object",
                "properties": {
                    "a": at(".My_Node"),
                    "b": at(""),
                    "c": at("/properties/a"),
                    "d": described,
                    "e": {},
                    "f": {},
                    "id": {"type": "string", "default": {"$ref": "#/not/a/reference"}},
                },
            },
            "f.arguments.My_Node": {"properties": {"next": at(".My_Node")}},
            "f.arguments.My_Node_2": true,
        })
    );
}

#[test]
fn older_drafts_are_written_anew() {
    let cases = [
        (
            json!({"items": [{"type": "string"}], "additionalItems": false}),
            json!({"prefixItems": [{"type": "string"}], "items": false}),
        ),
        (json!({"minimum": 1, "exclusiveMinimum": true}), json!({"exclusiveMinimum": 1})),
        (json!({"maximum": 1.50, "exclusiveMaximum": false}), json!({"maximum": 1.50})),
        (
            json!({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}),
            json!({"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}}}),
        ),
        (json!({"example": 7, "required": true}), json!({"examples": [7]})),
        (
            json!({"definitions": {"x": {"type": "null"}}, "$ref": "#/definitions/x"}),
            json!({"$ref": "#/components/schemas/f.arguments.x"}),
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(placed(&schema)["f.arguments"], expected, "{schema}");
    }
    assert_eq!(placed(&json!(true)), json!({"f.arguments": {"type": "object"}}));
}
