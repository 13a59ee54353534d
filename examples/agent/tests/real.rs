//! The program of docs/start-rust.md, run with a provider that replays what an Ollama sends, and the real `mcp-server-time`.

#![expect(clippy::unwrap_used, reason = "helpers of tests may, like tests")]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Output, Stdio},
};

use serde_json::{Value, json};
use switchboard_audit::{Filter, Reader};
use switchboard_testkit::{ProviderServer, Reply, parts};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

// ML-4, RC-1: the model's calls run, the policy hides what it does not allow, and each call is on disk.
#[tokio::test]
async fn it_answers_with_its_function_and_its_server() {
    let folder = folder();
    let calls = [
        ("timer", json!({"seconds": 0})),
        ("time__get_current_time", json!({"timezone": "Asia/Tokyo"})),
        ("time__convert_time", json!({"source_timezone": "UTC", "time": "12:00"})),
    ];
    let provider = ProviderServer::start([calling(&calls), saying("It is late.")]).await;
    let output = start(&folder, &provider).wait_with_output().await.unwrap();

    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output), "It is late.\nAnswer\n");
    let asked = provider.captured();
    let tools = asked[0].body["tools"].as_array().unwrap().iter();
    let mut offered: Vec<_> = tools.map(|tool| &tool["function"]["name"]).collect();
    offered.sort_by_key(|name| name.to_string());
    assert_eq!(offered, ["time__get_current_time", "timer"]);
    let replies = &asked[1].body["messages"].as_array().unwrap()[3..];
    let read = |reply: usize| replies[reply]["content"].as_str().unwrap();
    assert_eq!(read(0), "0 seconds are over");
    assert!(read(1).contains("Asia/Tokyo"), "{}", read(1));
    assert_eq!(replies.len(), 3);
    let outcomes = outcomes(folder.path());
    let expected =
        [("time__convert_time", "denied"), ("time__get_current_time", "ok"), ("timer", "ok")];
    assert_eq!(outcomes, expected.map(owned));
}

// EX-4, RC-1: Ctrl-C cancels the call that runs, and its record says so.
#[tokio::test]
async fn ctrl_c_cancels_the_call_that_runs() {
    let folder = folder();
    let provider = ProviderServer::start([calling(&[("timer", json!({"seconds": 600}))])]).await;
    let mut agent = start(&folder, &provider);
    let mut lines = BufReader::new(agent.stderr.take().unwrap()).lines();
    while lines.next_line().await.unwrap().is_some_and(|line| line != "timer runs") {}
    let pid = agent.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().await.unwrap().success());
    let output = agent.wait_with_output().await.unwrap();

    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output), "\nCancelled\n");
    assert_eq!(outcomes(folder.path()), [("timer", "cancelled")].map(owned));
}

/// A folder with `uvx`, which would fetch the package: ours is installed.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (bin, uvx) = (parts::part("mcp-python/venv/bin"), folder.path().join("uvx"));
    fs::write(&uvx, format!("#!/bin/sh\nexec {bin}/\"$@\"\n")).unwrap();
    fs::set_permissions(&uvx, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn start(folder: &TempDir, provider: &ProviderServer) -> Child {
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let mut agent = Command::new(env!("CARGO_BIN_EXE_switchboard-example-agent"));
    agent.args(["What time is it in Tokyo?", &provider.url()]).current_dir(folder);
    agent.env("PATH", path).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    agent.kill_on_drop(true).spawn().unwrap()
}

/// A turn as an Ollama streams it (`crates/models/tests/recordings`): each call on a line of its own.
fn calling(calls: &[(&str, Value)]) -> Reply {
    let calls = calls.iter().enumerate().map(|(index, (name, arguments))| {
        let function = json!({"index": index, "name": name, "arguments": arguments});
        line(json!({"role": "assistant", "content": "", "tool_calls": [{"id": format!("call_{index}"), "function": function}]}))
    });
    Reply::lines(&calls.chain([end()]).collect::<Vec<_>>())
}

fn saying(text: &str) -> Reply {
    Reply::lines(&[line(json!({"role": "assistant", "content": text})), end()])
}

fn line(message: Value) -> String {
    json!({"model": "qwen3:0.6b", "message": message, "done": false}).to_string()
}

fn end() -> String {
    json!({"model": "qwen3:0.6b", "message": {"role": "assistant", "content": ""}, "done": true,
        "done_reason": "stop", "prompt_eval_count": 313, "eval_count": 31})
    .to_string()
}

/// The tools and outcomes of all records, by name.
fn outcomes(folder: &Path) -> Vec<(String, String)> {
    let records = Reader::open(folder.join("records")).unwrap().list(&Filter::default()).unwrap();
    let outcome = |record: &switchboard_audit::Record| {
        (record.tool.to_string(), record.outcome.code().to_owned())
    };
    let mut outcomes: Vec<_> = records.iter().map(outcome).collect();
    outcomes.sort();
    outcomes
}

fn owned((tool, outcome): (&str, &str)) -> (String, String) {
    (tool.to_owned(), outcome.to_owned())
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
