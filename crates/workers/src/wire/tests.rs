//! What is said comes through as it was said.

use serde_json::json;
use switchboard_toolcall::{ErrorKind, Part, ToolError, ToolOutput};

use super::*;

fn there_and_back(reply: &WorkerReply) -> WorkerReply {
    read("a reply", &write(reply).unwrap()).unwrap()
}

// RS-3
#[test]
fn answers_keep_digits_parts_and_fields() {
    let number: Value =
        serde_json::from_str("[1.0, 123456789012345678901234567890, 1e400]").unwrap();
    let content = switchboard_toolcall::Content {
        parts: vec![Part::text("hello"), Part::binary("image", "image/png", "AAAA")],
        fields: Map::from_iter([("structuredContent".to_owned(), number.clone())]),
    };
    for output in [ToolOutput::Value(number), ToolOutput::Content(content)] {
        let reply = WorkerReply::Result(WireOutcome::Answer(output.clone().into()));
        let WorkerReply::Result(outcome) = there_and_back(&reply) else { panic!("{reply:?}") };
        assert_eq!(outcome.into_result().unwrap(), output);
    }
}

// RS-2, RS-4
#[test]
fn failures_keep_kind_hint_and_what_the_tool_said() {
    for kind in ErrorKind::ALL {
        let error = ToolError::new(*kind, "no").with_hint("do");
        let reply = WorkerReply::Result(WireOutcome::Failure((&error).into()));
        let WorkerReply::Result(outcome) = there_and_back(&reply) else { panic!("{reply:?}") };
        let error = outcome.into_result().unwrap_err();
        assert_eq!(
            (error.kind, &*error.for_model, error.hint.as_deref()),
            (*kind, "no", Some("do"))
        );
    }
    let answered = ToolError::answered(ToolOutput::Value(json!("it broke")));
    let outcome = WireOutcome::Failure((&answered).into()).into_result();
    assert_eq!(outcome.unwrap_err().output, answered.output);
}

#[test]
fn what_is_something_else_is_named() {
    let error = read::<WorkerReply>("a worker's reply", b"{}").unwrap_err();
    assert_eq!(error.to_string(), "a worker's reply cannot be parsed");
}

// EX-3
#[tokio::test(start_paused = true)]
async fn a_request_carries_what_surrounds_the_call() {
    let cx = CallContext::for_caller("agent-7").with_client("inspector");
    let mut cx = cx.with_idempotency_key("k");
    cx.deadline = Some(tokio::time::Instant::now() + Duration::from_secs(5));
    cx.claims = Some(Arc::new(json!({"team": "a"})));
    cx.trace = TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", None)
        .map(Arc::new);
    let request = WorkerRequest::new(CallId::generate(), "resize", Map::new(), &cx);
    let request: WorkerRequest = read("a request", &write(&request).unwrap()).unwrap();
    let there = request.context();
    assert_eq!(there.timeout, Some(Duration::from_secs(5)));
    // GW-5, GW-8
    assert_eq!(there.client, cx.client);
    assert!(there.knows_caller(Some("agent-7")) && !there.knows_caller(Some("other")));
    assert_eq!((there.caller, there.idempotency_key), (cx.caller, cx.idempotency_key));
    assert_eq!((there.claims, there.trace), (cx.claims, cx.trace));
}
