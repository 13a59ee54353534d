//! Tools that ask back: by requests in the old era, by the answer in the new one.

use std::time::Duration;

use http::{Method, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use switchboard_mcp_server::{Config, McpCaller};
use switchboard_runtime::toolcall::HumanDuration;

use crate::test_server::{TestResponse, TestServer, events, in_session, request, sees};

const CAPABLE: &str = "io.modelcontextprotocol/clientCapabilities";

/// A call of `ask` by a client that can be asked, with what it brings along.
fn asking(keys: &[&str], extra: Value) -> Value {
    let meta = json!({CAPABLE: {"elicitation": {}}});
    let mut params = json!({"name": "ask", "arguments": {"keys": keys}, "_meta": meta});
    for (key, value) in extra.as_object().into_iter().flatten() {
        params[key] = value.clone();
    }
    params
}

// GW-3: a modern client is asked in the answer, and comes back with what it was asked.
#[tokio::test]
async fn an_answer_that_asks() {
    let test = TestServer::new();
    let ask = async |extra: Value| {
        test.alone("tools/call", asking(&["name", "color"], extra)).await.last()
    };
    let first = ask(json!({})).await["result"].clone();
    assert_eq!(first["resultType"], "input_required");
    assert_eq!(first["inputRequests"]["name"]["method"], "elicitation/create");
    assert_eq!(first["inputRequests"]["color"]["params"], json!({"message": "color"}));
    // Half an answer is asked again, since a handle is valid once.
    let half = json!({"requestState": first["requestState"], "inputResponses": {"name": {"a": 1}, "x": 1}});
    let second = ask(half.clone()).await["result"].clone();
    assert_eq!(second["resultType"], "input_required");
    assert_eq!(ask(half).await["error"]["code"], -32602);
    let whole = json!({"requestState": second["requestState"], "inputResponses": {"name": {"a": 1}, "color": {"b": 2}}});
    let done = ask(whole).await["result"].clone();
    assert_eq!(done["structuredContent"], json!({"name": {"a": 1}, "color": {"b": 2}}));
    assert_eq!(done["resultType"], "complete");
    // Answers that come with the question need no second round.
    let told = json!({"inputResponses": {"name": {"a": 1}, "color": {"b": 2}, "extra": 3}});
    assert_eq!(ask(told).await["result"]["resultType"], "complete");
}

// GW-3
#[tokio::test]
async fn a_handle_is_good_for_its_own_call_only() {
    let test = TestServer::new();
    let caller = sees("ask");
    let begin = async |params: Value, caller: &McpCaller| {
        let response = test.begin_alone("tools/call", params, caller).await;
        crate::test_server::TestResponse::of(response).await.last()
    };
    let state = begin(asking(&["a"], json!({})), &caller).await["result"]["requestState"].clone();
    let answered = json!({"requestState": state, "inputResponses": {"a": {}}});
    // Another caller, another tool, an invalid handle.
    let other = begin(asking(&["a"], answered.clone()), &sees("a")).await;
    assert_eq!(other["error"]["code"], -32602);
    let mut params = asking(&["a"], answered.clone());
    params["name"] = json!("say");
    assert_eq!(begin(params, &caller).await["error"]["code"], -32602);
    let forged = json!({"requestState": format!("{}x", state.as_str().unwrap())});
    assert_eq!(begin(asking(&["a"], forged), &caller).await["error"]["code"], -32602);
    assert_eq!(begin(asking(&["a"], answered), &caller).await["result"]["resultType"], "complete");
}

// GW-3: what the client cannot do is not asked of it.
#[tokio::test]
async fn who_cannot_be_asked_is_not() {
    let test = TestServer::new();
    let mut params = asking(&["a"], json!({}));
    params["_meta"] = json!({});
    let refused = test.alone("tools/call", params).await.last()["result"].clone();
    assert_eq!(refused["isError"], true);
    let text = "the client that made the call does not take 'elicitation/create'";
    assert_eq!(refused["content"][0]["text"], text);
}

// GW-3: calls whose clients do not come back are let go.
#[tokio::test(start_paused = true)]
async fn nobody_is_waited_for_for_ever() {
    let hold = HumanDuration(Duration::from_secs(10));
    let test = TestServer::with(Config { hold, max_held: 1, ..Config::default() });
    let ask = async |extra: Value| test.alone("tools/call", asking(&["a"], extra)).await.last();
    let first = ask(json!({})).await["result"]["requestState"].clone();
    assert_eq!(ask(json!({})).await["error"]["code"], -32603);
    tokio::time::sleep(Duration::from_secs(20)).await;
    let late = json!({"requestState": first, "inputResponses": {"a": {}}});
    assert_eq!(ask(late).await["error"]["code"], -32602);
    assert_eq!(ask(json!({})).await["result"]["resultType"], "input_required");
}

// GW-5: who leaves many calls waiting keeps nobody else from asking.
#[tokio::test]
async fn one_caller_does_not_hold_all_places_for_calls_that_wait() {
    let test = TestServer::with(Config { max_held: 4, ..Config::default() });
    let ask = async |name: &str| {
        let params = asking(&["a"], json!({}));
        let answer = test.begin_alone("tools/call", params, &McpCaller::named(name)).await;
        TestResponse::of(answer).await.last()
    };
    for _ in 0..2 {
        assert_eq!(ask("greedy").await["result"]["resultType"], "input_required");
    }
    let text = "too many of your calls wait for input; answer those first";
    assert_eq!(ask("greedy").await["error"]["message"], text);
    assert_eq!(ask("other").await["result"]["resultType"], "input_required");
}

// GW-3: a client of the old era is asked on the stream of its call, and hears the log.
#[tokio::test]
async fn a_session_is_asked_on_the_stream_of_its_call() {
    let test = TestServer::new();
    let caller = McpCaller::default();
    let session = test.open("2025-06-18", json!({"elicitation": {}}), &caller).await;
    let headers = in_session(&session);
    let call = request(4, "tools/call", json!({"name": "ask", "arguments": {"keys": ["a", "b"]}}));
    let response = test.send(Method::POST, &headers, call, &caller).await;
    let mut body = response.into_body();
    let mut heard = Vec::new();
    for action in ["accept", "decline"] {
        let asked = loop {
            let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
            heard.extend(events(str::from_utf8(&frame).unwrap()));
            let question = heard.iter().rposition(|(_, message)| message["id"].is_number());
            if let Some(at) = question {
                break heard.remove(at).1;
            }
        };
        assert_eq!(asked["method"], "elicitation/create");
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": action}});
        assert_eq!(test.post(&headers, answer.to_string()).await.status, StatusCode::ACCEPTED);
    }
    assert_eq!(heard[0].1["params"], json!({"level": "info", "data": "about to ask"}));
    let rest = body.collect().await.unwrap().to_bytes();
    let rest = events(str::from_utf8(&rest).unwrap());
    let result = &rest.last().unwrap().1["result"];
    assert_eq!(
        result["structuredContent"],
        json!({"a": {"action": "accept"}, "b": {"action": "decline"}})
    );
}

// EX-3: the time that people take to answer is not the tool's.
#[tokio::test(start_paused = true)]
async fn people_may_take_their_time() {
    let hold = HumanDuration(Duration::from_secs(600));
    let test = TestServer::with(Config { hold, ..Config::default() });
    // In the new era the call waits meanwhile.
    let ask = async |extra: Value| test.alone("tools/call", asking(&["a"], extra)).await.last();
    let asked = ask(json!({})).await["result"]["requestState"].clone();
    tokio::time::sleep(Duration::from_secs(300)).await;
    let answered = json!({"requestState": asked, "inputResponses": {"a": {"b": 1}}});
    assert_eq!(ask(answered).await["result"]["structuredContent"], json!({"a": {"b": 1}}));
    // In the old one it waits for an answer, and not for ever.
    let session = test.open("2025-11-25", json!({"elicitation": {}}), &McpCaller::default()).await;
    let call = json!({"name": "ask", "arguments": {"keys": ["a"]}});
    let answer = test.ask(&session, "tools/call", call).await;
    assert_eq!(answer.last()["result"]["content"][0]["text"], "the client gave no answer");
}
