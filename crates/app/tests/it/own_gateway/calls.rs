//! The same calls alone and through the gateway.

use std::{
    fs,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::{scrubbed, serve};
use crate::{
    fixture::{section, wait_until},
    pty,
    test_folder::{CommandOutput, TestFolder},
};

/// Servers that answer in all the ways that there are.
fn place() -> TestFolder {
    let config = [
        "[policy]\ndeny = [\"get_current_datetime\"]\n[executor]\nmax_output = 2000\n".to_owned(),
        section("s", ""),
        section("one", "binary"),
        section("two", "binary=2"),
        section("odd", "vendor-fields"),
        section("broken", "is-error"),
        section("refuses", "rpc-error"),
        section("huge", "huge-answer=1"),
        section("mute", "never-answers-tools-call"),
        section("forms", "asks"),
    ];
    TestFolder::with_config(&config.concat())
}

/// What a run wrote, and the file that it made. Ids of artifacts and calls are other ones each time.
fn observed(place: &TestFolder, words: &[&str]) -> (i32, Value, String, Option<Vec<u8>>) {
    let file = place.path().join("out.png");
    _ = fs::remove_file(&file);
    let (status, stdout, stderr) = scrubbed(&place.run(words));
    (status, without_ids(stdout), stderr, fs::read(&file).ok())
}

fn without_ids(value: Value) -> Value {
    match value {
        Value::String(text) => {
            let mut parts = text.split("artifact ");
            let first = parts.next().unwrap_or_default().to_owned();
            let rest =
                parts.map(|part| part.trim_start_matches(|c: char| c.is_ascii_alphanumeric()));
            Value::String(rest.fold(first, |text, part| format!("{text}artifact ID{part}")))
        }
        Value::Array(values) => values.into_iter().map(without_ids).collect(),
        Value::Object(object) => Value::Object(
            object
                .into_iter()
                .map(|(key, value)| match key.as_str() {
                    "artifacts" => (key, Value::from(value.as_array().map(Vec::len))),
                    _ => (key, without_ids(value)),
                })
                .collect(),
        ),
        other => other,
    }
}

// GW-1, RS-3, EX-3
#[test]
fn a_call_is_the_same_alone_and_through_the_gateway() {
    let place = place();
    let asks = json!({"method": "elicitation/create", "params": {"message": "?"}}).to_string();
    let cases: &[&[&str]] = &[
        &["s__echo", "text=hi", "--json"],
        &["s__add", "a=1", "b=2"],
        &["s__add", r#"{"a":1,"b":2}"#],
        &["s__add", "a=one", "b=2"],
        &["s__add", "a=1", "b=2", "c=3", "--json"],
        &["s__add", "--json", "--timeout", "1m"],
        &["math_eval", "expression=2+2"],
        &["math_eval"],
        &["math_eval", "--json"],
        &["math_eval", "expression=1/0"],
        &["math_eval", "{"],
        &["math_eval", "expression=1", "--timeout", "nonsense"],
        &["math_eval", "expression=1", "--idempotency-key", "has space"],
        &["add", "a=1", "b=2"],
        &["get_current_datetime"],
        &["get_current_datetime", "--json"],
        &["nobody"],
        &["nobody__x", "--json"],
        &["one__add", "a=1", "b=2"],
        &["one__add", "a=1", "b=2", "--json"],
        &["one__add", "a=1", "b=2", "-o", "out.png"],
        &["two__add", "a=1", "b=2", "-o", "out.png"],
        &["s__add", "a=1", "b=2", "-o", "out.png"],
        &["one__add", "a=1", "b=2", "-o", "no/such/out.png"],
        &["broken__add", "a=1", "b=2", "-o", "out.png"],
        &["odd__add", "a=1", "b=2"],
        &["odd__add", "a=1", "b=2", "--json"],
        &["broken__add", "a=1", "b=2"],
        &["broken__add", "a=1", "b=2", "--json"],
        &["refuses__add", "a=1", "b=2"],
        &["huge__add", "a=1", "b=2"],
        &["huge__add", "a=1", "b=2", "--json"],
        &["mute__add", "a=1", "b=2", "--timeout", "2s"],
        &["mute__add", "a=1", "b=2", "--timeout", "2s", "--json"],
        &["forms__ask_client", &asks],
        &["forms__ask_client", &asks, "--json"],
        &["math_eval", "expression=1", "--no-wait"],
        &["s__add", "a=1", "b=2", "--no-wait", "--json"],
        &["nobody", "--no-wait", "--json"],
    ];
    let _serving = serve(&place);
    for words in cases {
        let through = observed(&place, &[&["call"], *words].concat());
        let alone = observed(&place, &[&["--alone", "call"], *words].concat());
        assert_eq!(through, alone, "{words:?}");
    }
    // The same key, which is another one each way.
    for words in [&["--alone"][..], &[]] {
        let key = format!("key-{}", words.len());
        let call = ["call", "math_eval", "expression=1", "--json", "--idempotency-key", &key];
        let run = || place.run(&[words, &call].concat()).json()["replayed"].clone();
        assert_eq!((run(), run()), (Value::Null, json!(true)), "{words:?}");
    }
    let piped = |words: &[&str]| place.run_with_stdin(words, br#"{"expression":"2+3"}"#).stdout;
    assert_eq!(piped(&["call", "math_eval", "-"]), piped(&["--alone", "call", "math_eval", "-"]));
}

// MC-2
#[test]
fn a_server_that_does_not_start_is_the_same_to_programs() {
    let place = TestFolder::with_config(&format!(
        "[mcp]\nretry_base_delay = \"1ms\"\nretry_attempts = 1\n{}",
        section("dead", "dies-at-start")
    ));
    let _serving = serve(&place);
    // What became of it is in the log of who started it.
    let run = |words: &[&str]| {
        let (status, stdout, ..) = observed(&place, words);
        (status, stdout)
    };
    let call = ["call", "dead__add", "a=1", "b=2", "--json"];
    assert_eq!(run(&call), run(&[&["--alone"][..], &call].concat()));
}

/// A call through the gateway that does not end by itself, as soon as its server has it.
fn endless(place: &TestFolder) -> Child {
    let mut command = place.command(&["call", "mute__add", "a=1", "b=2", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let log = place.path().join("input");
    let has_call = || fs::read_to_string(&log).is_ok_and(|log| log.contains("tools/call"));
    wait_until("the server has the call", has_call);
    child
}

fn interrupt(child: &Child) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
}

// EX-4, GW-1
#[test]
fn an_interrupt_cancels_the_call_in_the_gateway_and_its_record_says_so() {
    let place =
        TestFolder::with_config(&section("mute", "never-answers-tools-call,logs-input=input"));
    let serving = serve(&place);
    let child = endless(&place);
    interrupt(&child);
    let ran = CommandOutput::of(child.wait_with_output().unwrap());
    let envelope = ran.json();
    assert_eq!((ran.status, &envelope["error_kind"]), (1, &json!("cancelled")), "{ran:?}");
    let id = envelope["call_id"].as_str().unwrap();
    let shown = place.run(&["calls", "show", id, "--json"]).json();
    assert_eq!(
        (&shown["outcome"], &shown["client"]),
        (&json!("cancelled"), &json!("cli")),
        "{shown}"
    );
    let input = || fs::read_to_string(place.path().join("input")).unwrap();
    wait_until("the server is told", || input().contains("notifications/cancelled"));

    // A second one does not wait for a gateway that does nothing more.
    fs::remove_file(place.path().join("input")).unwrap();
    let mut child = endless(&place);
    serving.signal("-STOP");
    let ended = loop {
        interrupt(&child);
        thread::sleep(Duration::from_millis(50));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
    };
    serving.signal("-CONT");
    assert_eq!(ended.code(), Some(1));
}

// GW-1
#[test]
fn a_gateway_that_goes_away_in_the_middle_of_a_call_is_named() {
    let place =
        TestFolder::with_config(&section("mute", "never-answers-tools-call,logs-input=input"));
    let serving = serve(&place);
    let child = endless(&place);
    serving.signal("-KILL");
    let ran = CommandOutput::of(child.wait_with_output().unwrap());
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{ran:?}");
    assert!(ran.stderr.contains("the gateway went away"), "{ran:?}");
}

// EX-5
#[test]
fn progress_is_shown_beside_the_name() {
    let place = TestFolder::with_config(&section("slow", "progress=3,answers-late=1500"));
    let serving = serve(&place);
    for words in
        [&["call", "slow__add", "a=1", "b=2"][..], &["--alone", "call", "slow__add", "a=1", "b=2"]]
    {
        let shown = pty::run(place.command(words), &[("slow__add (", "")]);
        assert_eq!(shown.status, 0, "{shown:?}");
        assert!(shown.text.contains('3'), "{shown:?}");
    }
    drop(serving);
}
