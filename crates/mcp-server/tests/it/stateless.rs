//! Requests that stand alone (2026-07-28).

use std::{sync::Arc, time::Duration};

use http_body_util::BodyExt;
use serde_json::{Value, json};
use switchboard_mcp_server::{Config, McpCaller};
use switchboard_runtime::{PolicyConfig, RulePolicy, SwapPolicy, ToolExecutor};
use switchboard_testkit::tools::Fake;

use crate::test_server::{TestServer, events, sees};

// GW-1
#[tokio::test]
async fn we_say_what_we_are() {
    let test = TestServer::new();
    let found = test.alone("server/discover", json!({})).await.last()["result"].clone();
    assert_eq!(found["supportedVersions"][0], "2026-07-28");
    assert_eq!(found["capabilities"], json!({"tools": {"listChanged": true}}));
    assert_eq!((&found["resultType"], &found["ttlMs"]), (&json!("complete"), &json!(0)));
    let info = &found["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(info["name"], "switchboard");
}

// GW-1, RS-3
#[tokio::test]
async fn tools_are_listed_and_called() {
    let test = TestServer::new();
    let listed = test.alone("tools/list", json!({})).await.last()["result"].clone();
    assert_eq!(listed["tools"][0]["name"], "echo");
    assert_eq!((&listed["ttlMs"], &listed["cacheScope"]), (&json!(0), &json!("public")));
    let call = async |name: &str| test.alone("tools/call", json!({"name": name})).await.last();
    let said = call("say").await["result"].clone();
    assert_eq!(
        (&said["resultType"], &said["content"][0]["text"]),
        (&json!("complete"), &json!("hello"))
    );
    // What the tool says in `_meta` stays beside what we say.
    let meta = call("rich").await["result"]["_meta"].clone();
    assert_eq!(meta["vendor"], 1);
    assert_eq!(meta["io.modelcontextprotocol/serverInfo"]["name"], "switchboard");
    assert_eq!(call("fail").await["result"]["isError"], true);
    assert_eq!(call("nobody").await["error"]["code"], -32602);
    let counted = json!({"name": "count", "_meta": {"progressToken": 5}});
    let counted = test.alone("tools/call", counted).await.messages();
    assert_eq!((counted.len(), &counted[0]["params"]["progressToken"]), (4, &json!(5)));
}

// EX-4: hanging up cancels.
#[tokio::test(start_paused = true)]
async fn hanging_up_is_cancelling() {
    let test = TestServer::new();
    let call = json!({"name": "wait", "arguments": {"secs": 20}});
    let caller = McpCaller::default();
    tokio::select! {
        _ = test.begin_alone("tools/call", call.clone(), &caller) => panic!("it takes 20 s"),
        () = test.witness.saw("begun") => {}
    }
    test.witness.saw("dropped and told").await;
    // The same when the stream has begun.
    let test = TestServer::new();
    let response = test.begin_alone("tools/call", call, &caller).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    drop(response);
    test.witness.saw("dropped and told").await;
}

// GW-1: the request that listens hears what it asked for, and nothing else.
#[tokio::test(start_paused = true)]
async fn a_listener_hears_of_changes() {
    let test = TestServer::new();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let caller = McpCaller::default();
    let listen = async |notifications: Value| {
        let params = json!({"notifications": notifications});
        test.begin_alone("subscriptions/listen", params, &caller).await.into_body()
    };
    let mut deaf =
        listen(json!({"promptsListChanged": true, "resourceSubscriptions": ["a://b"]})).await;
    let mut listener = listen(json!({"toolsListChanged": true})).await;
    test.executor.tools().add(Fake::answers("new", json!(1))).unwrap();
    let mut heard = String::new();
    while events(&heard).len() < 2 {
        let frame = listener.frame().await.unwrap().unwrap();
        heard.push_str(str::from_utf8(&frame.into_data().unwrap()).unwrap());
    }
    let heard: Vec<_> = events(&heard).into_iter().map(|(_, message)| message).collect();
    assert_eq!(heard[0]["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(heard[0]["params"]["notifications"], json!({"toolsListChanged": true}));
    assert_eq!(heard[1]["method"], "notifications/tools/list_changed");
    for message in &heard {
        let id = &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
        assert_eq!(id, &json!(1));
    }
    // Without servers behind us there is neither prompt nor resource to hear of.
    let frame = deaf.frame().await.unwrap().unwrap().into_data().unwrap();
    let acknowledged = events(str::from_utf8(&frame).unwrap());
    assert_eq!(acknowledged[0].1["params"]["notifications"], json!({}));
}

// TL-7: a list that was made under another policy is made again, and who listens hears of it.
#[tokio::test(start_paused = true)]
async fn lists_follow_a_policy_that_changes() {
    let rules = |deny: &[&str]| {
        let deny = deny.iter().map(ToString::to_string).collect();
        RulePolicy::new(PolicyConfig { deny, ..Default::default() }).unwrap()
    };
    let policy = Arc::new(SwapPolicy::new(rules(&[])));
    let executor = ToolExecutor::builder().policy(policy.clone()).build();
    let test = TestServer::around(executor, None, Config::default());
    let is_listed = async |name: &str| {
        let listed = test.alone("tools/list", json!({})).await.last();
        let tools = listed["result"]["tools"].as_array().unwrap();
        tools.iter().any(|tool| tool["name"] == name)
    };
    assert!(is_listed("echo").await);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let params = json!({"notifications": {"toolsListChanged": true}});
    let caller = McpCaller::default();
    let listening = test.begin_alone("subscriptions/listen", params, &caller).await;
    let mut listener = listening.into_body();
    policy.swap(rules(&["echo"]));
    test.executor.tools().changed();
    let mut heard = String::new();
    while !heard.contains("notifications/tools/list_changed") {
        let frame = listener.frame().await.unwrap().unwrap();
        heard.push_str(str::from_utf8(&frame.into_data().unwrap()).unwrap());
    }
    assert!(!is_listed("echo").await);
    let call = test.alone("tools/call", json!({"name": "echo", "arguments": {}})).await.last();
    assert_eq!(call["result"]["isError"], true, "{call}");
    assert!(call.to_string().contains("denied by policy"), "{call}");
}

// GW-2: what may not be seen is not listed, and answers as unknown.
#[tokio::test]
async fn what_may_not_be_seen_is_not_there() {
    let test = TestServer::new();
    let ask = async |method: &str, params: Value, caller: McpCaller| {
        let response = test.begin_alone(method, params, &caller).await;
        crate::test_server::TestResponse::of(response).await.last()
    };
    let listed = ask("tools/list", json!({}), sees("s")).await["result"].clone();
    assert_eq!(listed["tools"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&listed["tools"][0]["name"], &listed["cacheScope"]),
        (&json!("say"), &json!("private"))
    );
    let said = ask("tools/call", json!({"name": "say"}), sees("s")).await;
    assert_eq!(said["result"]["content"][0]["text"], "hello");
    let hidden =
        ask("tools/call", json!({"name": "echo", "arguments": {"text": "x"}}), sees("s")).await;
    assert_eq!(hidden["error"], json!({"code": -32602, "message": "Tool 'echo' not found"}));
    let nobody = ask("tools/call", json!({"name": "nobody"}), sees("s")).await;
    assert_eq!(nobody["error"], json!({"code": -32602, "message": "Tool 'nobody' not found"}));
}
