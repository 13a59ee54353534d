//! Questions of servers in the middle of calls over REST.

use reqwest::RequestBuilder;
use serde_json::{Map, Value, json};
use switchboard_mcp_wire::questions;
use switchboard_testkit::{Fake, until, until_some};
use switchboard_toolcall::{ServerQuestions, ToolError, ToolOutput};
use tokio::task::JoinHandle;

use crate::{TestGateway, answer, events::events};

/// A gateway with the tool `asks`, whose server asks what its arguments say and answers what it was told.
async fn start_gateway() -> TestGateway {
    let gateway = TestGateway::start().await;
    let tool = Fake::new("asks", |args: Value, cx| async move {
        let Some(back) = cx.caller_channel.clone() else {
            return Ok(ToolOutput::Value(json!("nobody can be asked")));
        };
        let requests = Map::from_iter([("q".to_owned(), args)]);
        let questions = questions::read(&requests).map_err(ToolError::failed)?;
        let answers = back.ask(ServerQuestions::new("forms", questions)).await?;
        Ok(ToolOutput::Value(answers["q"].clone()))
    });
    gateway.executor.tools().add(tool).unwrap();
    gateway
}

fn elicits(schema: &Value) -> Value {
    let params = json!({"message": "Who are you?", "requestedSchema": schema});
    json!({"method": "elicitation/create", "params": params})
}

fn named() -> Value {
    let properties = json!({"name": {"type": "string"}, "age": {"type": "integer"}});
    elicits(&json!({"type": "object", "required": ["name"], "properties": properties}))
}

fn calls(gateway: &TestGateway, args: &Value, answers: &'static str) -> RequestBuilder {
    gateway.call("asks", args).header("x-switchboard-answers", answers)
}

/// Begins a call, and returns it with the question that it asks.
async fn asked(gateway: &TestGateway, call: RequestBuilder) -> (JoinHandle<(u16, Value)>, Value) {
    let call = tokio::spawn(answer(call));
    let question = until_some(async || {
        assert!(!call.is_finished(), "it ended without a question");
        answer(gateway.get("/api/questions")).await.1["questions"].get(0).cloned()
    });
    let question = question.await;
    (call, question)
}

async fn say(gateway: &TestGateway, question: &Value, body: &Value) -> (u16, Value) {
    let path = format!("/api/questions/{}", question["id"].as_str().unwrap());
    answer(gateway.client.post(gateway.url(&path)).json(body)).await
}

#[tokio::test]
async fn who_says_so_is_asked() {
    let gateway = start_gateway().await;
    let live = gateway.get("/api/events").send().await.unwrap();
    let (call, question) = asked(&gateway, calls(&gateway, &named(), "elicitation")).await;
    assert_eq!(
        (&question["server"], &question["method"]),
        (&json!("forms"), &json!("elicitation/create"))
    );
    assert_eq!(question["request"]["message"], "Who are you?");
    let accept = json!({"action": "accept", "content": {"name": "Ada"}});
    let (status, said) = say(&gateway, &question, &accept).await;
    assert_eq!((status, &said["action"]), (200, &json!("accept")), "{said}");
    let (_, envelope) = call.await.unwrap();
    assert_eq!(envelope["result"], accept, "{envelope}");
    assert!(envelope["waited_ms"].is_number(), "{envelope}");
    let told: Vec<_> =
        events(live, 4).await.iter().map(|event| event["type"].to_string()).collect();
    assert_eq!(told, ["\"call_started\"", "\"question\"", "\"question_closed\"", "\"call_ended\""]);
    // It is answered once.
    let (status, late) = say(&gateway, &question, &accept).await;
    assert_eq!(status, 404, "{late}");
}

#[tokio::test]
async fn declining_and_cancelling_are_answers() {
    let gateway = start_gateway().await;
    for action in ["decline", "cancel"] {
        let (call, question) = asked(&gateway, calls(&gateway, &named(), "elicitation")).await;
        let (status, _) = say(&gateway, &question, &json!({"action": action})).await;
        assert_eq!(status, 200);
        assert_eq!(call.await.unwrap().1["result"], json!({"action": action}));
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_leaves_the_question_open() {
    let gateway = start_gateway().await;
    let (call, question) =
        asked(&gateway, calls(&gateway, &named(), "elicitation, sampling")).await;
    let cases = [
        (
            json!({"action": "accept", "content": {"age": "old"}}),
            "'name' must be given; 'age' must be a whole number",
        ),
        (json!({"action": "accept"}), "'name' must be given"),
        (json!({"action": "maybe"}), "the body must be like"),
        (json!({"action": "accept", "more": 1}), "the body must be like"),
    ];
    for (body, problem) in cases {
        let (status, refused) = say(&gateway, &question, &body).await;
        assert_eq!(status, 400, "{refused}");
        assert!(
            refused["error"].as_str().is_some_and(|error| error.contains(problem)),
            "{refused}"
        );
    }
    assert_eq!(answer(gateway.get("/api/questions")).await.1["questions"][0]["id"], question["id"]);
    say(&gateway, &question, &json!({"action": "cancel"})).await;
    call.await.unwrap();
}

#[tokio::test]
async fn a_question_ends_with_its_call() {
    let gateway = start_gateway().await;
    let (call, question) = asked(&gateway, calls(&gateway, &named(), "elicitation")).await;
    call.abort();
    let open = async || answer(gateway.get("/api/questions")).await.1["questions"].clone();
    until(async || open().await == json!([])).await;
    assert_eq!(say(&gateway, &question, &json!({"action": "cancel"})).await.0, 404);
}

// GW-5
#[tokio::test]
async fn nobody_answers_for_another() {
    let gateway = start_gateway().await;
    let token = gateway.watcher("watcher", &["*"]);
    let (call, question) = asked(&gateway, calls(&gateway, &named(), "elicitation")).await;
    let (_, open) = answer(gateway.get("/api/questions").bearer_auth(&token)).await;
    assert_eq!(open, json!({"questions": []}));
    let path = format!("/api/questions/{}", question["id"].as_str().unwrap());
    let stolen = gateway.client.post(gateway.url(&path)).json(&json!({"action": "decline"}));
    let (status, refused) = answer(stolen.bearer_auth(&token)).await;
    assert_eq!(status, 404, "{refused}");
    say(&gateway, &question, &json!({"action": "decline"})).await;
    call.await.unwrap();
}

#[tokio::test]
async fn who_does_not_say_so_is_not_asked() {
    let gateway = start_gateway().await;
    let (_, envelope) = answer(gateway.call("asks", &named())).await;
    assert_eq!(envelope["result"], "nobody can be asked", "{envelope}");
    let (status, wrong) = answer(calls(&gateway, &named(), "roots")).await;
    assert_eq!(status, 400, "{wrong}");
    let sample = json!({"method": "sampling/createMessage", "params": {}});
    let roots = json!({"method": "roots/list", "params": {}});
    let huge = json!({"method": "elicitation/create", "params": {"message": "x".repeat(1 << 20)}});
    let fields: Map<_, _> =
        (0..1000).map(|n| (format!("f{n}"), json!({"type": "boolean"}))).collect();
    let many = elicits(&json!({"type": "object", "properties": fields}));
    let cases = [
        (
            &sample,
            "elicitation",
            "asked for a model's answer ('sampling/createMessage'), and this caller cannot be asked",
        ),
        (
            &roots,
            "elicitation, sampling",
            "asked for folders ('roots/list'), and this caller cannot be asked",
        ),
        (&huge, "elicitation", "that cannot be shown: it has 1048590 bytes"),
        (&many, "elicitation", "that cannot be shown: it has 1000 fields"),
    ];
    for (args, answers, problem) in cases {
        let (_, envelope) = answer(calls(&gateway, args, answers)).await;
        let error = envelope["error"].as_str().unwrap_or_default();
        assert!(error.contains(problem), "{problem}: {error}");
    }
}

#[tokio::test]
async fn a_model_is_asked_if_that_is_allowed() {
    let gateway = start_gateway().await;
    let message = json!({"role": "user", "content": {"type": "text", "text": "Say hello"}});
    let params = json!({"messages": [message], "maxTokens": 10});
    let args = json!({"method": "sampling/createMessage", "params": params});
    let (call, question) = asked(&gateway, calls(&gateway, &args, "sampling")).await;
    assert_eq!(question["model"], "parrot", "{question}");
    say(&gateway, &question, &json!({"action": "accept"})).await;
    let (_, envelope) = call.await.unwrap();
    assert_eq!(envelope["result"]["role"], "assistant", "{envelope}");
    assert_eq!(envelope["result"]["model"], "parrot", "{envelope}");
    let (call, question) = asked(&gateway, calls(&gateway, &args, "sampling")).await;
    say(&gateway, &question, &json!({"action": "decline"})).await;
    let (_, envelope) = call.await.unwrap();
    assert_eq!(envelope["error"], "the user does not allow that a model is asked", "{envelope}");
}
