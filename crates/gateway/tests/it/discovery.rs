//! `/mcp?tools=search`: a client chooses which tools it lists.

use serde_json::{Value, json};

use crate::{TestGateway, answer};

async fn listed(house: &TestGateway, path: &str) -> (u16, Value) {
    let meta = "io.modelcontextprotocol";
    let meta = json!({
        format!("{meta}/protocolVersion"): "2026-07-28",
        format!("{meta}/clientCapabilities"): {},
    });
    let params = json!({"_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
    let request = house.client.post(house.url(path)).header("accept", "application/json");
    let request = request.header("mcp-protocol-version", "2026-07-28");
    answer(request.header("mcp-method", "tools/list").json(&body)).await
}

fn names(list: &Value) -> Vec<&str> {
    let tools = list["result"]["tools"].as_array().into_iter().flatten();
    tools.filter_map(|tool| tool["name"].as_str()).collect()
}

// FT-2
#[tokio::test]
async fn a_client_chooses_by_its_address() {
    let house = TestGateway::start().await;
    let (_, all) = listed(&house, "/mcp").await;
    assert!(names(&all).contains(&"wait"), "{all}");
    let (_, same) = listed(&house, "/mcp?tools=list").await;
    assert_eq!(names(&same), names(&all));
    let (_, view) = listed(&house, "/mcp?x=1&tools=search").await;
    assert!(names(&view).contains(&"tool_call"), "{view}");
    assert!(!names(&view).contains(&"wait"), "{view}");
    let (status, body) = listed(&house, "/mcp?tools=some").await;
    assert_eq!(status, 400);
    assert!(body.to_string().contains("`search`, `list` or `list-and-search`"), "{body}");
}
