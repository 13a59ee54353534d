//! Lines stay whole when callers walk away in the middle of one.

use std::{fs, sync::Arc, time::Duration};

use serde_json::{Value, json, value::RawValue};
use switchboard_mcp_client::{Transport, TransportRequest};

use super::support::{Directory, Server, bounded, until};

/// More than a pipe holds.
const LARGE: usize = 300_000;

/// Calls with large arguments, dropped while the server does not read; then the lines it has got once it reads.
async fn dropped_in_the_middle(test: &str, method: &str, calls: usize, lines: usize) -> Vec<Value> {
    let directory = Directory::new(test);
    let (log, go) = (directory.file("input"), directory.file("go"));
    let modes = format!("reads-when={},logs-input={}", go.display(), log.display());
    let server = Server::start(&modes);
    for _ in 0..calls {
        let params = json!({"name": "echo", "arguments": {"text": "x".repeat(LARGE)}});
        let call = server.request(method, &params);
        assert!(tokio::time::timeout(Duration::from_millis(200), call).await.is_err());
    }
    fs::write(&go, "").unwrap();
    assert_eq!(server.echo("after").await, "after");
    let read = || fs::read_to_string(&log).unwrap();
    until("all lines are there", || read().lines().count() >= lines).await;
    server.close().await;
    read().lines().map(|line| serde_json::from_str(line).expect("a whole line")).collect()
}

/// The ids of the lines, 0 for those without, and in order of size: whether a call is taken back before or after the
/// next one begins does not matter.
fn ids(lines: &[Value]) -> Vec<u64> {
    let ids = lines.iter().map(|line| line["id"].as_u64().unwrap_or_default());
    let mut ids: Vec<_> = ids.collect();
    ids.sort_unstable();
    ids
}

// MC-1: a call dropped in mid-write is written to its end and then taken back.
#[tokio::test]
async fn a_call_dropped_in_the_middle_of_its_line_is_finished_and_taken_back() {
    let lines = dropped_in_the_middle("one-dropped", "tools/call", 1, 3).await;
    assert_eq!(lines[0]["params"]["arguments"]["text"].as_str().unwrap().len(), LARGE);
    assert_eq!(ids(&lines), [0, 1, 2]);
    let cancelled = lines.iter().find(|line| line.get("id").is_none()).unwrap();
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], 1);
}

// MC-1: those that never got to write are never seen.
#[tokio::test]
async fn calls_dropped_before_their_line_began_leave_no_trace() {
    let lines = dropped_in_the_middle("many-dropped", "tools/call", 5, 3).await;
    assert_eq!(ids(&lines), [0, 1, 6]);
}

#[tokio::test]
async fn a_line_that_cannot_be_taken_back_is_finished_too() {
    let lines = dropped_in_the_middle("initialize-dropped", "initialize", 1, 2).await;
    assert_eq!(ids(&lines), [1, 2]);
}

// MC-6: a server that does not read cannot keep us from closing it.
#[tokio::test]
async fn a_writer_that_waits_is_let_go_on_close() {
    let server = Arc::new(Server::start("reads-when=/nonexistent"));
    let call = {
        let server = Arc::clone(&server);
        tokio::spawn(async move {
            server.call("echo", json!({"text": "x".repeat(LARGE)})).await.unwrap_err().to_string()
        })
    };
    let group = server.group().await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    server.close().await;
    assert_eq!(bounded(call).await.unwrap(), "the connection was closed");
    until("the group is gone", || super::support::running(group).is_empty()).await;
}

// JSON may come to us laid out on several lines; the wire wants one.
#[tokio::test]
async fn parameters_on_several_lines_are_sent_on_one() {
    let server = Server::start("");
    let text = "{\n  \"name\": \"echo\",\r\n  \"arguments\": {\"text\": \"a\\nb\"}\n}";
    let params = RawValue::from_string(text.to_owned()).unwrap();
    let request = TransportRequest::new(1, "tools/call", Some(params.get()));
    let result = bounded(server.transport.request(request)).await.unwrap();
    assert!(result.get().contains(r#""text":"a\nb""#), "{result}");
    server.close().await;
}
