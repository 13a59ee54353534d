use serde_json::{Value, json};

use super::*;
use crate::{ToolSpec, Visibility};

fn rules(config: Value) -> Result<ProfileRules, String> {
    let config: ProfileConfig = serde_json::from_value(config).map_err(|e| e.to_string())?;
    ProfileRules::new(config).map_err(|error| error.to_string())
}

// FT-5
#[test]
fn a_name_means_what_the_profile_shows() {
    let rules = rules(json!({
        "tools": ["fs__*"],
        "tool": {"fs__read_file": {"name": "read"}, "fs__stat": {"description": "Sizes"}},
    }))
    .unwrap();
    assert_eq!(rules.resolve("read"), Some("fs__read_file"));
    assert_eq!(rules.resolve("fs__read_file"), None);
    assert_eq!(rules.resolve("fs__stat"), Some("fs__stat"));
    assert_eq!(rules.shown_name("fs__read_file"), "read");
    assert_eq!(rules.shown_name("fs__stat"), "fs__stat");
    assert!(rules.includes(&["fs__stat"]) && rules.includes(&["read_result"]));
    assert!(!rules.includes(&["git__log"]));
}

// FT-5
#[test]
fn settings_that_contradict_each_other_are_errors() {
    let refused = |tool: Value| rules(json!({ "tool": tool })).unwrap_err();
    assert_eq!(
        refused(json!({"a": {"name": "x"}, "b": {"name": "x"}})),
        "`tool.\"a\".name` and `tool.\"b\".name` are both `x`"
    );
    assert_eq!(
        refused(json!({"a": {"name": "x y"}})),
        "`tool.\"a\".name`: `x y` has white space or control characters in it"
    );
    assert_eq!(
        refused(json!({"a": {"arguments": {"p": {"fixed": 1, "hidden": true}}}})),
        "`tool.\"a\".arguments.p`: it is either `fixed` or `hidden`"
    );
    assert!(rules(json!({"tools": ["["]})).unwrap_err().starts_with("`tools`: "));
    assert!(rules(json!({"toools": []})).is_err());
}

// FT-5
#[test]
fn what_callers_do_not_choose_is_not_in_the_schema() {
    let rules = rules(json!({"tool": {"f": {
        "name": "g",
        "description": "New",
        "arguments": {
            "path": {"fixed": "/tmp"},
            "raw": {"hidden": true},
            "mode": {"description": "How"},
            "other": {"description": "is no parameter"},
        },
    }}}))
    .unwrap();
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "raw": {}, "mode": {"type": "string"}},
        "required": ["path", "raw"],
        "anyOf": [{"required": ["path"]}, {"required": ["mode"]}],
        "dependentRequired": {"mode": ["raw"], "raw": ["mode"]},
        "additionalProperties": false,
    });
    let spec = ToolSpec::new("f", "Old", schema);
    let shown = rules.change(&["f"]).unwrap().1.apply(&spec);
    assert_eq!((&*shown.name, &*shown.description), ("g", "New"));
    assert_eq!(
        shown.parameters,
        json!({
            "type": "object",
            "properties": {"mode": {"type": "string", "description": "How"}},
            "anyOf": [{}, {"required": ["mode"]}],
            "dependentRequired": {"mode": []},
            "additionalProperties": false,
        })
    );
    assert_eq!(shown.settings.fixed["path"].value, json!("/tmp"));
    assert_eq!(shown.settings.fixed["path"].schema, json!({"type": "string"}));
    assert!(shown.settings.hidden.contains("raw"));
}

// FT-5
#[test]
fn a_profile_limits_what_a_token_allows_and_changes_while_in_use() {
    let with = |globs: Value| rules(json!({ "tools": globs })).unwrap();
    let profile = Profile::new("p", Some(with(json!(["a*"]))));
    let token = Visibility::of_tools(|name| name != "ab").within(profile.clone());
    let seen = |name: &str| token.sees_name(name);
    assert_eq!(["aa", "ab", "b", "read_result"].map(seen), [true, false, false, true]);
    profile.set(Some(with(json!(["b*"]))));
    assert_eq!(["aa", "ab", "b"].map(seen), [false, false, true]);
    profile.set(None);
    assert_eq!(["aa", "ab", "b", "read_result"].map(seen), [false; 4]);
    assert!(token.hides_tools());
}
