//! Switchboard's own tools.

use serde_json::json;
use switchboard_runtime::{ServerSettings, ToolExecutor, services, toolcall::ErrorKind};
use switchboard_testkit::Fake;

async fn house() -> (ToolExecutor, String) {
    let executor = ToolExecutor::default();
    for service in services::all(&executor) {
        executor.tools().add_shared(service).unwrap();
    }
    let long: String = (0..20_000).map(|n| format!("line {n} größer\n")).collect();
    executor.tools().add(Fake::answers("long", json!(long))).unwrap();
    let id = executor.call("long", json!({})).await.artifacts[0].id.clone();
    (executor, id)
}

// RS-5
#[tokio::test]
async fn read_result_gives_exactly_what_was_asked_for() {
    let (executor, id) = house().await;
    let read = |args: serde_json::Value| {
        let (executor, id) = (executor.clone(), id.clone());
        async move {
            let mut args = args;
            args["id"] = json!(id);
            executor.call("read_result", args).await
        }
    };
    assert_eq!(read(json!({"offset": 7, "limit": 6})).await.text(), "größer");
    assert_eq!(read(json!({"limit": 0})).await.text(), "");
    assert_eq!(read(json!({"offset": 99_999_999})).await.text(), "");
    assert_eq!(
        read(json!({"grep": "^line 1999[89]"})).await.text(),
        "line 19998 größer\nline 19999 größer"
    );
    assert_eq!(read(json!({"grep": "line 7", "offset": 5, "limit": 2})).await.text(), "7 ");
    // More than any limit, and still not cut.
    let long = read(json!({"limit": 200_000})).await;
    assert_eq!(long.text().chars().count(), 200_000);
    assert!(!long.truncated);
    let wrong = read(json!({"grep": "("})).await;
    assert!(
        wrong.text().starts_with("Invalid parameters: 'grep' is not a pattern"),
        "{}",
        wrong.text()
    );
    let lost = executor.call("read_result", json!({"id": "nope"})).await;
    assert_eq!(lost.error_kind(), Some(ErrorKind::InvalidParameters));
    assert!(lost.text().contains("\"nope\""), "{}", lost.text());
}

// LT-2
#[tokio::test]
async fn tool_search_finds_by_name_and_description() {
    let (executor, _) = house().await;
    let tool =
        Fake::echoes("light").with(|spec| spec.description = "Turns on the kitchen lamp".into());
    executor.tools().add(tool).unwrap();
    let found = executor.call("tool_search", json!({"query": "Kitchen LIGHT"})).await;
    let value = found.value().unwrap();
    assert_eq!(value["tools"][0]["name"], "light");
    assert_eq!(value["tools"][0]["parameters"]["type"], "object");
    let none = executor.call("tool_search", json!({"query": "xyzzy"})).await;
    assert_eq!(none.text(), r#"{"tools":[]}"#);
}

// LT-2
#[tokio::test]
async fn call_history_shows_the_latest_first() {
    let (executor, _) = house().await;
    executor.call("nope", json!({"password": "hunter2"})).await;
    let history = executor.call("call_history", json!({"limit": 3})).await;
    let calls = history.value().unwrap()["calls"].clone();
    assert_eq!(calls[0]["outcome"], "running", "the history is itself a call");
    assert_eq!((&calls[1]["tool"], &calls[1]["outcome"]), (&json!("nope"), &json!("not_found")));
    assert_eq!(calls[1]["arguments"], json!({"password": "[redacted]"}));
    assert_eq!(calls[2]["outcome"], "ok");
    let only = executor.call("call_history", json!({"tool": "long"})).await;
    assert_eq!(only.value().unwrap()["calls"].as_array().unwrap().len(), 1);
}

// LT-2
#[tokio::test]
async fn server_status_counts_tools() {
    let (executor, _) = house().await;
    executor.tools().add_server("a", ServerSettings::default()).unwrap();
    executor.tools().set_server_tools("a", vec![Fake::echoes("x").of_server("a").shared()]);
    let status = executor.call("server_status", json!({})).await;
    assert_eq!(status.text(), r#"{"servers":[{"name":"a","tools":1}]}"#);
}

// RS-6
#[tokio::test]
async fn a_binary_is_not_read_as_text() {
    use switchboard_runtime::toolcall::{Content, Part, ToolOutput};
    let (executor, _) = house().await;
    let parts = vec![Part::binary("image", "image/png", "/9j/")];
    let image = ToolOutput::Content(Content { parts, ..Default::default() });
    executor.tools().add(Fake::outputs("image", image)).unwrap();
    let id = executor.call("image", json!({})).await.artifacts[0].id.clone();
    let read = executor.call("read_result", json!({"id": id})).await;
    assert_eq!(read.text(), format!("artifact '{id}' is image/png of 3 bytes, not text"));
}
