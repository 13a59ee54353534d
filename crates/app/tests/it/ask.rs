//! `ask`: who is asked, what is printed, and the exit status.

use std::{
    fs,
    io::Read,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::{
    fixture::{section, wait_until},
    test_folder::{CommandOutput, TestFolder},
};

/// A place with a script of these turns.
pub(crate) fn scripted(config: &str, turns: Value) -> TestFolder {
    TestFolder::with_config(config).file("script.json", json!({"turns": turns}).to_string())
}

/// Asks the script.
fn ask(place: &TestFolder, words: &[&str]) -> CommandOutput {
    place.run(&[&["ask", "-m", "script:script.json"], words].concat())
}

/// A turn that calculates, and one that answers.
fn calculation() -> Value {
    json!([
        {"text": "Let me see.", "tool_calls": [{"id": "c1", "name": "math_eval", "args": {"expression": "2+2"}}],
         "usage": {"input_tokens": 10, "output_tokens": 5}},
        {"expect": "{\"result\":4}", "text": "It is **4**.", "usage": {"input_tokens": 20, "output_tokens": 7}},
    ])
}

#[test]
fn the_answer_is_on_stdout() {
    // ML-8
    let place = scripted("", calculation());
    let ran = ask(&place, &["What", "is 2+2?"]);
    let streamed = (0, "Let me see.\nIt is **4**.\n", "");
    assert_eq!((ran.status, &*ran.stdout, &*ran.stderr), streamed, "{ran:?}");
    let whole = ask(&place, &["--no-stream", "What is 2+2?"]);
    assert_eq!((whole.status, &*whole.stdout, &*whole.stderr), (0, "It is **4**.\n", ""));
    let again = ask(&place, &["--no-stream", "--stream", "?"]);
    assert_eq!(again.stdout, "Let me see.\nIt is **4**.\n");
    let config = scripted("[agent]\nstream = false\n", calculation());
    assert_eq!(ask(&config, &["?"]).stdout, "It is **4**.\n");
    assert_eq!(ask(&config, &["--stream", "?"]).stdout, "Let me see.\nIt is **4**.\n");
}

#[test]
fn json_is_one_object() {
    // ML-8, ML-3
    let place = scripted("", calculation());
    let ran = ask(&place, &["--json", "--system", "Be brief.", "What is 2+2?"]);
    let expected = json!({
        "answer": "It is **4**.",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is 2+2?"},
            {"role": "assistant", "content": "Let me see.",
             "tool_calls": [{"id": "c1", "name": "math_eval", "args": {"expression": "2+2"}}]},
            {"role": "tool", "content": "{\"result\":4}", "tool_call_id": "c1", "is_error": false},
            {"role": "assistant", "content": "It is **4**."},
        ],
        "usage": {"input_tokens": 30, "output_tokens": 12},
    });
    let mut told = ran.json();
    // RN-1
    let run_id = told.as_object_mut().unwrap().remove("run_id").unwrap();
    assert_eq!(told.as_object_mut().unwrap().remove("shortened"), Some(json!([])));
    assert_eq!((ran.status, told), (0, expected), "{ran:?}");
    let runs = place.run(&["runs", "--json"]).json();
    assert_eq!((&runs[0]["id"], &runs[0]["state"]), (&run_id, &json!("ended")), "{runs}");
    assert_eq!((&runs[0]["turns"], &runs[0]["calls"]), (&json!(2), &json!(1)), "{runs}");
    assert_eq!((&runs[0]["input_tokens"], &runs[0]["output_tokens"]), (&json!(30), &json!(12)));
    let again = place.run(&["runs", "resume", run_id.as_str().unwrap()]);
    assert_eq!((again.status, &*again.stdout), (0, "It is **4**.\n"), "{again:?}");
}

#[test]
fn failed_calls_are_told_to_the_model() {
    // ML-5
    let turns = json!([
        {"tool_calls": [{"id": "a", "name": "nobody"}, {"id": "b", "name": "math_eval", "args": "{\"expr"},
                        {"id": "c", "name": "math_eval", "args": {}}]},
        {"text": "None of it worked."},
    ]);
    let ran = ask(&scripted("", turns), &["--json", "?"]);
    let report = ran.json();
    assert_eq!((ran.status, &report["answer"]), (0, &json!("None of it worked.")), "{ran:?}");
    let replies: Vec<_> =
        report["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "tool").collect();
    let expected = [
        ("a", "Error: Unknown tool \"nobody\""),
        ("b", "Error: Invalid parameters: the arguments are not a JSON object"),
        ("c", "Error: Invalid parameters: missing 'expression'"),
    ];
    assert_eq!(replies.len(), expected.len());
    for (reply, (id, text)) in replies.iter().zip(expected) {
        assert_eq!((&reply["tool_call_id"], &reply["is_error"]), (&json!(id), &json!(true)));
        assert!(reply["content"].as_str().unwrap().starts_with(text), "{reply}");
    }
}

#[test]
fn no_answer_ends_with_1_and_says_why() {
    // ML-4, ML-7
    let again = json!({"tool_calls": [{"name": "echo", "args": {"a": 1}}]});
    let fails = |turns: Value, words: &[&str], expected: &str| {
        let place = scripted("", turns);
        let ran = ask(&place, &[words, &["?"]].concat());
        assert_eq!(ran.status, 1, "{ran:?}");
        assert!(ran.stderr.contains(&format!("error: no answer: {expected}")), "{ran:?}");
        let ran = ask(&place, &[words, &["--json", "?"]].concat());
        let report = ran.json();
        assert_eq!((ran.status, &report["answer"]), (1, &Value::Null), "{ran:?}");
        assert!(report["error"].as_str().unwrap().starts_with(expected), "{ran:?}");
        assert!(report["messages"].is_array() && report["usage"].is_object(), "{ran:?}");
    };
    fails(json!([{"error": "it burns"}]), &[], "script.json: turn 1: it burns");
    fails(json!([{"expect": "x"}]), &[], "script.json: turn 1: expected `x` in the last message");
    fails(json!([again]), &[], "script.json: the script ends after 1 turn");
    fails(json!([{"text": " "}]), &[], "the model answered nothing");
    fails(json!([{"stop": "refusal"}]), &[], "the model, or its provider, declined");
    fails(json!([again]), &["--max-iterations", "1"], "the model went on calling tools");
    fails(json!([{"delay": "1m"}]), &["--timeout", "50ms"], "the time or the tokens were spent");
    fails(json!([again, again, again, again, again]), &[], "the model made the same call");
    let cut = scripted("", json!([{"text": "Half", "stop": "max_tokens"}]));
    let ran = ask(&cut, &["?"]);
    assert_eq!((ran.status, &*ran.stdout), (0, "Half\n"));
    assert!(ran.stderr.contains("warning: the answer was cut at its token limit"), "{ran:?}");
}

#[test]
fn who_is_asked_must_be_known() {
    // ML-8, ML-10
    let config = "[models.local]\nprovider = \"ollama\"\nmodel = \"m\"\n\
                  [models.big]\nprovider = \"anthropic\"\nmodel = \"m\"\n";
    let place = TestFolder::with_config(config).file("wrong.json", "{\"turns\": [\n{\"txt\": 1}]}");
    for (model, expected) in [
        (
            "locl",
            "there is no model `locl`; did you mean `local`?\n       the config has local, big;",
        ),
        ("nonsense", "there is no model `nonsense`\n       the config has local, big;"),
        ("opena:x", "did you mean `openai:x`?"),
        ("qwen3:0.6b", "did you mean `ollama:qwen3:0.6b`?"),
        (
            "gemini:gemini-2.5-pro",
            "`openai:gemini-2.5-pro@https://generativelanguage.googleapis.com/v1beta/openai`, with its key in OPENAI_API_KEY",
        ),
        ("openai:", "the model's name is missing"),
        (
            "big",
            "switchboard.toml:4: model `big`: there is no key for anthropic; set ANTHROPIC_API_KEY",
        ),
        ("openai:gpt", "there is no key for openai; set OPENAI_API_KEY"),
        ("openai:gpt@https://api.openai.com/v1", "set OPENAI_API_KEY"),
        ("openai:gpt@http://", "`base_url` is not an address"),
        ("script:nothing.json", "failed to read script `nothing.json`"),
        ("script:wrong.json", "wrong.json:2: unknown field `txt`"),
    ] {
        let says = place.refusal(&["ask", "-m", model, "?"]);
        assert!(says.contains(expected), "{model}: {says}");
    }
    let wrong = TestFolder::with_config(&config.replace("\"m\"\n[", "\"m\"\ntools = [\"{a\"]\n["));
    let says = wrong.refusal(&["ask", "?"]);
    assert!(
        says.contains("switchboard.toml:1: model `local`: `tools`: error parsing glob"),
        "{says}"
    );
}

#[test]
fn wrong_usage_is_told_before_anything_is_asked() {
    let place = scripted("", calculation());
    let says = place.refusal(&["ask", "-m", "script:script.json"]);
    assert!(says.contains("there is no question"), "{says}");
    for words in [
        &["ask", "?", "--max-iterations", "0"][..],
        &["ask", "?", "--timeout", "5"],
        &["ask", "-m", "script:script.json", "--tools", "{a", "?"],
    ] {
        place.refusal(words);
    }
    let says = TestFolder::with_config("[agent]\nmax_iterations = 0").refusal(&["ask", "?"]);
    assert!(says.contains("`agent.max_iterations`: expected a whole number, 1 or more"), "{says}");
    let says = TestFolder::with_config("[agent]\nmax_iteration = 1").refusal(&["ask", "?"]);
    assert!(says.contains("in [agent]; did you mean `max_iterations`?"), "{says}");
}

#[test]
fn the_question_may_come_on_stdin() {
    let turns = json!([{"expect": "Count: one\ntwo", "text": "2"}]);
    let place = scripted("", turns);
    let words = ["ask", "-m", "script:script.json"];
    for (more, stdin) in [
        (&["-"][..], "Count: one\ntwo\n"),
        (&[], "Count: one\ntwo\n"),
        (&["Count:", "-"], "one\ntwo\n"),
    ] {
        let ran = place.run_with_stdin(&[&words, more].concat(), stdin.as_bytes());
        assert_eq!((ran.status, &*ran.stdout), (0, "2\n"), "{ran:?}");
    }
    let place = scripted("", json!([{"expect": "Count this:\n\none", "text": "1"}]));
    let ran = place.run_with_stdin(&[&words, &["Count this:"][..]].concat(), b"one\n");
    assert_eq!((ran.status, &*ran.stdout), (0, "1\n"), "{ran:?}");
    let ran = place.run_with_stdin(&[&words, &["-"][..]].concat(), b"\xff");
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("not UTF-8"), "{ran:?}");
}

#[test]
fn a_pipe_that_somebody_left_open_is_not_waited_for() {
    let place = scripted("", json!([{"expect": "Hello", "text": "Hi."}]));
    let mut command = place.command(&["ask", "-m", "script:script.json", "Hello"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let open = child.stdin.take();
    let ran = CommandOutput::of(child.wait_with_output().unwrap());
    drop(open);
    assert_eq!((ran.status, &*ran.stdout), (0, "Hi.\n"), "{ran:?}");
    assert!(ran.stderr.contains("nothing came on stdin within 10s"), "{ran:?}");
}

#[test]
fn tools_are_offered_by_pattern() {
    // ML-9
    let turns = || json!([{"tool_calls": [{"name": "echo"}, {"name": "math_eval", "args": {"expression": "1"}}]}, {"text": "ok"}]);
    let replies = |config: &str, words: &[&str]| -> Vec<bool> {
        let place = scripted(config, turns());
        let report = place.run(&[&["ask", "--json"], words, &["?"]].concat()).json();
        let messages = report["messages"].as_array().unwrap().iter();
        messages.filter_map(|message| message["is_error"].as_bool()).collect()
    };
    let script = ["-m", "script:script.json"];
    assert_eq!(replies("", &script), [false, false]);
    assert_eq!(replies("", &[&script, &["--tools", "math_*"][..]].concat()), [true, false]);
    assert_eq!(replies("", &[&script, &["--tools", "x,{echo,y}"][..]].concat()), [false, true]);
    assert_eq!(replies("", &[&script, &["--tools", ""][..]].concat()), [true, true]);
    let ran = ask(&scripted("", turns()), &["--tools", "mth_*", "?"]);
    assert!(ran.stderr.contains("warning: no tool matches --tools mth_*"), "{ran:?}");
}

#[test]
fn servers_are_waited_for_and_their_tools_are_called() {
    // TL-6, ML-8
    let turns =
        json!([{"tool_calls": [{"name": "s__echo", "args": {"text": "hi"}}]}, {"text": "ok"}]);
    let place = scripted(&section("s", "slow-start=300"), turns);
    let report = ask(&place, &["--json", "?"]).json();
    assert_eq!(report["messages"][2]["is_error"], false, "{report}");
}

#[test]
fn an_interrupt_keeps_what_is_finished() {
    // ML-5, ML-8
    let turns = json!([
        {"tool_calls": [{"name": "echo", "args": {"a": 1}}]},
        {"text": "Now I will", "pause": "1m"},
    ]);
    let place = scripted("", turns);
    let output = place.path().join("output");
    let mut command = place.command(&["ask", "--json", "-m", "script:script.json", "?"]);
    command.env("RUST_LOG", "info").stderr(fs::File::create(&output).unwrap());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    wait_until("the call is over", || {
        fs::read_to_string(&output).unwrap().contains("call of 'echo' succeeded")
    });
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&report["answer"], &report["error"]), (&Value::Null, &json!("cancelled")));
    assert_eq!(report["messages"][2]["content"], "{\"echo\":{\"a\":1}}", "{report}");
}

#[test]
fn the_built_in_script_needs_neither_model_nor_file() {
    let ran = TestFolder::new().run(&["ask", "-m", "script:demo", "--json", "Try it"]);
    let report = ran.json();
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(report["messages"][2]["content"], "{\"result\":\"5.08 cm\"}", "{report}");
    assert_eq!(report["messages"][3]["is_error"], false, "{report}");
    // A file of that name is meant with its folder.
    let place = TestFolder::new().file("demo", r#"[{"text": "From a file."}]"#);
    let ran = place.run(&["ask", "-m", "script:./demo", "Try it"]);
    assert_eq!(ran.stdout, "From a file.\n", "{ran:?}");
}
