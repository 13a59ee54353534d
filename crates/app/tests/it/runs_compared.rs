//! Runs that are exported, compared and run again.

use serde_json::{Value, json};

use crate::{ask::scripted, test_folder::TestFolder};

const TOOL: &str = r#"
[[tools]]
name = "charge"
description = "Charges"
implementation = { type = "command", program = "sh", args = ["-c", "echo charge >> written; echo charged"] }
"#;

fn place() -> TestFolder {
    let turns = json!([{"tool_calls": [{"id": "a", "name": "charge", "args": {}}], "usage": {"input_tokens": 10, "output_tokens": 5}},
        {"text": "Paid."}]);
    let other = json!({"turns": [{"tool_calls": [{"id": "a", "name": "charge", "args": {}}]},
        {"expect": "charged", "tool_calls": [{"id": "b", "name": "math_eval", "args": {"expression": "1+1"}}]}, {"text": "It is paid."}]});
    scripted(TOOL, turns).file("other.json", other.to_string())
}

fn ask(place: &TestFolder) -> String {
    let report = place.run(&["ask", "-m", "script:script.json", "--json", "Pay"]).json();
    report["run_id"].as_str().unwrap().to_owned()
}

fn written(place: &TestFolder) -> usize {
    std::fs::read_to_string(place.path().join("written")).unwrap().lines().count()
}

#[test]
fn a_run_is_asked_again_with_recorded_results() {
    let place = place();
    let id = ask(&place);
    let ran = place.run(&["runs", "rerun", &id, "-m", "script:other.json", "--json"]);
    let report = ran.json();
    let rerun = &report[0];
    assert_eq!((ran.status, &rerun["run"]), (0, &json!(id)), "{ran:?}");
    assert_eq!(
        (&rerun["before"]["answer"], &rerun["after"]["answer"]),
        (&json!("Paid."), &json!("It is paid."))
    );
    assert_eq!(rerun["same_answer"], false);
    let lines = json!(["  charge {}", "+ math_eval {\"expression\":\"1+1\"}"]);
    assert_eq!(rerun["calls"], lines, "{rerun}");
    // The tool did not run again.
    assert_eq!(written(&place), 1);
    let live = place.run(&["runs", "rerun", &id, "--tools", "live"]);
    assert_eq!((live.status, written(&place)), (0, 2), "{live:?}");
    assert!(live.stdout.contains("the same answer"), "{live:?}");
    let table = place.run(&["runs", "rerun", "--since", "1h", "-m", "script:other.json"]);
    assert!(table.stdout.contains("0 of 1 answers are the same"), "{table:?}");
    let none = place.run(&["runs", "rerun"]);
    assert_eq!(none.status, 2, "{none:?}");
}

#[test]
fn another_policy_shows_what_it_would_deny() {
    let place = place().file("strict.toml", "[policy]\ndeny = [\"charge\"]\n");
    let id = ask(&place);
    let ran = place.run(&["runs", "rerun", &id, "--policy", "strict.toml", "--json"]);
    assert_eq!((ran.status, &ran.json()[0]["after"]["answer"]), (0, &json!("Paid.")), "{ran:?}");
    assert_eq!(written(&place), 1);
    // The call is denied: neither the tool nor the record answers.
    let denied = json!({"turns": [{"tool_calls": [{"id": "a", "name": "charge", "args": {}}]},
        {"expect": "denied", "text": "I may not."}]});
    let place = place.file("denied.json", denied.to_string());
    for tools in ["recorded", "live"] {
        let words = ["--policy", "strict.toml", "-m", "script:denied.json", "--tools", tools];
        let ran = place.run(&[&["runs", "rerun", &id, "--json"], &words[..]].concat());
        let after = &ran.json()[0]["after"];
        assert_eq!((ran.status, &after["answer"]), (0, &json!("I may not.")), "{tools}: {ran:?}");
        let allowed = place.run(&[&["runs", "rerun", &id, "--json"], &words[2..]].concat());
        assert_ne!(allowed.json()[0]["after"]["answer"], "I may not.", "{tools}: {allowed:?}");
    }
}

// RN-4: the same question is one with the same tools, limits and form of the answer.
#[test]
fn a_run_is_asked_again_as_it_was_asked() {
    let call = json!({"tool_calls": [{"id": "a", "name": "charge", "args": {}}]});
    let answer = json!({"text": "{\"city\": \"Bonn\"}"});
    let schema =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let place = scripted(TOOL, json!([call, answer])).file("schema.json", schema.to_string());
    let words = ["--tools", "charge", "--max-iterations", "7", "--schema", "schema.json"];
    let asked = ["ask", "-m", "script:script.json", "--json", "Where?"];
    let report = place.run(&[&asked[..], &words[..]].concat()).json();
    let id = report["run_id"].as_str().unwrap();
    let shown = place.run(&["runs", "show", id, "--json"]).json();
    let offered =
        json!({"count": 1, "hash": shown["settings"]["offered"]["hash"], "names": ["charge"]});
    let settings =
        json!({"tools": ["charge"], "offered": offered, "max_iterations": 7, "schema": schema});
    assert_eq!(shown["settings"], settings, "{shown}");
    // `math_eval` is not on offer, and an answer that does not fit is asked for once more.
    let other = json!({"turns": [
        {"tool_calls": [{"id": "b", "name": "math_eval", "args": {"expression": "1+1"}}]},
        {"expect": "Unknown tool", "text": "Bonn."},
        {"expect": "does not fit", "text": "{\"city\":\"Bonn\"}"}]});
    let place = place.file("other.json", other.to_string());
    let ran = place.run(&["runs", "rerun", id, "-m", "script:other.json", "--json"]);
    let after = &ran.json()[0]["after"];
    assert_eq!(
        (&after["turns"], &after["answer"]),
        (&json!(3), &json!("{\"city\":\"Bonn\"}")),
        "{ran:?}"
    );
}

// RN-1, RN-4: an answer may be another one because the tools are.
#[test]
fn a_rerun_says_if_other_tools_are_offered() {
    let place = scripted(TOOL, json!([{"text": "Hello."}]));
    let report = place.run(&["ask", "-m", "script:script.json", "--json", "Hi"]).json();
    let id = report["run_id"].as_str().unwrap();
    let rerun =
        |words: &[&str]| place.run(&[&["runs", "rerun", id, "--tools", "live"], words].concat());
    let same = rerun(&["--json"]);
    assert_eq!(same.json()[0]["after"].get("tools_changed"), None, "{same:?}");
    let fewer = rerun(&["--json", "--tools-allowed", "charge"]);
    let changed = fewer.json()[0]["after"]["tools_changed"].as_str().unwrap().to_owned();
    assert!(changed.contains(" tools then and 1 now, without "), "{fewer:?}");
    let told = rerun(&["--tools-allowed", "charge"]);
    assert!(told.stderr.contains(&changed), "{told:?}");
}

// RN-4
#[test]
fn a_run_that_cannot_be_asked_again_is_a_row() {
    let place = place();
    let gone = ask(&place);
    std::fs::copy(place.path().join("script.json"), place.path().join("stays.json")).unwrap();
    let stays = place.run(&["ask", "-m", "script:stays.json", "--json", "Pay"]).json();
    let stays = stays["run_id"].as_str().unwrap();
    std::fs::remove_file(place.path().join("script.json")).unwrap();
    let ran = place.run(&["runs", "rerun", "--since", "1h", "--json"]);
    let rows = ran.json();
    assert_eq!((ran.status, &rows[0]["run"], &rows[1]["run"]), (0, &json!(gone), &json!(stays)));
    assert!(rows[0]["after"]["error"].as_str().unwrap().contains("script.json"), "{ran:?}");
    assert_eq!((&rows[1]["same_answer"], &rows[1]["after"]["error"]), (&json!(true), &Value::Null));
    let table = place.run(&["runs", "rerun", "--since", "1h"]);
    assert!(
        table.stdout.contains("none: ") && table.stdout.contains("1 of 2 answers are the same"),
        "{table:?}"
    );
    let alone = place.run(&["runs", "rerun", &gone]);
    assert_ne!(alone.status, 0, "{alone:?}");
}

#[test]
fn two_runs_are_compared() {
    let place = place();
    let (one, other) = (ask(&place), ask(&place));
    let ran = place.run(&["runs", "diff", &one, &other, "--json"]).json();
    assert_eq!((&ran["same_answer"], &ran["calls"]), (&json!(true), &json!(["  charge {}"])));
    let page = place.run(&["runs", "diff", &one, &other]);
    assert!(page.stdout.contains("the same answer\nPaid."), "{page:?}");
}

#[test]
fn a_run_is_exported_as_json_and_as_a_trace() {
    let place = place();
    let id = ask(&place);
    let json = place.run(&["runs", "export", &id]).json();
    assert_eq!(json["id"], json!(id));
    let trace = place.run(&["runs", "export", &id, "--format", "otlp"]).json();
    let spans = trace["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
    let names: Vec<_> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
    let expected = [
        "invoke_agent",
        "chat script:script.json",
        "execute_tool charge",
        "chat script:script.json",
    ];
    assert_eq!(names, expected);
    let root = &spans[0]["spanId"];
    for span in &spans {
        assert_eq!(span["traceId"].as_str().unwrap().len(), 32);
        let number = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
        assert!(number("startTimeUnixNano") <= number("endTimeUnixNano"), "{span}");
        let is_root = span["spanId"] == *root;
        assert_eq!(span["parentSpanId"], if is_root { Value::from("") } else { root.clone() });
    }
}

// RN-4
#[test]
fn a_rerun_is_recorded_and_can_be_compared() {
    let place = place();
    let id = ask(&place);
    let report = place.run(&["runs", "rerun", &id, "-m", "script:other.json", "--json"]).json();
    let again = report[0]["after"]["run_id"].as_str().unwrap().to_owned();
    assert_eq!(report[0]["before"]["run_id"], id, "{report}");
    let runs = place.run(&["runs", "--json"]).json();
    let newest = &runs[0];
    assert_eq!((&newest["id"], &newest["client"]), (&json!(again), &json!("rerun")), "{runs}");
    let diff = place.run(&["runs", "diff", &id, &again, "--json"]).json();
    for key in ["same_answer", "calls"] {
        assert_eq!(diff[key], report[0][key], "{diff}");
    }
    // A rerun is no question that somebody asked: a table of all is of the others.
    let table = place.run(&["runs", "rerun", "--since", "1h", "--json"]).json();
    let rows: Vec<_> = table.as_array().unwrap().iter().map(|row| row["run"].clone()).collect();
    assert_eq!(rows, [json!(id)], "{table}");
}

// RN-4
#[test]
fn a_rerun_may_have_another_tool_set() {
    let script = json!({"turns": [{"tool_calls": [{"id": "a", "name": "charge", "args": {}}]}, {"text": "I cannot."}]});
    let place = place().file("less.json", script.to_string());
    let id = ask(&place);
    assert_eq!(written(&place), 1);
    for tools in ["recorded", "live"] {
        let words = ["runs", "rerun", &id, "-m", "script:less.json", "--tools", tools, "--json"];
        let ran = place.run(&[&words[..], &["--tools-allowed", "math_*,get_*"]].concat());
        let after = &ran.json()[0]["after"];
        assert_eq!((ran.status, &after["answer"]), (0, &json!("I cannot.")), "{ran:?}");
        let shown =
            place.run(&["runs", "show", after["run_id"].as_str().unwrap(), "--json"]).json();
        assert_eq!(shown["settings"]["tools"], json!(["math_*,get_*"]), "{shown}");
        let calls = &shown["timeline"][0]["calls"][0];
        assert_eq!(calls["outcome"], "not_found", "{tools}: {shown}");
    }
    assert_eq!(written(&place), 1, "it was not among the tools");
    let ran =
        place.run(&["runs", "rerun", &id, "-m", "script:less.json", "--tools", "live", "--json"]);
    assert_eq!((ran.status, written(&place)), (0, 2), "{ran:?}");
}
