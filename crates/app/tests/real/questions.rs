//! npm's `server-everything` asks in the middle of calls, over stdio and over HTTP: people at a terminal and programs over
//! REST answer.

use std::{path::Path, thread};

use serde_json::{Value, json};
use switchboard_testkit::{ProviderServer, Reply};

use crate::{
    pty::{self, Shown},
    serving::{Ending, Serving, free_port, http, part, program, switchboard, wait_for},
};

const ELICITS: &str = "things__trigger-elicitation-request";
const SAMPLES: &str = "things__trigger-sampling-request";
const URL: &str = "things__trigger-url-elicitation";

fn over_stdio() -> String {
    let program = part("mcp-node/node_modules/.bin/mcp-server-everything");
    format!("[servers.things]\ncommand = '{}'\nargs = ['stdio']\n", program.display())
}

/// The server listens; the config that reaches it.
fn over_http(folder: &Path) -> (Ending, String) {
    let port = free_port();
    let path = part("mcp-node/node_modules/.bin/mcp-server-everything");
    let mut command = program(path, folder);
    command.arg("streamableHttp").env("PORT", port.to_string());
    let process = Ending(command.stdout(std::process::Stdio::null()).spawn().unwrap());
    wait_for("the server", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
    (process, format!("[servers.things]\nurl = 'http://127.0.0.1:{port}/mcp'\n"))
}

fn on_terminal(folder: &Path, words: &[&str], keys: &[(&str, &str)]) -> Shown {
    let mut command = switchboard(folder, words);
    command.env("NO_COLOR", "1");
    pty::run(command, keys)
}

/// Presses Enter at each of the fields but the first, which is the only one that is required.
fn answers_with(name: &'static str) -> Vec<(&'static str, &'static str)> {
    let fields = [
        "check [",
        "firstLine [",
        "email [",
        "homepage [",
        "birthdate [",
        "integer [",
        "number [",
        "untitledSingleSelectEnum [",
        "untitledMultipleSelectEnum [",
        "titledSingleSelectEnum [",
        "titledMultipleSelectEnum [",
        "legacyTitledEnum [",
    ];
    let mut keys = vec![("Answer?", "y"), ("  name: ", name)];
    keys.extend(fields.map(|field| (field, "\n")));
    keys.push(("Send it?", "y"));
    keys
}

fn asked_on_terminal(folder: &Path) {
    let Shown { status, text } = on_terminal(folder, &["call", ELICITS], &answers_with("Ada\n"));
    assert_eq!(status, 0, "{text}");
    for part in ["13 fields, 1 required", "5) Bass", "Name: Ada", "Favorite Integer: 42"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let declined = on_terminal(folder, &["call", ELICITS], &[("Answer?", "n")]);
    assert!(declined.text.contains("User declined"), "{}", declined.text);
    let cancelled = on_terminal(folder, &["call", ELICITS], &[("Answer?", "\x03")]);
    assert!(cancelled.text.contains("User cancelled"), "{}", cancelled.text);
    let args = r#"{"url":"https://example.com/verify"}"#;
    let page = on_terminal(folder, &["call", URL, args], &[("Go on?", "y")]);
    assert!(page.text.contains("Host:    example.com"), "{}", page.text);
    // In a pipe nobody can be asked.
    let piped = switchboard(folder, &["call", ELICITS, "--json"]).output().unwrap();
    let envelope: Value = serde_json::from_slice(&piped.stdout).unwrap();
    let said = envelope.to_string();
    assert!(said.contains("('elicitation/create'), and this caller cannot be asked"), "{said}");
}

// GW-3
#[test]
fn a_person_at_a_terminal_is_asked_over_stdio() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("switchboard.toml"), over_stdio()).unwrap();
    asked_on_terminal(folder.path());
}

// GW-3
#[test]
fn a_person_at_a_terminal_is_asked_over_http() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, config) = over_http(folder.path());
    std::fs::write(folder.path().join("switchboard.toml"), config).unwrap();
    asked_on_terminal(folder.path());
}

/// A model that says this.
fn says(text: &str) -> Reply {
    let delta = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    Reply::events(&[delta.to_string(), end.to_string()])
}

// GW-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_configured_model_is_asked_with_consent() {
    let model = ProviderServer::start([says("Hello from the model")]).await;
    let url = model.url();
    let done = tokio::task::spawn_blocking(move || {
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            "{}[models.local]\nprovider = 'openai'\nmodel = 'local'\nbase_url = '{url}/v1'\napi_key = 'none'\n",
            over_stdio()
        );
        std::fs::write(folder.path().join("switchboard.toml"), config).unwrap();
        let args = r#"{"prompt":"Say hello","maxTokens":20}"#;
        let words = ["call", SAMPLES, args];
        let denied = on_terminal(folder.path(), &words, &[("Ask local this", "n")]);
        assert_eq!(denied.status, 1, "{}", denied.text);
        assert!(denied.text.contains("the user does not allow"), "{}", denied.text);
        on_terminal(folder.path(), &words, &[("Ask local this", "y")])
    });
    let Shown { status, text } = done.await.unwrap();
    assert_eq!(status, 0, "{text}");
    for part in [
        "You are a helpful test server.",
        "context: Say hello",
        "at most 20 tokens",
        "Hello from the model",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert_eq!(model.captured().len(), 1, "asked once: not where it was denied");
}

fn questions(serving: &Serving) -> Vec<Value> {
    let text = http(&serving.address, "GET", "/api/questions", "", "");
    let open: Value = serde_json::from_str(&text).unwrap();
    open["questions"].as_array().unwrap().clone()
}

/// Two calls in flight, each asked its own question and given its own answer.
fn asked_over_rest(config: &str) {
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::start(folder.path(), config);
    let path = format!("/api/tools/{ELICITS}/call");
    let refused = serving.post(&path, &[], &json!({})).to_string();
    assert!(refused.contains("this caller cannot be asked"), "{refused}");
    let header = [("X-Switchboard-Answers", "elicitation")];
    thread::scope(|scope| {
        let begin = || scope.spawn(|| serving.post(&path, &header, &json!({})));
        let mut calls = Vec::new();
        for count in 1..=2 {
            calls.push(begin());
            wait_for("the question", || (questions(&serving).len() == count).then_some(()));
        }
        for (question, name) in questions(&serving).iter().zip(["Ada", "Grace"]) {
            let answer = format!("/api/questions/{}", question["id"].as_str().unwrap());
            let said = serving.post(&answer, &[], &json!({"action": "accept", "content": {}}));
            assert_eq!(said["success"], false, "{said}");
            serving.post(&answer, &[], &json!({"action": "accept", "content": {"name": name}}));
        }
        for (call, name) in calls.into_iter().zip(["Ada", "Grace"]) {
            let envelope = call.join().unwrap().to_string();
            assert!(envelope.contains(&format!("Name: {name}")), "{name} {envelope}");
        }
    });
    serving.stop();
}

// GW-3
#[test]
fn a_program_over_rest_answers_over_stdio() {
    asked_over_rest(&over_stdio());
}

// GW-3
#[test]
fn a_program_over_rest_answers_over_http() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, config) = over_http(folder.path());
    asked_over_rest(&config);
}
