//! What was called, from the store and from memory alike (SPEC RC-2).

use serde_json::{Value, json};
use switchboard_testkit::Fake;
use switchboard_toolcall::{Content, ToolOutput};

use crate::{TestGateway, answer};

/// The tools of the calls that a question finds.
async fn tools(gateway: &TestGateway, question: &str) -> Vec<String> {
    let (status, calls) = answer(gateway.get(&format!("/api/calls{question}"))).await;
    assert_eq!(status, 200, "{question}: {calls}");
    let tools = calls.as_array().unwrap().iter().map(|call| call["tool"].as_str().unwrap());
    tools.map(str::to_owned).collect()
}

async fn with_calls(gateway: TestGateway) -> TestGateway {
    answer(gateway.call("echo", &json!({"password": "secret"}))).await;
    answer(gateway.call("wait", &json!({"secs": 0}))).await;
    answer(gateway.call("fails", &json!({}))).await;
    answer(gateway.call("weather", &json!({"city": "Rome"}))).await;
    gateway
}

// RC-2
#[tokio::test]
async fn every_filter_works_with_and_without_a_store() {
    for gateway in [TestGateway::start().await, TestGateway::recording().await] {
        let gateway = with_calls(gateway).await;
        for (question, expected) in [
            ("", &["weather", "fails", "wait", "echo"][..]),
            ("?limit=1", &["weather"]),
            ("?tool=w*", &["weather", "wait"]),
            ("?failed", &["fails"]),
            ("?failed=true&tool=w*", &[]),
            ("?failed=false&limit=2", &["weather", "fails"]),
            ("?unknown=1", &[]),
            ("?server=time", &[]),
            ("?caller=nobody", &[]),
            ("?conversation=nothing", &[]),
            ("?slow", &[]),
            ("?slow=1h", &[]),
            ("?since=1h&until=2099-01-01T00:00:00Z", &["weather", "fails", "wait", "echo"]),
            ("?until=1h", &[]),
        ] {
            assert_eq!(tools(&gateway, question).await, expected, "{question}");
        }
        assert_eq!(tools(&gateway, "?slow=0ms").await.len(), 4);
        let (_, calls) = answer(gateway.get("/api/calls?limit=2")).await;
        let after = calls[1]["id"].as_str().unwrap();
        assert_eq!(tools(&gateway, &format!("?after={after}")).await, ["wait", "echo"]);
    }
}

#[tokio::test]
async fn one_call_is_shown_to_those_who_may_see_its_tool() {
    for (gateway, has_result) in
        [(TestGateway::start().await, false), (TestGateway::recording().await, true)]
    {
        let (_, envelope) = answer(gateway.call("weather", &json!({"city": "Rome"}))).await;
        let path = format!("/api/calls/{}", envelope["call_id"].as_str().unwrap());
        let (status, call) = answer(gateway.get(&path)).await;
        assert_eq!((status, &call["tool"]), (200, &json!("weather")), "{call}");
        assert_eq!(call["arguments"], json!({"city": "Rome"}));
        let result = if has_result { json!({"temp": 21}) } else { Value::Null };
        assert_eq!(call["result"], result);
        let token = gateway.token("agent-7", &["ech*"]);
        let (status, refusal) = answer(gateway.get(&path).bearer_auth(&token)).await;
        assert_eq!((status, &refusal["error_kind"]), (404, &json!("not_found")));
        let (_, calls) = answer(gateway.get("/api/calls").bearer_auth(&token)).await;
        assert_eq!(calls, json!([]));
        let watcher = gateway.watcher("watcher", &["weather"]);
        assert_eq!(answer(gateway.get(&path).bearer_auth(&watcher)).await.0, 200);
        let blind = gateway.watcher("blind", &["echo"]);
        assert_eq!(answer(gateway.get(&path).bearer_auth(&blind)).await.0, 404);
        for nobody in ["01J00000000000000000000000", "nonsense"] {
            let (status, body) = answer(gateway.get(&format!("/api/calls/{nobody}"))).await;
            assert_eq!(
                (status, &body["error"]),
                (404, &json!(format!("Call '{nobody}' not found")))
            );
        }
    }
}

#[tokio::test]
async fn a_question_that_makes_no_sense_is_told_why() {
    let gateway = TestGateway::recording().await;
    for (question, says) in [
        ("?since=yesterday", "`yesterday` is not a time"),
        ("?slow=long", "`long` is not a duration"),
        ("?failed=maybe", "`maybe` is neither true nor false"),
        ("?limit=-1", "invalid digit"),
        ("?after=me", "after"),
        ("?tol=x", "tol"),
    ] {
        let (status, body) = answer(gateway.get(&format!("/api/calls{question}"))).await;
        assert_eq!((status, &body["error_kind"]), (400, &json!("invalid_parameters")), "{body}");
        assert!(body["error"].as_str().unwrap().contains(says), "{question}: {body}");
    }
    for gateway in [gateway, TestGateway::start().await] {
        answer(gateway.call("echo", &json!({}))).await;
        let (status, body) = answer(gateway.get("/api/calls?tool=a%5B")).await;
        assert_eq!((status, &body["error"]), (400, &json!("`a[` is not a glob")), "{body}");
    }
}

#[tokio::test]
async fn the_calls_of_a_conversation_are_found() {
    for gateway in [TestGateway::start().await, TestGateway::recording().await] {
        for (tool, conversation) in [("echo", "one"), ("fails", "two"), ("echo", "two")] {
            let call = gateway.call(tool, &json!({})).header("x-conversation", conversation);
            answer(call).await;
        }
        assert_eq!(tools(&gateway, "?conversation=two").await, ["echo", "fails"]);
        assert_eq!(tools(&gateway, "?conversation=one&failed").await, [""; 0]);
        let wrong = gateway.call("echo", &json!({})).header("x-conversation", "");
        assert_eq!(answer(wrong).await.0, 400);
    }
}

// RC-1
#[tokio::test]
async fn a_call_says_where_in_the_hash_chain_it_is() {
    let gateway = TestGateway::recording().await;
    let (_, first) = answer(gateway.call("echo", &json!({"n": 1}))).await;
    let (_, second) = answer(gateway.call("fails", &json!({}))).await;
    let show = async |envelope: &Value| {
        answer(gateway.get(&format!("/api/calls/{}", envelope["call_id"].as_str().unwrap())))
            .await
            .1
    };
    let (first, second) = (show(&first).await, show(&second).await);
    let [begun, ended] = &first["journal"].as_array().unwrap()[..] else { panic!("{first}") };
    assert_eq!(ended["previous"], begun["hash"]);
    assert_eq!(second["journal"][0]["previous"], ended["hash"]);
    let line = |place: &Value| place["line"].as_u64().unwrap();
    assert_eq!(line(ended), line(begun) + 1);
    assert_eq!(line(&second["journal"][1]), line(ended) + 2);
    assert!(line(begun) >= 2, "the segment begins with a line of its own");
    assert!(first["stages_ms"]["run"].is_number());
    assert_eq!((&second["error"], &second["outcome"]), (&json!("no luck"), &json!("tool_error")));
}

// RS-3: who passes a result on to a model asks for what a model reads; an object of ours is read as it is.
#[tokio::test]
async fn what_is_read_of_an_mcp_result_can_be_asked_for() {
    let gateway = TestGateway::recording().await;
    let result = json!({"content": [{"type": "text", "text": "21 °C\nsunny"}], "structuredContent": {"n": 21.0}});
    let content = Content::from_object(result.as_object().unwrap().clone()).unwrap();
    gateway.executor.tools().add(Fake::outputs("mcp", ToolOutput::Content(content))).unwrap();
    let call = |path: &str| answer(gateway.client.post(gateway.url(path)).json(&json!({})));
    let (_, plain) = call("/api/tools/mcp/call").await;
    assert_eq!((&plain["result"], plain.get("text")), (&result, None), "{plain}");
    let (_, with_text) = call("/api/tools/mcp/call?text=1").await;
    assert_eq!((&with_text["result"], &with_text["text"]), (&result, &json!("21 °C\nsunny")));
    let (_, own) = call("/api/tools/echo/call?text=1").await;
    assert_eq!(own.get("text"), None, "{own}");
    let (status, wrong) = call("/api/tools/mcp/call?text=2").await;
    assert_eq!((status, &wrong["error"]), (400, &json!("text is 2; it may be 0 or 1")));
    // The record has it, too.
    let id = plain["call_id"].as_str().unwrap();
    let (_, record) = answer(gateway.get(&format!("/api/calls/{id}"))).await;
    assert_eq!((&record["result"], &record["text"]), (&result, &json!("21 °C\nsunny")), "{record}");
    let (_, record) =
        answer(gateway.get(&format!("/api/calls/{}", own["call_id"].as_str().unwrap()))).await;
    assert_eq!(record.get("text"), None, "{record}");
}

// RC-2
#[tokio::test]
async fn lists_leave_long_arguments_out_unless_they_are_wanted() {
    for gateway in [TestGateway::start().await, TestGateway::recording().await] {
        let long = json!({"text": "word ".repeat(20_000)});
        let (_, envelope) = answer(gateway.call("echo", &long)).await;
        answer(gateway.call("echo", &json!({"text": "word"}))).await;
        let (_, calls) = answer(gateway.get("/api/calls")).await;
        assert_eq!(
            (&calls[1]["arguments"], &calls[1]["arguments_cut"]),
            (&Value::Null, &json!(true))
        );
        assert_eq!(calls[0]["arguments"], json!({"text": "word"}));
        assert_eq!(calls[0].get("arguments_cut"), None);
        let (_, calls) = answer(gateway.get("/api/calls?whole=true&text=word&tool=e*")).await;
        assert_eq!(calls[1]["arguments"], long);
        let path = format!("/api/calls/{}", envelope["call_id"].as_str().unwrap());
        assert_eq!(answer(gateway.get(&path)).await.1["arguments"], long);
    }
}
