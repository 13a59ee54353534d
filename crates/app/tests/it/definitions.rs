//! Tool definitions from files, in their several shapes (issue 2, item 6).

use serde_json::{Value, json};

use crate::test_folder::TestFolder;

fn definition(name: &str) -> Value {
    json!({"name": name, "description": "A mock",
           "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
           "implementation": {"type": "mock", "mock_response": {"I am": name}}})
}

#[test]
fn a_json_file_may_be_a_definition_a_list_or_a_config() {
    let (a, b) = (definition("a"), definition("b"));
    let mut nameless = a.clone();
    nameless.as_object_mut().unwrap().remove("name");
    for file in [
        a.clone(),
        json!([b, a]),
        json!({"tools": [b, a]}),
        json!({"tools": {"registry": [b, a]}}),
        json!({"tools": {"registry": {"b": b, "a": nameless}}, "executor": {"timeout": "5s"}}),
    ] {
        for name in ["config.json", "config"] {
            let place = TestFolder::new().file(name, serde_json::to_string_pretty(&file).unwrap());
            let envelope = place.call(&["a", "--config", name]);
            assert_eq!(envelope["result"], json!({"I am": "a"}), "{file}");
        }
    }
}

#[test]
fn numbers_of_a_json_config_keep_their_digits() {
    // RS-3
    let config = r#"{"name":"n","description":"d","implementation":{"type":"mock",
                     "mock_response":{"big":12345678901234567890123,"one":1.0}}}"#;
    let place = TestFolder::new().file("n.json", config);
    let ran = place.run(&["call", "n", "--config", "n.json"]);
    assert!(ran.stdout.contains(r#"{"big":12345678901234567890123,"one":1.0}"#), "{ran:?}");
}

#[test]
fn broken_definitions_are_named_with_file_and_line() {
    // TL-2
    for (file, says) in [
        (
            "[\n{\"name\":\"x\",\"description\":\"d\",\"implementation\":{\"type\":\"mock\"}}]",
            "t.json:2: tool `x`: a mock needs `mock_response`",
        ),
        (
            "[{\"name\":\"x\",\"description\":\"d\",\n\"implementation\":{\"type\":\"magic\"}}]",
            "t.json:2: tool `x`: `implementation.type`: expected one of `mock`, `builtin`, `internal`, `command`, `http`, got `magic`",
        ),
        (
            "{\"name\":\"x\",\"description\":\"d\",\"parameters\":{\"type\":\"object\",\
             \"properties\":{\"a\":{\"type\":\"strin\"}}},\"implementation\":{\"type\":\"mock\",\"mock_response\":1}}",
            "t.json:1: tool `x` has an unusable schema: ",
        ),
        (
            "{\"name\":\"x\",\"description\":\" \",\"implementation\":{\"type\":\"mock\",\"mock_response\":1}}",
            "t.json:1: tool `x` has no description",
        ),
        ("{\"name\":\"x\",\"implementation\":{}}", "t.json:1: tool `x`: `"),
        ("{\n\"tools\": [}", "t.json:2:11: expected value"),
    ] {
        let refusal =
            TestFolder::new().file("t.json", file).refusal(&["tools", "--config", "t.json"]);
        assert!(refusal.contains(says), "{file}\n{refusal}");
    }
}

#[test]
fn all_broken_definitions_are_told_at_once() {
    let broken = |name: &str| json!({"name": name, "description": "d", "implementation": {"type": "builtin"}});
    let file = json!([broken("one"), broken("two")]).to_string();
    let refusal = TestFolder::new().file("t.json", file).refusal(&["tools", "--config", "t.json"]);
    assert!(refusal.contains("tool `one`: type `builtin` needs `handler`"), "{refusal}");
    assert!(refusal.contains("tool `two`: type `builtin` needs `handler`"), "{refusal}");
}

#[test]
fn a_definition_may_take_a_built_ins_place() {
    // TL-2
    let place = TestFolder::new().file("t.json", definition("echo").to_string());
    let ran = place.run(&["call", "echo", "--config", "t.json", "--json"]);
    assert_eq!(ran.json()["result"], json!({"I am": "echo"}));
    assert!(
        ran.stderr.contains("WARN") && ran.stderr.contains("'echo' was there already"),
        "{ran:?}"
    );
}
