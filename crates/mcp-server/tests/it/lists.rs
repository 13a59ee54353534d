//! Lists in pages.

use serde_json::{Value, json};
use switchboard_mcp_server::Config;

use crate::test_server::TestServer;

// TL-5
#[tokio::test]
async fn pages_cover_the_list() {
    let test = TestServer::with(Config { page_size: 3, ..Config::default() });
    let session = test.session().await;
    let mut names = Vec::new();
    let mut cursor = Value::Null;
    let mut pages = 0;
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let page = test.ask(&session, "tools/list", params).await.last()["result"].clone();
        let entries = page["tools"].as_array().unwrap();
        names.extend(entries.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        pages += 1;
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(names, ["echo", "say", "fail", "wait", "rich", "count", "ask"]);
    assert_eq!(pages, 3);
    for cursor in [json!("nonsense"), json!(""), json!(5)] {
        let params = json!({"cursor": cursor});
        assert_eq!(test.ask(&session, "tools/list", params.clone()).await.refusal(), (200, -32602));
        assert_eq!(test.alone("tools/list", params).await.refusal(), (200, -32602), "{cursor}");
    }
}

// TL-1: what is listed has what clients insist on.
#[tokio::test]
async fn a_tool_as_clients_want_it() {
    let test = TestServer::new();
    let odd = switchboard_testkit::tools::Fake::answers("odd", json!(1)).read_only().with(|spec| {
        spec.parameters = json!({"properties": {"a": {}}});
        spec.output_schema = Some(json!({"type": "object"}));
        spec.extra.insert("title".to_owned(), json!("Odd"));
    });
    test.executor.tools().add(odd).unwrap();
    let session = test.session().await;
    let listed = test.ask(&session, "tools/list", json!({})).await.last()["result"].clone();
    let odd = listed["tools"].as_array().unwrap().last().unwrap().clone();
    let expected = json!({
        "name": "odd", "description": "A fake",
        "inputSchema": {"type": "object", "properties": {"a": {}}},
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true},
        "title": "Odd",
    });
    assert_eq!(odd, expected);
}
