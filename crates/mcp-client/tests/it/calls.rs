//! What a call brings back, and what reaches the server.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::json;
use switchboard_mcp_client::ServerConfig;
use switchboard_runtime::toolcall::{
    CallContext, ErrorKind, HumanDuration, Normalize, Progress, ToolCall, ToolOutput,
};

use switchboard_testkit::Logs;
use tracing::Level;

use super::{TestServers, misbehaving, until};

// RS-3
#[tokio::test]
async fn nothing_that_a_server_says_is_dropped() {
    let test = TestServers::misbehaving("vendor-fields").await;
    let result = test.call("s__echo", json!({"text": "hi"})).await;
    let value = result.value().unwrap().into_owned();
    assert!(value["content"].is_array(), "{value}");
    assert!(value.as_object().unwrap().len() > 1, "the vendor's fields are kept: {value}");
    test.servers.close().await;
}

// RS-6
#[tokio::test]
async fn binaries_become_artifacts() {
    let test = TestServers::misbehaving("binary").await;
    let result = test.call("s__echo", json!({"text": "hi"})).await;
    assert!(!result.artifacts.is_empty(), "{}", result.text());
    assert!(result.text().contains("artifact"), "{}", result.text());
    let ToolOutput::Content(content) = result.outcome.unwrap().output else { panic!("no content") };
    assert!(content.parts.iter().any(|part| part.as_binary().is_some()));
    test.servers.close().await;
}

// RS-4
#[tokio::test]
async fn failures_are_told_apart() {
    let test = TestServers::misbehaving("is-error").await;
    let result = test.call("s__echo", json!({"text": "hi"})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::ToolError));
    assert_eq!(result.message().content, result.text(), "unchanged, without a prefix");
    test.servers.close().await;

    let test = TestServers::misbehaving("rpc-error").await;
    let result = test.call("s__echo", json!({"text": "hi"})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::ToolError));
    assert_eq!(result.message().content, format!("Error: {}", result.text()));
    test.servers.close().await;
}

// MC-1: progress in order, and before the result.
#[tokio::test]
async fn progress_comes_in_order() {
    let test = TestServers::misbehaving("progress=20").await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let listener = seen.clone();
    let progress = Progress::to(move |update| listener.lock().unwrap().push(update.progress));
    let cx = CallContext { progress, ..Default::default() };
    let args = json!({"text": "hi"}).as_object().unwrap().clone();
    let result = test.executor.execute(ToolCall::new("s__echo", args), &cx).await;
    assert!(result.is_success(), "{}", result.text());
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 20);
    assert!(seen.windows(2).all(|pair| pair[0] < pair[1]), "{seen:?}");
    test.servers.close().await;
}

// EX-3, EX-4: the server is told that the call was cancelled.
#[tokio::test]
async fn a_timeout_reaches_the_server() {
    let log = std::env::temp_dir().join(format!("switchboard-cancel-{}", std::process::id()));
    let modes = format!("never-answers-tools-call,logs-input={}", log.display());
    let config = ServerConfig {
        timeout: Some(HumanDuration(Duration::from_millis(50))),
        ..misbehaving(&modes)
    };
    let test = TestServers::configured(config).await;
    let result = test.call("s__echo", json!({"text": "hi"})).await;
    assert_eq!(
        result.text(),
        "Tool 's__echo' timed out after 0.05s; side effects may have happened"
    );
    let told = || std::fs::read_to_string(&log).unwrap().contains("notifications/cancelled");
    until(told).await;
    test.servers.close().await;
    std::fs::remove_file(&log).unwrap();
}

// AN-5, VA-4: the client layer renames nothing by itself, and a camelCase server refuses snake_case.
#[tokio::test]
async fn names_are_fixed_by_the_executor_and_by_nothing_else() {
    let never = ServerConfig {
        normalize: Normalize::Never,
        validate: Some(false),
        ..misbehaving("refuses-snake-case")
    };
    let test = TestServers::configured(never).await;
    let args = json!({"device_name": "Lamp", "level": 5});
    let refused = test.call("s__set_level", args.clone()).await;
    assert_eq!(refused.error_kind(), Some(ErrorKind::ToolError), "{}", refused.text());
    test.servers.close().await;

    // With validation on, the schema judges before the server does.
    let strict = ServerConfig { normalize: Normalize::Never, ..misbehaving("refuses-snake-case") };
    let test = TestServers::configured(strict).await;
    let refused = test.call("s__set_level", args.clone()).await;
    assert_eq!(refused.error_kind(), Some(ErrorKind::InvalidParameters), "{}", refused.text());
    test.servers.close().await;

    let test = TestServers::misbehaving("refuses-snake-case").await;
    let taken = test.call("s__set_level", args).await;
    assert!(taken.is_success(), "{}", taken.text());
    test.servers.close().await;
}

// MC-5, EX-5: the first garbage line of a server is a warning, the rest is for those who look closely.
#[tokio::test]
async fn garbage_is_warned_about_once() {
    let logs = Logs::collect(Level::DEBUG);
    let test = TestServers::misbehaving("garbage-text").await;
    for _ in 0..3 {
        assert_eq!(test.call("s__echo", json!({"text": "hi"})).await.text(), "hi");
    }
    test.servers.close().await;
    let lines = logs.lines();
    let about = |level: &str| {
        let told = |line: &&String| {
            line.starts_with(level) && line.contains("a line that is not a message")
        };
        lines.iter().filter(told).count()
    };
    assert_eq!(about("WARN"), 1, "{lines:#?}");
    assert!(about("DEBUG") >= 3, "{lines:#?}");
}

// MC-4: a flood on stderr is forwarded to the log with moderation.
#[tokio::test]
async fn a_flood_on_stderr_is_forwarded_with_moderation() {
    let logs = Logs::collect(Level::DEBUG);
    let test = TestServers::misbehaving("stderr-flood=20000").await;
    assert_eq!(test.call("s__echo", json!({"text": "hi"})).await.text(), "hi");
    test.servers.close().await;
    let lines = logs.lines();
    let forwarded = lines.iter().filter(|line| line.contains("server stderr")).count();
    assert!((1..2000).contains(&forwarded), "{forwarded} lines");
    assert!(lines.iter().any(|line| line.contains("server stderr: lines left out")), "{forwarded}");
}
