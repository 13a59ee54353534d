//! Record → mock → replay, and faults on purpose (SPEC RC-2).

use std::fs;

use serde_json::{Value, json};

use crate::{ask::scripted, fixture::section_with_pid, test_folder::TestFolder};

/// A place with calls of a server's tool and a built-in one, in two exports: `mocks.json` and `calls.jsonl`.
fn recorded() -> TestFolder {
    let place = TestFolder::with_config(&section_with_pid("s", ""));
    assert_eq!(place.call(&["s__add", "a=1", "b=2"])["success"], true);
    assert_eq!(place.call(&["math_eval", "expression=2+2"])["success"], true);
    assert_eq!(place.call(&["math_eval", "expression=2+("])["success"], false);
    let late = ["math_eval", "expression=9", "--timeout", "100ms", "--fault", "*: 100% timeout"];
    assert_eq!(place.call(&late)["error_kind"], "timeout");
    for words in [&["--output", "calls.jsonl"][..], &["--as", "mocks", "--output", "mocks.json"]] {
        let ran = place.run(&[&["calls", "export"], words].concat());
        assert_eq!(ran.status, 0, "{ran:?}");
    }
    fs::remove_file(place.path().join("s.pid")).unwrap();
    place
}

/// What came of a call: the result, or the kind and text of the failure.
fn outcome(envelope: &Value) -> Value {
    match envelope["success"] == true {
        true => envelope["result"].clone(),
        false => json!([envelope["error_kind"], envelope["error"], envelope["hint"]]),
    }
}

const CALLS: [&[&str]; 3] = [
    &["s__add", r#"{"b":2.0,"a":1}"#],
    &["math_eval", "expression=2+2"],
    &["math_eval", "expression=2+("],
];

// RC-2
#[test]
fn any_record_can_be_replayed() {
    let place = recorded();
    let real: Vec<_> = CALLS.iter().map(|words| outcome(&place.call(words))).collect();
    fs::remove_file(place.path().join("s.pid")).unwrap();
    let before = place.run(&["calls", "--json"]).json().as_array().unwrap().len();
    for flags in
        [["--config", "mocks.json"], ["--replay", "mocks.json"], ["--replay", "calls.jsonl"]]
    {
        for (words, real) in CALLS.iter().zip(&real) {
            let replayed = place.call(&[words, &flags[..]].concat());
            assert_eq!(outcome(&replayed), *real, "{flags:?} {words:?}");
        }
        let late = place.call(&[&["math_eval", "expression=9"], &flags[..]].concat());
        assert_eq!(
            outcome(&late),
            json!(["timeout", "Tool 'math_eval' timed out after 0.1s", null])
        );
        let other = place.call(&[&["s__add", "a=5", "b=5"], &flags[..]].concat());
        assert_eq!(other["error_kind"], "tool_error");
        assert_eq!(other["error"], "no recorded call of 's__add' with these arguments");
    }
    assert!(!place.path().join("s.pid").exists(), "no server was started");
    // The config's mocks are real calls of mocks; what is replayed did not happen.
    let after = place.run(&["calls", "--json"]).json().as_array().unwrap().len();
    assert_eq!(after - before, 5);
}

#[test]
fn a_replay_looks_as_it_was() {
    let place = recorded();
    for file in ["mocks.json", "calls.jsonl"] {
        let ran = place.run(&["--replay", file, "tools", "--json"]);
        let tools = ran.json();
        let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["math_eval", "read_result", "s__add"], "{ran:?}");
        assert_eq!(
            tools[0]["parameters"]["required"],
            json!(["expression"]),
            "the schema is known"
        );
        assert_eq!(tools[2]["server"], "s");
        // Bare names find what they found.
        let bare = place.call(&["add", "a:=1", "b:=2", "--replay", file]);
        assert_eq!((&bare["success"], &bare["server"]), (&json!(true), &json!("s")), "{bare}");
    }
    let mocks: Value =
        serde_json::from_str(&fs::read_to_string(place.path().join("mocks.json")).unwrap())
            .unwrap();
    assert_eq!(mocks["tools"][0]["description"], "The tool add.");
    // A tool that nobody knows any more takes anything.
    let empty = place.file("empty.toml", "");
    let gone =
        empty.run(&["calls", "export", "--as", "mocks", "--server", "s", "--config", "empty.toml"]);
    assert!(gone.stderr.contains("`s__add` is not there any more"), "{gone:?}");
    let gone: Value = serde_json::from_str(&gone.stdout).unwrap();
    assert_eq!(gone["tools"][0]["parameters"], json!({"type": "object"}));
}

#[test]
fn answers_to_the_same_arguments_come_in_their_order() {
    let turn = |id: &str| json!({"tool_calls": [{"id": id, "name": "t", "args": {}}]});
    let turns = json!([turn("1"), turn("2"), {"text": "done"}]);
    let record = |number: u8, result: &str| json!({"id": format!("01J0000000000000000000000{number}"), "tool": "t", "arguments": {}, "outcome": "ok", "result": result});
    // Ids say which was first, whatever the order of the lines.
    let lines = format!("{}\n{}\n", record(2, "second"), record(1, "first"));
    let place = scripted("", turns).file("calls.jsonl", lines);
    let ran =
        place.run(&["--replay", "calls.jsonl", "ask", "-m", "script:script.json", "--json", "go"]);
    let report = ran.json();
    let messages = report["messages"].as_array().unwrap().iter();
    let said: Vec<_> = messages
        .filter(|message| message.get("tool_call_id").is_some())
        .map(|message| &message["content"])
        .collect();
    assert_eq!(said, ["first", "second"], "{ran:?}");
}

#[test]
fn a_file_that_cannot_be_replayed_is_told_why() {
    let line = r#"{"id":"01J00000000000000000000001","tool":"t","arguments":{},"outcome":"ok","result":1}"#;
    let place = TestFolder::new()
        .file("half.jsonl", format!("{line}\n{{\"id\":"))
        .file("bare.jsonl", r#"{"id":"01J00000000000000000000001","tool":"t","arguments":{},"outcome":"ok"}"#)
        .file("calls.csv", "id,tool\n1,2\n")
        .file("other.toml", "[executor]\n")
        .file("real.toml", "[[tools]]\nname = \"e\"\ndescription = \"d\"\nimplementation = { type = \"builtin\", handler = \"echo\" }\n");
    for (file, says) in [
        ("none.jsonl", "failed to read `none.jsonl`, which --replay names"),
        ("half.jsonl", "`half.jsonl`: line 2: not a recorded call"),
        ("bare.jsonl", "neither result nor error"),
        ("calls.csv", "as jsonl or --as mocks"),
        ("other.toml", "`other.toml` has no recorded calls"),
        ("real.toml", "tool `e` is not a mock"),
    ] {
        let said = place.refusal(&["--replay", file, "tools"]);
        assert!(said.contains(says), "{file}: {said}");
    }
}

#[test]
fn faults_meet_real_and_replayed_tools() {
    let place = recorded();
    for replay in [&[][..], &["--replay", "calls.jsonl"]] {
        let fault = |rule: &str, words: &[&str]| {
            let flags = ["--fault", rule];
            outcome(
                &place
                    .call(&[&["math_eval", "expression=2+2"], replay, &flags[..], words].concat()),
            )
        };
        assert_eq!(fault("s__*: 100% error", &[]), json!({"result": 4}));
        assert_eq!(fault("math_*: 100% error", &[])[1], "injected fault: 'math_eval' failed");
        assert_eq!(fault("*: 100% unavailable", &[])[0], "unavailable");
        let late = fault("*: 100% timeout", &["--timeout", "50ms"]);
        assert_eq!(late[1], "Tool 'math_eval' timed out after 0.05s");
        assert!(fault("*: 100% garbage", &[]).as_str().unwrap().contains("<html>"));
        assert_eq!(fault("*: 100% slow 10ms", &[]), json!({"result": 4}));
        assert!(fault("nobody: 100% error", &["--fault", "*: 100% garbage"]).is_string());
        let run = |seed: &str| fault("*: 50% error", &["--fault-seed", seed]).to_string();
        let seeds: Vec<_> = (0..12).map(|seed| seed.to_string()).collect();
        let first: Vec<_> = seeds.iter().map(|seed| run(seed)).collect();
        assert_eq!(first, seeds.iter().map(|seed| run(seed)).collect::<Vec<_>>());
        assert!(first.iter().any(|one| *one != first[0]), "{first:?}");
    }
    let server = place.call(&["s__add", "a=1", "b=2", "--fault", "s__*: 100% error"]);
    assert_eq!(server["error"], "injected fault: 's__add' failed");
    let alone = place.refusal(&["call", "echo", "--fault-seed", "1"]);
    assert!(alone.contains("--fault-seed needs --fault"), "{alone}");
    let wrong = place.refusal(&["call", "echo", "--fault", "*: 10% timout"]);
    assert!(wrong.contains("unknown fault `timout`; known are timeout, error"), "{wrong}");
}
