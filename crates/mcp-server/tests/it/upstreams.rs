//! What servers behind us have, merged and passed on.

use std::time::Duration;

use http::Method;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use switchboard_mcp_client::{Protocol, ServerConfig};
use switchboard_mcp_server::{Config, McpBody, McpCaller};

use crate::{
    test_server::{TestResponse, TestServer, events, in_session, sees},
    upstream::{Upstream, at, configured, in_front_of},
};

fn list(result: &Value, key: &str, field: &str) -> String {
    let entries = result[key].as_array().unwrap().iter();
    entries.map(|entry| entry[field].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

/// Asks in the modern way, and returns the result.
async fn alone(test: &TestServer, method: &str, params: Value) -> Value {
    test.alone(method, params).await.last()["result"].clone()
}

// TL-5, MC-1
#[tokio::test]
async fn lists_are_merged_in_the_order_of_the_config() {
    let (one, two) = (Upstream::start("one", false).await, Upstream::start("two", true).await);
    let (test, _servers) = in_front_of([("b", &one), ("a", &two)]).await;
    let session = test.session().await;
    for modern in [false, true] {
        let ask = async |method: &str| match modern {
            true => alone(&test, method, json!({})).await,
            false => test.ask(&session, method, json!({})).await.last()["result"].clone(),
        };
        let tools = ask("tools/list").await;
        assert!(
            list(&tools, "tools", "name").ends_with("b__t b__refuse b__ask a__t a__refuse a__ask")
        );
        // The first in the config has what two have.
        let resources = ask("resources/list").await;
        assert_eq!(list(&resources, "resources", "uri"), "one://one all://shared two://one");
        assert_eq!(resources["resources"][1]["name"], "one");
        let templates = ask("resources/templates/list").await;
        assert_eq!(
            list(&templates, "resourceTemplates", "uriTemplate"),
            "one://t/{id} two://t/{id}"
        );
        let prompts = ask("prompts/list").await;
        assert_eq!(list(&prompts, "prompts", "name"), "b__p a__p");
        assert_eq!(prompts["prompts"][0]["title"], "P");
        assert_eq!(resources["ttlMs"].is_null(), !modern);
    }
    // A list that its server tells of is read once.
    assert_eq!(one.count("resources/list"), 1);
}

// MC-1, GW-1
#[tokio::test]
async fn everything_finds_its_server() {
    let (one, two) = (Upstream::start("one", false).await, Upstream::start("two", true).await);
    let (test, _servers) = in_front_of([("b", &one), ("a", &two)]).await;
    let read = async |uri: &str| alone(&test, "resources/read", json!({"uri": uri})).await;
    for (uri, server) in
        [("one://one", "one"), ("two://one", "two"), ("all://shared", "one"), ("two://t/5", "two")]
    {
        let result = read(uri).await;
        assert_eq!((&result["contents"][0]["text"], &result["ttlMs"]), (&json!(server), &json!(0)));
    }
    let prompt =
        alone(&test, "prompts/get", json!({"name": "a__p", "arguments": {"x": "1"}})).await;
    assert_eq!(prompt["messages"][0]["content"]["text"], "two");
    let sent = two.last("prompts/get");
    assert_eq!((&sent["name"], &sent["arguments"]), (&json!("p"), &json!({"x": "1"})));
    let complete = |reference: Value| {
        let params = json!({"ref": reference, "argument": {"name": "x", "value": ""}});
        alone(&test, "completion/complete", params)
    };
    let completed = complete(json!({"type": "ref/prompt", "name": "b__p"})).await;
    assert_eq!(completed["completion"]["values"], json!(["one"]));
    let completed = complete(json!({"type": "ref/resource", "uri": "two://t/{id}"})).await;
    assert_eq!(completed["completion"]["values"], json!(["two"]));
    // Tools keep what their servers say of them.
    let tools = alone(&test, "tools/list", json!({})).await;
    let tool =
        tools["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "b__t").unwrap();
    assert_eq!((&tool["icons"], tool["x-vendor"].to_string()), (&json!([1]), "1.0".to_owned()));
}

// GW-1: what is not there, in the words of each era.
#[tokio::test]
async fn what_is_not_there_is_said_in_the_clients_era() {
    let (one, two) = (Upstream::start("one", false).await, Upstream::start("two", true).await);
    let (test, _servers) = in_front_of([("b", &one), ("a", &two)]).await;
    let session = test.session().await;
    for uri in ["nobody://x", "one://t/gone", "two://t/gone"] {
        let params = json!({"uri": uri});
        let modern = test.alone("resources/read", params.clone()).await.last();
        assert_eq!(modern["error"]["code"], -32602, "{uri}");
        assert_eq!(modern["error"]["data"]["uri"], uri);
        let legacy = test.ask(&session, "resources/read", params).await.last();
        assert_eq!(legacy["error"]["code"], -32002, "{uri}");
    }
    let prompt = test.alone("prompts/get", json!({"name": "p"})).await;
    assert_eq!(prompt.refusal(), (200, -32602));
    let params = json!({"ref": {"type": "ref/nothing"}, "argument": {}});
    assert_eq!(test.alone("completion/complete", params).await.refusal(), (200, -32602));
    let level = test.ask(&session, "logging/setLevel", json!({"level": "loud"})).await;
    assert_eq!(level.refusal(), (200, -32602));
    let level = test.ask(&session, "logging/setLevel", json!({"level": "error"})).await;
    assert_eq!(level.last()["result"], json!({}));
    while one.count("logging/setLevel") == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(one.last("logging/setLevel")["level"], "error");
    // VA-4: an error of the protocol passes as it came.
    let refused = test.ask(&session, "tools/call", json!({"name": "b__refuse"})).await.last();
    assert_eq!(
        refused["error"],
        json!({"code": -32050, "message": "not today", "data": {"why": "rain"}})
    );
}

// TL-4: an empty prefix shows names as the server has them.
#[tokio::test]
async fn names_without_a_prefix() {
    let upstream = Upstream::start("one", true).await;
    let config = ServerConfig { prefix: Some(String::new()), ..at(&upstream.url, Protocol::Auto) };
    let (test, _servers) = configured([("b", config)], Config::default()).await;
    assert_eq!(list(&alone(&test, "prompts/list", json!({})).await, "prompts", "name"), "p");
    let called = alone(&test, "tools/call", json!({"name": "t"})).await;
    assert_eq!(called["content"][0]["text"], "one");
}

// GW-2: who sees no tool of a server sees nothing of it.
#[tokio::test]
async fn a_server_that_may_not_be_seen_is_not_there() {
    let (one, two) = (Upstream::start("one", false).await, Upstream::start("two", true).await);
    let (test, _servers) = in_front_of([("b", &one), ("a", &two)]).await;
    let ask = async |method: &str, params: Value| {
        TestResponse::of(test.begin_alone(method, params, &sees("a__")).await).await.last()
    };
    let tools = ask("tools/list", json!({})).await["result"].clone();
    assert_eq!(list(&tools, "tools", "name"), "a__t a__refuse a__ask");
    let resources = ask("resources/list", json!({})).await["result"].clone();
    assert_eq!(list(&resources, "resources", "uri"), "two://one all://shared");
    assert_eq!(resources["cacheScope"], "private");
    let prompts = ask("prompts/list", json!({})).await["result"].clone();
    assert_eq!(list(&prompts, "prompts", "name"), "a__p");
    assert_eq!(ask("prompts/get", json!({"name": "b__p"})).await["error"]["code"], -32602);
    // Its bare name finds the tool of the last server in the config: that one may be seen.
    let called = ask("tools/call", json!({"name": "t"})).await;
    assert_eq!(called["result"]["content"][0]["text"], "two");
    let hidden = ask("tools/call", json!({"name": "b__t"})).await;
    assert_eq!(hidden["error"]["message"], "Tool 'b__t' not found");
}

// GW-1: each resource is watched once, however many watch it.
#[tokio::test]
async fn a_resource_is_watched_once() {
    let one = Upstream::start("one", false).await;
    let (test, _servers) = in_front_of([("b", &one)]).await;
    let sessions = [test.session().await, test.session().await];
    let params = json!({"uri": "one://one"});
    for session in &sessions {
        for _ in 0..2 {
            let answer = test.ask(session, "resources/subscribe", params.clone()).await;
            assert_eq!(answer.last()["result"], json!({}));
        }
    }
    assert_eq!(one.count("resources/subscribe"), 1);
    test.ask(&sessions[0], "resources/unsubscribe", params).await;
    assert_eq!(one.count("resources/unsubscribe"), 0);
    // The other one goes without a word.
    test.server.close();
    while one.count("resources/unsubscribe") == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let unknown = test.session().await;
    let answer = test.ask(&unknown, "resources/subscribe", json!({"uri": "no://where"})).await;
    // There is only one server to ask, and it takes the subscription.
    assert_eq!(answer.last()["result"], json!({}));
}

// GW-3: a modern server asks a modern client and an old one; its state comes back as it was.
#[tokio::test]
async fn questions_of_a_modern_server_reach_the_one_who_called() {
    let two = Upstream::start("two", true).await;
    let (test, _servers) = in_front_of([("a", &two)]).await;
    let capable = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
    let params = json!({"name": "a__ask", "_meta": capable});
    let asked = alone(&test, "tools/call", params.clone()).await;
    assert_eq!(asked["inputRequests"]["who"]["params"], json!({"message": "Who?"}));
    // What the client can do is told to the server; nobody else's capabilities are.
    let told =
        two.last("tools/call")["_meta"]["io.modelcontextprotocol/clientCapabilities"].clone();
    assert_eq!(told, json!({"elicitation": {}}));
    let mut again = params;
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = json!({"who": {"action": "accept"}});
    let done = alone(&test, "tools/call", again).await;
    assert_eq!(done["content"][0]["text"], r#"{"action":"accept"}"#);
    assert_eq!(two.last("tools/call")["requestState"], "sealed");
}

// RS-3: what a client says beside its call reaches the server; what is this hop's does not.
#[tokio::test]
async fn notes_beside_a_call_are_passed_on() {
    let (one, two) = (Upstream::start("one", false).await, Upstream::start("two", true).await);
    let (test, _servers) = in_front_of([("b", &one), ("a", &two)]).await;
    let meta = json!({"traceparent": "00-1-2-01", "vendor/key": [1], "progressToken": "mine"});
    for name in ["b__t", "a__t"] {
        test.alone("tools/call", json!({"name": name, "_meta": meta})).await;
    }
    let session = test.session().await;
    test.ask(&session, "prompts/get", json!({"name": "b__p", "_meta": meta})).await;
    for sent in [one.last("tools/call"), two.last("tools/call"), one.last("prompts/get")] {
        let meta = &sent["_meta"];
        assert_eq!((&meta["traceparent"], &meta["vendor/key"]), (&json!("00-1-2-01"), &json!([1])));
        assert!(meta["progressToken"].is_number(), "{sent}");
    }
    let old = one.last("tools/call")["_meta"].as_object().unwrap().len();
    assert_eq!(old, 3);
}

// GW-1: who watches a resource, in either era, hears that it has changed, and nobody else does.
#[tokio::test]
async fn a_change_of_a_resource_is_told_to_who_watches_it() {
    let two = Upstream::start("two", true).await;
    let (test, _servers) = in_front_of([("a", &two)]).await;
    let sessions = [test.session().await, test.session().await];
    let caller = McpCaller::default();
    let wanted = json!({"notifications": {"resourceSubscriptions": ["two://t/1"]}});
    let listening = test.begin_alone("subscriptions/listen", wanted, &caller).await;
    test.ask(&sessions[0], "resources/subscribe", json!({"uri": "two://one"})).await;
    let heard = async |body: &mut McpBody| loop {
        let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
        let messages = events(str::from_utf8(&frame).unwrap()).into_iter();
        let updated = |message: &Value| message["method"] == "notifications/resources/updated";
        if let Some(message) = messages.map(|(_, message)| message).find(updated) {
            break message["params"]["uri"].clone();
        }
    };
    assert_eq!(heard(&mut listening.into_body()).await, "two://t/1");
    let headers = in_session(&sessions[0]);
    let stream = test.send(Method::GET, &headers, "", &caller).await;
    assert_eq!(heard(&mut stream.into_body()).await, "two://one");
    test.server.close();
    let headers = in_session(&sessions[1]);
    assert_eq!(test.send(Method::GET, &headers, "", &caller).await.status(), 404);
}
