//! MC-5: what is no message is skipped, and the next message is handled.

use serde_json::json;
use switchboard_mcp_client::Failure;

use super::support::{Directory, Server, bounded, config};

/// Calls `echo` a few times amid the garbage of a mode.
async fn survives(mode: &str) -> Server {
    let server = Server::start(mode);
    for number in 0..3 {
        let text = format!("hello {number}");
        assert_eq!(server.echo(&text).await, text, "{mode}");
    }
    server
}

// MC-5
#[tokio::test]
async fn every_kind_of_garbage_is_survived() {
    let modes = [
        "garbage-text",
        "garbage-json",
        "invalid-utf8",
        "empty-lines",
        "crlf",
        "quoted-request",
        "glued",
        "batch",
        "flood=20000",
        "text-id",
        "garbage-text,garbage-json,invalid-utf8,empty-lines,quoted-request,glued,crlf",
    ];
    for mode in modes {
        survives(mode).await.close().await;
    }
}

// MC-5: messages glued together are all found, in order.
#[tokio::test]
async fn notifications_beside_an_answer_are_heard() {
    for mode in ["glued", "batch"] {
        let server = survives(mode).await;
        assert_eq!(server.heard.all(), [r#"notifications/message {"data":"hello"}"#; 3], "{mode}");
        server.close().await;
    }
}

// MC-5: nothing is written back because of garbage.
#[tokio::test]
async fn garbage_is_not_answered() {
    let directory = Directory::new("not-answered");
    let log = directory.file("input");
    let all = "garbage-text,garbage-json,invalid-utf8,quoted-request,glued";
    let server = survives(&format!("{all},logs-input={}", log.display())).await;
    server.close().await;
    let input = std::fs::read_to_string(log).unwrap();
    assert_eq!(input.lines().count(), 3, "{input}");
    // A quoted request is not taken for one.
    assert!(
        !server.heard.all().iter().any(|heard| heard.ends_with('?')),
        "{:?}",
        server.heard.all()
    );
}

// MC-5: 200 MB without a line end are skipped and not held.
#[tokio::test]
async fn a_huge_line_is_not_held_in_memory() {
    let mut config = config("huge-line=200");
    config.max_message = 1_000_000;
    let server = Server::start_with(&config);
    assert_eq!(server.echo("still there").await, "still there");
    assert_eq!(server.echo("and again").await, "and again");
    assert!(peak_memory() < 150_000, "{} kB", peak_memory());
    server.close().await;
}

/// The most memory this process ever had, in kB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

// MC-5, MC-6: an answer that cannot be used ends its call instead of leaving it to the deadline.
#[tokio::test]
async fn an_answer_that_cannot_be_used_is_a_failure() {
    for (mode, reason) in [("huge-answer=2", "is too large"), ("invalid-utf8-answer", "UTF-8")] {
        let mut config = config(mode);
        config.max_message = 1_000_000;
        let server = Server::start_with(&config);
        let failure = bounded(server.call("echo", json!({}))).await.unwrap_err();
        assert!(matches!(&failure, Failure::Protocol(text) if text.contains(reason)), "{failure}");
        bounded(server.request("ping", &json!({}))).await.unwrap();
        server.close().await;
    }
}
