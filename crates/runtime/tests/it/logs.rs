//! What the log says of calls.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_runtime::{
    ToolExecutor,
    toolcall::{CallContext, ToolCall, ToolError},
};
use switchboard_testkit::{Fake, Logs, Witness};
use tracing::Level;

use super::{executor, object};

async fn logged(executor: &ToolExecutor, name: &str, args: Value) -> Vec<String> {
    let logs = Logs::collect(Level::INFO);
    executor.call(name, args).await;
    logs.lines()
}

// EX-5
#[tokio::test(start_paused = true)]
async fn every_execution_is_logged_once() {
    let executor = executor([
        Fake::answers("answer", json!({"n": 42})),
        Fake::new("fail", |_, _| async {
            let cause: switchboard_runtime::toolcall::BoxError = "disk on fire".into();
            Err(ToolError::failed("no luck").caused_by(cause))
        }),
        Fake::new("panic", |_, _| async { panic!("boom") }),
    ]);
    let cases = [
        (
            "answer",
            "INFO",
            vec![
                "tool=\"answer\"",
                r#"arguments={"a":1}"#,
                "outcome=\"ok\"",
                r#"result={"n":42}"#,
                "duration_ms=0",
            ],
        ),
        ("fail", "INFO", vec!["outcome=\"tool_error\"", "cause=\"no luck: disk on fire\""]),
        ("panic", "ERROR", vec!["outcome=\"internal\"", "boom"]),
        ("nobody", "WARN", vec!["unknown tool 'nobody'", "outcome=\"not_found\""]),
    ];
    for (name, level, parts) in cases {
        let lines = logged(&executor, name, json!({"a": 1})).await;
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with(level), "{lines:?}");
        for part in parts {
            assert!(lines[0].contains(part), "{part} in {lines:?}");
        }
    }
}

// EX-5
#[tokio::test(start_paused = true)]
async fn a_slow_call_is_warned_about() {
    let executor = executor([Fake::waits("wait", &Witness::default())]);
    let lines = logged(&executor, "wait", json!({"secs": 1.0})).await;
    assert_eq!(lines.len(), 1, "exactly at the limit is not over it: {lines:?}");
    let lines = logged(&executor, "wait", json!({"secs": 1.234})).await;
    assert!(lines[0].starts_with("WARN") && lines[0].contains("slow call: 'wait' took 1234 ms"));
}

// EX-5
#[tokio::test]
async fn secrets_never_reach_log_or_record() {
    let executor = executor([Fake::new("leak", |_, _| async {
        Ok(switchboard_runtime::toolcall::ToolOutput::Value(json!(
            "got ghp_0123456789abcdefghij0123"
        )))
    })]);
    let secrets = [
        json!({"password": "hunter2"}),
        json!({"nested": {"access_token": "hunter2"}}),
        json!({"list": [{"API-Key": "hunter2"}]}),
        json!({"header": "Authorization: Bearer hunter2hunter2"}),
        json!({"text": "use sk-hunter2hunter2hunter2 please"}),
        json!({"url": "https://me:hunter2@example.org/"}),
        json!({"clientSecret": {"value": "hunter2"}}),
        json!({"jwt": "eyJhunter2hunter2.hunter2hunter2.hunter2"}),
    ];
    for args in secrets {
        let lines = logged(&executor, "leak", args).await.join("\n");
        assert!(lines.contains("[redacted]") && !lines.contains("hunter2"), "{lines}");
        assert!(!lines.contains("ghp_"), "{lines}");
    }
    for call in executor.history().recent(100).await.unwrap() {
        assert!(!call.start.arguments.contains("hunter2"), "{}", call.start.arguments);
        serde_json::from_str::<Value>(&call.start.arguments).unwrap();
    }
}

// EX-5: what a tool answers is redacted like what it was given.
#[tokio::test]
async fn secrets_in_results_stay_out_of_the_log() {
    let executor = executor([
        Fake::echoes("echo"),
        Fake::answers("text", json!(r#"saved {"apiKey": "hunter2", "n": 1}"#)),
    ]);
    let lines = logged(&executor, "echo", json!({"password": "hunter2", "n": 1})).await.join("\n");
    assert!(!lines.contains("hunter2") && lines.contains(r#""n":1"#), "{lines}");
    let lines = logged(&executor, "text", json!({})).await.join("\n");
    assert!(!lines.contains("hunter2") && lines.contains(r#"\"n\": 1"#), "{lines}");
}

// EX-5: what only sounds secret stays readable.
#[tokio::test]
async fn innocent_values_stay() {
    let executor = executor([Fake::echoes("echo")]);
    let innocent = json!({"max_tokens": 100, "tokens": 5, "use_password": true, "text": "a \"quoted\"\nline", "n": 1.0});
    executor.call("echo", innocent.clone()).await;
    let recorded = executor.history().recent(1).await.unwrap();
    assert_eq!(recorded[0].start.arguments, innocent.to_string());
}

// EX-5: who walks away is logged too.
#[tokio::test(start_paused = true)]
async fn walking_away_is_logged() {
    let witness = Witness::default();
    let executor = executor([Fake::waits("wait", &witness)]);
    let logs = Logs::collect(Level::INFO);
    let cx = CallContext::default();
    let call = ToolCall::new("wait", object(json!({"secs": 5})));
    _ = tokio::time::timeout(Duration::from_millis(10), executor.execute(call, &cx)).await;
    let lines = logs.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("outcome=\"cancelled\""), "{lines:?}");
}
