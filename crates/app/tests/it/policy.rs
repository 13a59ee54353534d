//! `switchboard policy test`: rules tried on what was called.

use serde_json::{Value, json};

use crate::{fixture::section, serving::Serving, test_folder::TestFolder};

/// What changes: `change tool calls known` and the rule, sorted.
fn changes(report: &Value) -> Vec<(String, Value)> {
    let changes = report["changes"].as_array().unwrap().iter().map(|one| {
        let words = ["change", "tool", "calls", "known"].map(|key| match &one[key] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        (words.join(" "), one["rule"].clone())
    });
    let mut changes: Vec<_> = changes.collect();
    changes.sort_by(|one, other| one.0.cmp(&other.0));
    changes
}

fn change(words: &str, rule: Option<&str>) -> (String, Value) {
    (words.to_owned(), json!(rule))
}

#[test]
fn rules_are_tried_on_recorded_calls() {
    let strict = "[policy]\ndeny = [\"ech*\"]\n";
    let place = TestFolder::with_config(&section("s", ""))
        .file("strict.toml", format!("{strict}{}", section("s", "")))
        .file("reading.toml", "[policy]\nread_only = true\n")
        .file("without.toml", "[policy]\ndeny = [\"*__add\"]\n")
        .file("wrong.toml", "[policy]\ndeny = [\"a[\"]\n");
    place.call(&["echo"]);
    place.call(&["echo", "a=1"]);
    place.call(&["s__add", "a=1", "b=2"]);
    place.call(&["nobody"]);
    place.call(&["math_eval", "{}"]);
    let denied = place.call(&["echo", "--config", "strict.toml"]);
    assert_eq!(denied["error_kind"], "denied");

    let run = |words: &[&str]| {
        let ran = place.run(&[&["policy", "test"], words].concat());
        assert_eq!(ran.status, 0, "{ran:?}");
        ran
    };
    // The rules in use would allow what other rules denied.
    let report = run(&["--json", "--since", "7d"]).json();
    assert_eq!(
        (&report["calls"], &report["same"], &report["skipped"]),
        (&json!(4), &json!(3), &json!(2))
    );
    assert_eq!(changes(&report), [change("allowed echo 1 true", None)]);
    assert_eq!(report["changes"][0]["example"], denied["call_id"]);

    let report = run(&["--json", "--config", "strict.toml"]).json();
    assert_eq!(changes(&report), [change("denied echo 2 true", Some("deny \"ech*\""))]);

    // A tool that is gone is judged by its name, and where that is not enough, the answer is no.
    let report = run(&["--json", "--config", "without.toml", "--server", "s"]).json();
    assert_eq!(changes(&report), [change("denied s__add 1 false", Some("deny \"*__add\""))]);
    let report = run(&["--json", "--config", "reading.toml"]).json();
    let rule = Some("read_only, and the tool is not annotated as read-only");
    let expected = [change("allowed echo 1 true", None), change("denied s__add 1 false", rule)];
    assert_eq!(changes(&report), expected);

    let lines = run(&["--config", "without.toml"]);
    assert!(lines.stdout.contains("would be denied\ts__add\t1\t"), "{lines:?}");
    assert!(lines.stdout.contains("(tool is gone; judged by name)"), "{lines:?}");
    assert!(
        lines.stderr.contains("2 of 4 calls would end otherwise; 2 more never came"),
        "{lines:?}"
    );
    assert_eq!(run(&["--json", "--until", "1h"]).json()["calls"], 0);
    assert!(place.refusal(&["policy", "test", "--config", "wrong.toml"]).contains("[policy]"));
}

#[test]
fn what_is_left_to_a_person_is_shown() {
    let asks = "[policy]\nask = [\"ech*\"]\nask_if = [\"args.expression == '2+2'\"]\n";
    let place = TestFolder::new().file("asks.toml", asks);
    place.call(&["echo"]);
    place.call(&["math_eval", "expression=1+1"]);
    place.call(&["math_eval", "expression=2+2"]);
    let run = |words: &[&str]| place.run(&[&["policy", "test"], words].concat());
    let report = run(&["--json", "--config", "asks.toml"]).json();
    let by_arguments = "ask_if \"args.expression == '2+2'\"";
    let expected = [
        change("asked echo 1 true", Some("ask \"ech*\"")),
        change("asked math_eval 1 true", Some(by_arguments)),
    ];
    assert_eq!((changes(&report), &report["same"]), (expected.to_vec(), &json!(1)));
    let lines = run(&["--config", "asks.toml"]);
    assert!(lines.stdout.contains("would be asked\techo\t1\t"), "{lines:?}");
    let tools = place.run(&["tools", "--config", "asks.toml"]);
    let echo = tools.stdout.lines().find(|line| line.starts_with("echo\t")).unwrap();
    assert!(echo.contains("asks first"), "{tools:?}");
}

// Rules of `[serve]` are tried on the calls of tokens, which they apply to, and on no others.
#[test]
fn rules_of_the_gateway_are_tried_on_calls_of_its_tokens() {
    let rules = "[serve]\ndeny_if = [\"tool == 'echo' && args.of != caller\"]\n";
    let place = TestFolder::with_config(rules).file("none.toml", "");
    let token = place.run(&["token", "new", "--name", "a", "--json"]).json()["token"].clone();
    let bearer = format!("Authorization: Bearer {}\r\n", token.as_str().unwrap());
    let serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let echo = |body: &str| serving.ask("POST", "/api/tools/echo/call", &bearer, body).0;
    assert_eq!((echo(r#"{"of":"a"}"#), echo(r#"{"of":"b"}"#)), (200, 403));
    drop(serving);
    place.call(&["echo", "of=b"]);

    let report = place.run(&["policy", "test", "--json"]).json();
    assert_eq!((&report["calls"], &report["same"]), (&json!(3), &json!(3)), "{report}");
    let report = place.run(&["policy", "test", "--json", "--config", "none.toml"]).json();
    assert_eq!(changes(&report), [change("allowed echo 1 true", None)]);
}
