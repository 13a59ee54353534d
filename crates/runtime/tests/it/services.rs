//! Switchboard's own tools.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use switchboard_runtime::{
    ServerSettings, ToolExecutor, services,
    toolcall::{CallContext, ErrorKind, Tool, ToolCall, Visibility},
};
use switchboard_testkit::Fake;

async fn test_executor() -> (ToolExecutor, String) {
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
    let (executor, id) = test_executor().await;
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
    // As much as one call returns, however much is asked for.
    let long = read(json!({"limit": 9_000_000})).await;
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
    let (executor, _) = test_executor().await;
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

/// The names that `tool_search` finds.
async fn found(executor: &ToolExecutor, query: &str) -> Vec<String> {
    let found = executor.call("tool_search", json!({"query": query, "limit": 100})).await;
    let tools = found.value().unwrap()["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

// FT-1
#[tokio::test]
async fn tool_search_follows_changes() {
    let (executor, _) = test_executor().await;
    assert!(!found(&executor, "brew a coffee").await.contains(&"kitchen__brew".to_owned()));
    executor.tools().add_server("kitchen", ServerSettings::default()).unwrap();
    let tool = |name: &str, description: &str| -> Arc<dyn Tool> {
        let description = description.to_owned();
        Fake::echoes(name).of_server("kitchen").with(|spec| spec.description = description).shared()
    };
    executor.tools().set_server_tools("kitchen", vec![tool("brew", "Makes coffee")]);
    assert_eq!(found(&executor, "brew a coffee").await[0], "kitchen__brew");
    // More than are indexed on a serving thread.
    let many = (0..200).map(|n| tool(&format!("t{n}"), "Washes dishes")).collect();
    executor.tools().set_server_tools("kitchen", many);
    assert!(!found(&executor, "brew a coffee").await.contains(&"kitchen__brew".to_owned()));
    assert_eq!(found(&executor, "wash the dishes").await.len(), 100, "at most");
}

// FT-1
#[tokio::test]
async fn tool_search_tells_how_to_call_what_it_finds() {
    let (executor, _) = test_executor().await;
    let schema = json!({"type": "object", "properties": {"cups": {"type": "integer"}}});
    let brew = Fake::echoes("brew").parameters(schema.clone());
    executor.tools().add(brew.with(|spec| spec.description = "Makes coffee".into())).unwrap();
    executor.tools().add(Fake::echoes("taste").read_only()).unwrap();
    let result = executor.call("tool_search", json!({"query": "coffee", "limit": 1})).await;
    let tools = json!([{
        "name": "brew", "description": "Makes coffee", "parameters": schema, "read_only": false,
    }]);
    assert_eq!(result.value().unwrap()["tools"], tools);
    let result = executor.call("tool_search", json!({"query": "taste", "limit": 1})).await;
    assert_eq!(result.value().unwrap()["tools"][0]["read_only"], true);
    let none = executor.call("tool_search", json!({"query": "coffee", "limit": 0})).await;
    assert_eq!(none.text(), r#"{"tools":[]}"#);
}

// FT-1
#[tokio::test]
async fn what_a_caller_called_before_comes_first() {
    let (executor, _) = test_executor().await;
    for server in ["north", "south"] {
        executor.tools().add_server(server, ServerSettings::default()).unwrap();
        let tool = Fake::echoes("brew").of_server(server).shared();
        executor.tools().set_server_tools(server, vec![tool]);
    }
    let before = found(&executor, "brew").await;
    executor.call(&before[1], json!({})).await;
    let after = found(&executor, "brew").await;
    assert_eq!((&after[0], &after[1]), (&before[1], &before[0]));
    // Others' calls say nothing of this caller.
    let ada = CallContext::for_caller("ada");
    let call = ToolCall::new("tool_search", Map::from_iter([("query".to_owned(), json!("brew"))]));
    let result = executor.execute(call, &ada).await;
    assert_eq!(result.value().unwrap()["tools"][0]["name"], *before[0]);
    // However many calls of others came since.
    for _ in 0..250 {
        executor.execute(ToolCall::new(&*before[0], Map::new()), &ada).await;
    }
    assert_eq!(found(&executor, "brew").await[0], before[1]);
}

// LT-2
#[tokio::test]
async fn call_history_shows_the_latest_first() {
    let (executor, _) = test_executor().await;
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
    let (executor, _) = test_executor().await;
    executor.tools().add_server("a", ServerSettings::default()).unwrap();
    executor.tools().set_server_tools("a", vec![Fake::echoes("x").of_server("a").shared()]);
    let status = executor.call("server_status", json!({})).await;
    assert_eq!(status.text(), r#"{"servers":[{"name":"a","tools":1}]}"#);
}

// RS-6
#[tokio::test]
async fn a_binary_is_not_read_as_text() {
    use switchboard_runtime::toolcall::{Content, Part, ToolOutput};
    let (executor, _) = test_executor().await;
    let parts = vec![Part::binary("image", "image/png", "/9j/")];
    let image = ToolOutput::Content(Content { parts, ..Default::default() });
    executor.tools().add(Fake::outputs("image", image)).unwrap();
    let id = executor.call("image", json!({})).await.artifacts[0].id.clone();
    let read = executor.call("read_result", json!({"id": id})).await;
    assert_eq!(read.text(), format!("artifact '{id}' is image/png of 3 bytes, not text"));
}

/// What surrounds a call of a caller who sees tools that begin so, and knows of its own calls only.
fn apart(name: &'static str, prefix: &'static str) -> CallContext {
    let visibility =
        Visibility::of_tools(move |tool| tool.starts_with(prefix) || tool.contains('_'));
    CallContext { visibility: visibility.watching(false), ..CallContext::for_caller(name) }
}

// GW-5
#[tokio::test]
async fn services_tell_a_caller_of_what_is_its_own() {
    let (executor, foreign) = test_executor().await;
    executor.tools().add(Fake::echoes("light")).unwrap();
    let call = async |tool: &str, args: Value, cx: &CallContext| {
        let Value::Object(args) = args else { panic!("arguments") };
        executor.execute(ToolCall::new(tool, args), cx).await
    };
    let (ada, bob) = (apart("ada", "l"), apart("bob", "light"));
    let own = call("long", json!({"note": "ada's"}), &ada).await.artifacts[0].id.clone();
    call("light", json!({"note": "bob's"}), &bob).await;
    for (id, cx, is_read) in
        [(&own, &ada, true), (&own, &bob, false), (&foreign, &ada, false), (&foreign, &bob, false)]
    {
        let read = call("read_result", json!({"id": id, "limit": 1}), cx).await;
        assert_eq!(read.error_kind().is_none(), is_read, "{}", read.text());
    }
    let history = call("call_history", json!({}), &bob).await.text();
    assert!(history.contains("bob's") && !history.contains("ada's"), "{history}");
    let found = call("tool_search", json!({"query": "long light"}), &bob).await;
    let found = found.text();
    assert!(found.contains("light") && !found.contains("\"long\""), "{found}");
    // Neither what is hidden nor what is close to it is told.
    let hidden = call("long", json!({}), &bob).await;
    let missing = call("lonh", json!({}), &bob).await;
    assert_eq!(hidden.text().replace("long", "lonh"), missing.text());
    assert!(!missing.text().contains("long"), "{}", missing.text());
    // Ids cannot be counted up to those of others.
    let next = call("long", json!({}), &ada).await.artifacts[0].id.clone();
    let alike = own.chars().zip(next.chars()).filter(|(one, other)| one == other).count();
    assert!(alike < own.len() / 2, "{own} {next}");
}

// GW-5
#[tokio::test]
async fn an_answer_is_reused_for_the_caller_that_had_it() {
    let executor = ToolExecutor::default();
    let cached = Fake::echoes("light").read_only();
    let cached = cached.with(|spec| spec.settings.cache = Some(std::time::Duration::from_secs(60)));
    executor.tools().add(cached).unwrap();
    let reused = async |cx: &CallContext| {
        executor.execute(ToolCall::new("light", Map::new()), cx).await.reused.is_some()
    };
    let (ada, bob) = (apart("ada", "l"), apart("bob", "l"));
    assert_eq!([reused(&ada).await, reused(&ada).await, reused(&bob).await], [false, true, false]);
    let owner = CallContext::default();
    assert_eq!([reused(&owner).await, reused(&owner).await], [false, true]);
}

// GW-5: of servers too.
#[tokio::test]
async fn server_status_shows_servers_with_a_visible_tool() {
    let (executor, _) = test_executor().await;
    let tools = executor.tools();
    for server in ["lamps", "secret"] {
        tools.add_server(server, ServerSettings::default()).unwrap();
        let tool: Arc<dyn Tool> = Arc::new(Fake::echoes("on").of_server(server));
        tools.set_server_tools(server, vec![tool]);
    }
    let visibility = Visibility::of_tools(|name| name != "secret__on" && name != "secret");
    let cx = CallContext { visibility, ..CallContext::for_caller("ada") };
    let status = executor.execute(ToolCall::new("server_status", Map::new()), &cx).await;
    assert!(status.text().contains("lamps") && !status.text().contains("secret"));
}
