//! Resources, prompts and completion take the path of every call (SPEC GW-6).

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_mcp_client::{Protocol, ServerConfig};
use switchboard_mcp_server::{Config, McpCaller};
use switchboard_runtime::{
    PolicyConfig, RulePolicy, ToolExecutor,
    toolcall::{ErrorKind, HumanDuration, Visibility},
};

use crate::{
    test_server::{TestResponse, TestServer, in_session, request, sees},
    upstream::{Upstream, at, configured, in_front_of, running},
};

/// The calls that were recorded, the oldest first: name, arguments, how each ended.
async fn recorded(test: &TestServer) -> Vec<(String, String, Option<ErrorKind>)> {
    let calls = test.executor.history().recent(100).await.unwrap();
    let call = |call: &switchboard_runtime::RecordedCall| {
        let kind = call.end.and_then(|(kind, _)| kind);
        (call.start.tool.to_string(), call.start.arguments.clone(), kind)
    };
    calls.iter().rev().map(call).collect()
}

/// What may be asked of the server `b`, which calls itself `one`.
fn requests() -> [(&'static str, Value); 4] {
    let reference = json!({"type": "ref/prompt", "name": "b__p"});
    [
        ("resources/read", json!({"uri": "one://one"})),
        ("resources/subscribe", json!({"uri": "one://one"})),
        ("prompts/get", json!({"name": "b__p", "arguments": {"x": "1"}})),
        ("completion/complete", json!({"ref": reference, "argument": {"name": "x", "value": ""}})),
    ]
}

// GW-6, TL-7: what the policy denies does not reach the server, is written down, and is not listed.
#[tokio::test]
async fn the_policy_holds_for_everything_that_reaches_a_server() {
    for deny in ["*", "b__*/*"] {
        let rules = PolicyConfig { deny: vec![deny.to_owned()], ..PolicyConfig::default() };
        let executor = ToolExecutor::builder().policy(RulePolicy::new(rules).unwrap()).build();
        let one = Upstream::start("one", false).await;
        let config = at(&one.url, Protocol::Auto);
        let (test, _servers) = running(executor, [("b", config)], Config::default()).await;
        let session = test.session().await;
        for (method, params) in requests() {
            let error = test.ask(&session, method, params).await.last()["error"].clone();
            let text = format!("Tool 'b__{method}' is denied by policy: deny \"{deny}\"");
            let expected =
                json!({"code": -32000, "message": text, "data": {"error_kind": "denied"}});
            assert_eq!(error, expected, "{method}");
            assert_eq!(one.count(method), 0);
        }
        // TL-7
        for (method, key) in [("resources/list", "resources"), ("prompts/list", "prompts")] {
            let listed = test.ask(&session, method, json!({})).await.last();
            assert_eq!(listed["result"][key], json!([]), "{deny}");
        }
        let kinds: Vec<_> = recorded(&test).await.into_iter().map(|call| call.2).collect();
        assert_eq!(kinds, [Some(ErrorKind::Denied); 4]);
    }
}

// GW-6: each is one record, under its own name and with its own arguments.
#[tokio::test]
async fn everything_that_reaches_a_server_is_recorded_once() {
    let one = Upstream::start("one", false).await;
    let (test, _servers) = in_front_of([("b", &one)]).await;
    let session = test.session().await;
    for (method, params) in requests() {
        let answer = test.ask(&session, method, params).await.last();
        assert!(answer["error"].is_null(), "{answer}");
    }
    let calls = recorded(&test).await;
    let names: Vec<_> = calls.iter().map(|call| call.0.as_str()).collect();
    let expected =
        ["b__resources/read", "b__resources/subscribe", "b__prompts/get", "b__completion/complete"];
    assert_eq!(names, expected);
    assert_eq!(calls[0].1, r#"{"uri":"one://one"}"#);
    assert_eq!(calls[2].1, r#"{"name":"p","arguments":{"x":"1"}}"#);
    assert!(calls.iter().all(|call| call.2.is_none()), "{calls:?}");
}

// GW-6, EX-3: a server that does not answer holds nobody longer than the deadline.
#[tokio::test]
async fn a_read_ends_at_the_deadline() {
    let one = Upstream::start("one", false).await;
    let timeout = Some(HumanDuration(Duration::from_millis(50)));
    let config = ServerConfig { timeout, ..at(&one.url, Protocol::Auto) };
    let (test, _servers) = configured([("b", config)], Config::default()).await;
    let answer = test.alone("resources/read", json!({"uri": "one://t/hang"})).await.last();
    let text = "Tool 'b__resources/read' timed out after 0.05s";
    let expected = json!({"code": -32603, "message": text, "data": {"error_kind": "timeout"}});
    assert_eq!(answer["error"], expected);
    assert_eq!(recorded(&test).await[0].2, Some(ErrorKind::Timeout));
}

// GW-6, EX-4: who cancels a read cancels the call.
#[tokio::test]
async fn a_read_can_be_cancelled() {
    let one = Upstream::start("one", false).await;
    let (test, _servers) = in_front_of([("b", &one)]).await;
    let session = test.session().await;
    let cancel = async {
        while one.count("resources/read") == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let params = json!({"requestId": 1});
        let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        test.post(&in_session(&session), note.to_string()).await
    };
    let read = test.ask(&session, "resources/read", json!({"uri": "one://t/hang"}));
    let (answer, _) = tokio::join!(read, cancel);
    assert_eq!((answer.status.as_u16(), answer.text.as_str()), (202, ""));
    assert_eq!(recorded(&test).await[0].2, Some(ErrorKind::Cancelled));
}

// GW-6, RS-5, RS-6: a long text is cut and kept whole; binaries pass.
#[tokio::test]
async fn a_long_text_is_cut_and_kept() {
    let one = Upstream::start("one", true).await;
    let (test, _servers) = in_front_of([("b", &one)]).await;
    let result = test.alone("resources/read", json!({"uri": "one://t/long"})).await.last();
    let contents = &result["result"]["contents"];
    let text = contents[0]["text"].as_str().unwrap();
    assert!(text.chars().count() <= 50_300, "{}", text.len());
    assert_eq!(
        (&contents[0]["uri"], &contents[0]["mimeType"]),
        (&json!("one://t/long"), &json!("text/plain"))
    );
    assert_eq!(contents[1], json!({"uri": "a://blob", "blob": "A".repeat(80_000)}));
    let (_, rest) = text.split_once("read_result {\"id\":\"").unwrap();
    let id = rest.split('"').next().unwrap();
    let kept = test.executor.artifacts().get(id).await.unwrap().unwrap();
    assert!(str::from_utf8(&kept.bytes).unwrap().contains(&"x".repeat(60_000)));
}

// GW-6: what a token sees of a server's resources and prompts is decided by the names of these calls.
#[tokio::test]
async fn a_token_for_a_tool_reads_none_of_the_servers_resources() {
    let one = Upstream::start("one", false).await;
    let (test, _servers) = in_front_of([("b", &one)]).await;
    let ask = async |caller: &McpCaller, method: &str, params: Value| {
        TestResponse::of(test.begin_alone(method, params, caller).await).await.last()
    };
    let lists = [
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ];
    let narrow = sees("b__t");
    for (method, key) in lists {
        assert_eq!(ask(&narrow, method, json!({})).await["result"][key], json!([]), "{method}");
    }
    for uri in ["one://one", "one://t/1", "file:///etc/shadow"] {
        let error = ask(&narrow, "resources/read", json!({"uri": uri})).await["error"].clone();
        assert_eq!(error["message"], format!("Resource '{uri}' not found"));
    }
    let params = json!({"name": "b__resources/read", "arguments": {"uri": "one://one"}});
    let error = ask(&narrow, "tools/call", params).await["error"]["message"].clone();
    assert_eq!(error, "Tool 'b__resources/read' not found");
    let session = test.open("2025-11-25", json!({}), &narrow).await;
    for (method, params) in requests() {
        let headers = in_session(&session);
        let body = request(1, method, params);
        let answer = test.send(http::Method::POST, &headers, body, &narrow).await;
        assert!(TestResponse::of(answer).await.last()["error"]["message"].is_string(), "{method}");
        assert_eq!(one.count(method), 0, "{method}");
    }

    let reader = sees("b__resources/read");
    let read = ask(&reader, "resources/read", json!({"uri": "one://one"})).await;
    assert_eq!(read["result"]["contents"][0]["text"], "one");
    assert_eq!(ask(&reader, "prompts/list", json!({})).await["result"]["prompts"], json!([]));
    let tools = ask(&reader, "tools/list", json!({})).await;
    assert_eq!(tools["result"]["tools"], json!([]), "they are called, and never listed");
    let prompter = sees("b__prompts/get");
    assert_eq!(
        ask(&prompter, "prompts/list", json!({})).await["result"]["prompts"][0]["name"],
        "b__p"
    );
    let (_, complete) = requests()[3].clone();
    assert_eq!(
        ask(&prompter, "completion/complete", complete.clone()).await["error"]["code"],
        -32601
    );
    let both = |name: &str| name.starts_with("b__prompts") || name.starts_with("b__comp");
    let both = McpCaller { visibility: Visibility::of_tools(both), ..McpCaller::default() };
    let completed = ask(&both, "completion/complete", complete).await;
    assert_eq!(completed["result"]["completion"]["values"], json!(["one"]));
}

// GW-6: they can be called by their names, too, and are in no list.
#[tokio::test]
async fn methods_can_be_called_by_their_full_names() {
    let one = Upstream::start("one", false).await;
    let (test, _servers) = in_front_of([("b", &one)]).await;
    let call = async |name: &str, arguments: Value| {
        test.alone("tools/call", json!({"name": name, "arguments": arguments})).await.last()
    };
    let read = call("b__resources/read", json!({"uri": "one://one"})).await;
    assert_eq!(read["result"]["content"][0]["text"], "one");
    let wrong = call("b__resources/read", json!({"uri": 1})).await;
    assert_eq!(wrong["result"]["isError"], true, "{wrong}");
    assert_eq!(one.count("resources/read"), 1);
    assert_eq!(call("resources/read", json!({"uri": "x"})).await["error"]["code"], -32602);
    let tools = test.alone("tools/list", json!({})).await.text;
    assert!(!tools.contains("resources/read"), "{tools}");
}

// GW-3, GW-6: a server may ask back in the middle of a read as in the middle of a call.
#[tokio::test]
async fn a_server_asks_back_in_the_middle_of_a_read() {
    let two = Upstream::start("two", true).await;
    let (test, _servers) = in_front_of([("a", &two)]).await;
    let capable = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
    let mut params = json!({"uri": "two://t/ask", "_meta": capable});
    let asked = test.alone("resources/read", params.clone()).await.last()["result"].clone();
    assert_eq!(asked["inputRequests"]["who"]["params"], json!({"message": "Who?"}));
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = json!({"who": {"action": "accept"}});
    let read = test.alone("resources/read", params).await.last()["result"].clone();
    assert_eq!(read["contents"][0]["text"], "two");
    assert_eq!(recorded(&test).await.len(), 1);
}

// GW-6: to read one of many resources, nobody lists them all again.
#[tokio::test]
async fn reading_one_of_many_resources_lists_them_once() {
    let one = Upstream::silent("one", 10_000).await;
    let (test, _servers) = in_front_of([("b", &one)]).await;
    for number in [0, 5_000, 9_999] {
        let params = json!({"uri": format!("one://{number}")});
        let read = test.alone("resources/read", params).await.last();
        assert_eq!(read["result"]["contents"][0]["text"], "one");
    }
    assert_eq!((one.count("resources/list"), one.count("resources/templates/list")), (1, 0));
    // Who asks for the list gets it as it is now.
    let listed = test.alone("resources/list", json!({})).await.last();
    assert_eq!(listed["result"]["resources"].as_array().unwrap().len(), 1000);
    assert_eq!(one.count("resources/list"), 2);
}
