//! Arguments as they come through a shell.

use serde_json::json;

use crate::{fixture::section, test_folder::TestFolder};

#[test]
fn pairs_are_typed_by_the_tools_schema() {
    let place = TestFolder::with_config(
        r#"
        [[tools]]
        name = "typed"
        description = "Echoes what it gets"
        implementation = { type = "builtin", handler = "echo" }
        [tools.parameters.properties]
        count = { type = "integer" }
        code = { type = "string" }
        on = { type = "boolean" }
        tags = { type = "array", items = { type = "string" } }
        options = { type = "object", properties = { unit = { type = "string" } } }
        "#,
    );
    let words = [
        "typed",
        "count=5",
        "code=5",
        "on=true",
        "tags=a",
        "tags=b",
        "options.unit=celsius",
        "x:=[1]",
        "free=text",
    ];
    let given = json!({"count": 5, "code": "5", "on": true, "tags": ["a", "b"],
                       "options": {"unit": "celsius"}, "x": [1], "free": "text"});
    assert_eq!(place.call(&words)["result"]["echo"], given);
    assert_eq!(
        place.error(&["typed", "count=many"]),
        "Invalid parameters: 'count' must be integer, got string"
    );
}

#[test]
fn nothing_is_an_empty_object_and_a_dash_is_stdin() {
    let place = TestFolder::new();
    assert_eq!(place.call(&["echo"])["result"], json!({"echo": {}}));
    let ran = place.run_with_stdin(&["call", "echo", "-"], b"{\"a\": [1.0]}\n");
    assert!(ran.stdout.contains(r#"{"echo":{"a":[1.0]}}"#), "{ran:?}");
    for (stdin, says) in [
        (&b""[..], "stdin is empty"),
        (b"\xff\xfe", "stdin is not UTF-8 text"),
        (b"{\n \"a\": }", "line 2, column 7"),
        (b"[]", "must be a JSON object"),
    ] {
        let ran = place.run_with_stdin(&["call", "echo", "-"], stdin);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{ran:?}");
        assert!(ran.stderr.contains(says), "{ran:?}");
    }
}

#[test]
fn a_value_alone_is_for_the_only_required_parameter() {
    let place = TestFolder::with_config(&section("s", ""));
    assert_eq!(
        place.run(&["call", "math_eval", "2 inch to cm"]).stdout,
        "{\"result\":\"5.08 cm\"}\n"
    );
    assert_eq!(place.call(&["math_eval", "2+2"])["result"]["result"], 4);
    // Of a server that has to be started first.
    assert_eq!(place.run(&["call", "s__echo", "Europe/Berlin"]).stdout, "Europe/Berlin\n");
    assert_eq!(
        place.run(&["call", "s__echo", "https://x.example/?q=1"]).stdout,
        "https://x.example/?q=1\n"
    );
    let says = place.refusal(&["call", "s__add", "1"]);
    assert!(says.contains("there is more than one parameter: `a`, `b`"), "{says}");
    let says = place.refusal(&["call", "math_eval", "2", "+", "2"]);
    assert!(says.contains("a value with spaces needs quotes"), "{says}");
    // What the executor knows better comes first.
    assert_eq!(place.error(&["nobody", "2+2"]), "Tool 'nobody' not found");
}

#[test]
fn wrong_json_shows_where_it_broke() {
    let place = TestFolder::new();
    let says = place.refusal(&["call", "math_eval", r#"{"expression": 2+2}"#]);
    let shown = "line 1, column 17\n  1 | {\"expression\": 2+2}\n    |                 ^\n";
    assert!(says.contains(shown), "{says}");
    assert!(place.refusal(&["call", "echo", "[1]"]).contains("must be a JSON object"));
    let says = place.refusal(&["call", "echo", "hello"]);
    assert!(says.contains("neither a JSON object nor a key=value pair"), "{says}");
    assert!(says.contains("key:=JSON") && says.contains("- for one on stdin"), "{says}");
    assert!(place.refusal(&["call", "echo", "a:={"]).contains("the value of `a`"));
    assert!(place.refusal(&["call", "echo", "{a:", "1}"]).contains("single quotes"));
    // Wrong JSON is wrong usage even where the tool does not exist.
    assert!(place.refusal(&["call", "nobody", "{"]).contains("no valid JSON"));
}
