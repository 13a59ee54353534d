//! Runs whose conversations no longer fit the model, and answers that have to fit a schema (SPEC RN-3, RN-4).

use std::{
    fs::{self, File},
    path::Path,
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};
use switchboard_testkit::{ProviderServer, Reply};
use tokio::task::block_in_place;

use crate::{
    ask::scripted,
    serving::Serving,
    test_folder::{CommandOutput, TestFolder},
};

/// A tool that says 8 KB, another text for each number.
const PAGES: &str = r#"
[[tools]]
name = "page"
description = "Reads a page"
annotations = { read_only = true }
parameters = { type = "object", properties = { n = { type = "integer" } } }
implementation = { type = "command", program = "sh", args = ["-c", "i=0; while [ $i -lt 200 ]; do echo \"Page $0 line $i tells of ships and harbours\"; i=$((i+1)); done", "{n}"] }
"#;

fn page(number: usize) -> String {
    let lines: Vec<_> = (0..200)
        .map(|line| format!("Page {number} line {line} tells of ships and harbours"))
        .collect();
    lines.join("\n")
}

fn reading(pages: usize) -> Value {
    let turn = |n: usize| json!({"tool_calls": [{"id": format!("c{n}"), "name": "page", "args": {"n": n}}]});
    let mut turns: Vec<_> = (0..pages).map(turn).collect();
    turns.push(json!({"text": "Read."}));
    json!(turns)
}

// RN-1, RN-3
#[test]
fn what_no_longer_fits_is_one_line_and_can_be_read_whole() {
    let config = format!(
        "[agent]\nmax_iterations = 60\n[models.small]\nprovider = \"script\"\nmodel = \"script.json\"\ncontext = 4096\n{PAGES}"
    );
    let place = scripted(&config, reading(40));
    let ran = place.run(&["ask", "-m", "small", "--json", "Read"]);
    let report = ran.json();
    assert_eq!((ran.status, &report["answer"]), (0, &json!("Read.")), "{ran:?}");
    let shortened = report["shortened"].as_array().unwrap();
    assert!(shortened.len() >= 39, "{}", shortened.len());
    let messages = report["messages"].as_array().unwrap();
    for (number, entry) in shortened.iter().enumerate() {
        assert_eq!(entry["tool_call_id"], format!("c{number}"));
        let artifact = entry["artifact"].as_str().unwrap();
        let read = place.call(&["read_result", &format!("id={artifact}")]);
        assert_eq!(read["result"], page(number), "{read}");
        let reply =
            messages.iter().find(|message| message["tool_call_id"] == entry["tool_call_id"]);
        if let Some(reply) = reply {
            let content = reply["content"].as_str().unwrap();
            let many = page(number).chars().count();
            let begins = format!(
                "[page succeeded; {many} characters left out to fit, beginning: Page {number} line 0 "
            );
            let ends = format!("; read_result {{\"id\":\"{artifact}\"}} has the whole]");
            assert!(content.starts_with(&begins) && content.ends_with(&ends), "{content}");
        }
    }
    let shown = place.run(&["runs", "show", report["run_id"].as_str().unwrap(), "--json"]).json();
    assert_eq!(shown["shortened"], report["shortened"]);
    // People are told.
    let told = place.run(&["ask", "-m", "small", "Read"]);
    assert!(told.stderr.contains("to fit the model's window of 4096 tokens, "), "{told:?}");
}

/// A place whose model has a small window and reads so many pages.
fn small_window(pages: usize) -> TestFolder {
    let config = format!(
        "[models.small]\nprovider = \"script\"\nmodel = \"script.json\"\ncontext = 4096\n{PAGES}"
    );
    scripted(&config, reading(pages))
}

/// Sets the time of everything in a folder back by two hours.
fn age(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            age(&path);
            continue;
        }
        let file = File::options().append(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(7200)).unwrap();
    }
}

/// Lets retention find everything two hours old.
fn collect_later(place: &TestFolder) {
    age(&place.path().join("state/switchboard"));
    let collected = place.run(&["calls", "gc", "--json"]);
    assert_eq!((collected.status, &collected.json()["artifacts"]), (0, &json!(0)), "{collected:?}");
}

// RN-3: kept means as long as the run, though no record of a call names it.
#[test]
fn what_was_shortened_is_kept_as_long_as_the_run() {
    let place = small_window(6);
    let report = place.run(&["ask", "-m", "small", "--json", "Read"]).json();
    let shortened = report["shortened"].as_array().unwrap();
    assert!(!shortened.is_empty(), "{report}");
    collect_later(&place);
    for (number, entry) in shortened.iter().enumerate() {
        let id = format!("id={}", entry["artifact"].as_str().unwrap());
        let read = place.call(&["read_result", &id]);
        assert_eq!(read["result"], page(number), "{read}");
    }
    let ran = place.run(&["runs", "rerun", report["run_id"].as_str().unwrap(), "--json"]);
    assert_eq!((ran.status, &ran.json()[0]["same_answer"]), (0, &json!(true)), "{ran:?}");
}

// RN-1: people are shown how it was asked, what was shortened, and what the model said beside its calls.
#[test]
fn a_run_is_shown_with_its_settings_and_what_was_shortened() {
    let mut turns = reading(6);
    turns[1]["text"] = json!("Now the second page.");
    let config = format!(
        "[profiles.quiet]\ntools = [\"page\"]\n[models.small]\nprovider = \"script\"\nmodel = \"script.json\"\ncontext = 4096\n{PAGES}"
    );
    let place = scripted(&config, turns);
    let words =
        ["ask", "-m", "small", "--profile", "quiet", "--max-iterations", "9", "--json", "Read"];
    let report = place.run(&words).json();
    let page = place.run(&["runs", "show", report["run_id"].as_str().unwrap()]).stdout;
    let artifact = report["shortened"][0]["artifact"].as_str().unwrap();
    let shortened = format!("c0 in {artifact}");
    for shown in [
        "profile     quiet\n",
        "settings    2 tools offered, at most 9 turns\n",
        &shortened,
        "\n  Now the second page.\n",
        "\nanswer\nRead.",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
}

// RN-3: the same for a caller who may only read what its own calls returned, after a restart.
#[test]
fn a_token_reads_what_was_shortened_after_a_restart() {
    let place = small_window(6);
    let tools = ["--tools", "page", "--tools", "read_result"];
    let token = |name: &str| {
        let made = place.run(&[&["token", "new", "--name", name, "--json"], &tools[..]].concat());
        let token = made.json()["token"].as_str().unwrap().to_owned();
        format!("Authorization: Bearer {token}\r\n")
    };
    let (bob, eve) = (token("bob"), token("eve"));
    let gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let body = json!({"model": "small", "messages": [{"role": "user", "content": "Read"}]});
    let (status, answer) = gateway.ask("POST", "/v1/chat/completions", &bob, &body.to_string());
    assert_eq!(status, 200, "{answer}");
    drop(gateway);
    let runs = place.run(&["runs", "--json"]).json();
    let shown = place.run(&["runs", "show", runs[0]["id"].as_str().unwrap(), "--json"]).json();
    let artifact = shown["shortened"][0]["artifact"].as_str().unwrap();
    collect_later(&place);
    let gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let body = json!({"id": artifact}).to_string();
    let read = |who: &str| gateway.ask("POST", "/api/tools/read_result/call", who, &body).1;
    assert_eq!(read(&bob)["result"], page(0), "{}", read(&bob));
    assert_eq!(read(&eve)["success"], false, "{}", read(&eve));
}

/// A config whose model is this provider.
fn asking(server: &ProviderServer, more: &str) -> TestFolder {
    let url = server.url();
    TestFolder::with_config(&format!(
        "{more}\n[models.m]\nprovider = \"openai\"\nmodel = \"m\"\nbase_url = \"{url}/v1\"\n{PAGES}"
    ))
}

fn calls_page(n: usize) -> Reply {
    let function = json!({"name": "page", "arguments": json!({"n": n}).to_string()});
    let call = json!([{"id": format!("c{n}"), "type": "function", "function": function}]);
    Reply::json(
        200,
        &json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": null, "tool_calls": call}, "finish_reason": "tool_calls"}]}),
    )
}

fn says(text: &str) -> Reply {
    Reply::json(
        200,
        &json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 200}}),
    )
}

// RN-3
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_teaches_the_window() {
    let refusal = "This model's maximum context length is 4096 tokens. However, your messages resulted in 6100 tokens.";
    let refused = Reply::json(
        400,
        &json!({"error": {"message": refusal, "code": "context_length_exceeded"}}),
    );
    let no_list = Reply::json(404, &json!({"error": {"message": "no"}}));
    let replies = vec![calls_page(0), calls_page(1), no_list, refused, says("Read.")];
    let server = ProviderServer::start(replies).await;
    let place = asking(&server, "");
    let ran = block_in_place(|| place.run(&["ask", "--json", "--tools", "page", "Read"]));
    let report = ran.json();
    assert_eq!(report["answer"], "Read.", "{ran:?}");
    assert_eq!(report["shortened"].as_array().unwrap().len(), 1, "{report}");
}

// RN-4
#[tokio::test(flavor = "multi_thread")]
async fn runs_have_a_cost() {
    let server = ProviderServer::start(vec![says("Hello."), says("{\"n\": 1}")]).await;
    let url = server.url();
    let config = format!(
        "[models.m]\nprovider = \"openai\"\nmodel = \"m\"\nbase_url = \"{url}/v1\"\nprice = {{ input = 3, output = 15 }}\n"
    );
    let place = TestFolder::with_config(&config);
    let report = block_in_place(|| place.run(&["ask", "--json", "--tools", "", "Hi"])).json();
    assert_eq!(report["cost"], 0.006, "{report}");
    let runs = place.run(&["runs", "--json"]).json();
    assert_eq!(
        (&runs[0]["cost"], &runs[0]["input_tokens"]),
        (&json!(0.006), &json!(1000)),
        "{runs}"
    );
    let id = runs[0]["id"].as_str().unwrap();
    let shown = place.run(&["runs", "show", id, "--json"]).json();
    assert_eq!((&shown["cost"], &shown["timeline"][0]["cost"]), (&json!(0.006), &json!(0.006)));
    assert!(place.run(&["runs", "show", id]).stdout.contains("0.006"));
    let wrong = TestFolder::with_config(&config.replace("input = 3", "input = -3"));
    let ran = wrong.run(&["ask", "Hi"]);
    assert_eq!(ran.status, 2, "{ran:?}");
}

const SCHEMA: &str =
    r#"{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}"#;

// RN-4
#[test]
fn an_answer_that_does_not_fit_its_schema_is_asked_for_once_more() {
    let ask = |turns: Value, words: &[&str]| {
        let place = scripted("", turns).file("city.json", SCHEMA);
        place.run(&[&["ask", "-m", "script:script.json", "--schema", "city.json"], words].concat())
    };
    let right = json!([{"text": "It is Bonn."}, {"expect": "does not fit", "text": "```json\n{\"city\": \"Bonn\"}\n```"}]);
    let ran = ask(right.clone(), &["Where?"]);
    assert_eq!((ran.status, &*ran.stdout), (0, "{\"city\": \"Bonn\"}\n"), "{ran:?}");
    let report = ask(right, &["--json", "Where?"]).json();
    assert_eq!(report["answer"], "{\"city\": \"Bonn\"}", "{report}");
    let wrong = json!([{"text": "It is Bonn."}, {"text": "{\"city\": 7}"}]);
    let ran = ask(wrong.clone(), &["Where?"]);
    assert_eq!((ran.status, &*ran.stdout), (1, ""), "{ran:?}");
    assert!(ran.stderr.contains("does not fit the schema: 'city' must be string"), "{ran:?}");
    let ran = ask(wrong, &["--json", "Where?"]);
    assert_eq!((ran.status, &ran.json()["answer"]), (1, &Value::Null), "{ran:?}");
    let place = scripted("", json!([])).file("city.json", "{\"type\": 7}").file("none.json", "{");
    for file in ["city.json", "none.json", "missing.json"] {
        let ran = place.run(&["ask", "-m", "script:script.json", "--schema", file, "?"]);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.stderr.contains(file), "{ran:?}");
    }
}

// RN-3: what was shortened in a chat can be looked at, and taken back.
#[test]
fn a_chat_shows_and_takes_back_what_was_shortened() {
    let place = small_window(2);
    let ran =
        place.run_with_stdin(&["chat", "-m", "small"], b"Read\n/context\n/expand\n/context\n");
    assert_eq!(ran.status, 0, "{ran:?}");
    let lines: Vec<_> =
        ran.stdout.lines().filter(|line| line.contains("[page succeeded; ")).collect();
    assert!(ran.stdout.contains("of 4096 tokens"), "{ran:?}");
    assert_eq!(lines.len(), 1, "one before, none after: {ran:?}");
}

// RN-3: a pin is stored with the chat.
#[test]
fn a_chat_keeps_what_is_pinned() {
    let config = "[models.small]\nprovider = \"script\"\nmodel = \"script.json\"\ncontext = 4096\n";
    let place = scripted(config, json!([{"text": "Noted."}, {"text": "So be it."}]));
    let pinned = |ran: &CommandOutput| -> Vec<String> {
        let lines = ran.stdout.lines().filter(|line| line.starts_with("pinned"));
        lines.map(|line| line.trim_start_matches("pinned").trim().to_owned()).collect()
    };
    let lines = b"The ship is the Ada.\n/pin\n/pin Answer in French.\n/context\n";
    let ran = place.run_with_stdin(&["chat", "-m", "small"], lines);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(pinned(&ran), ["The ship is the Ada.", "Answer in French."], "{ran:?}");
    let ran =
        place.run_with_stdin(&["chat", "-m", "small", "--resume"], b"/context\n/unpin\n/context\n");
    assert_eq!(pinned(&ran).len(), 2, "{ran:?}");
    let ran = place.run_with_stdin(&["chat", "-m", "small", "--resume"], b"/context\n");
    assert_eq!(pinned(&ran), [""; 0], "{ran:?}");
    let ran = place.run_with_stdin(&["chat", "-m", "small"], b"/pin\n");
    assert_eq!(ran.status, 1, "{ran:?}");
}
