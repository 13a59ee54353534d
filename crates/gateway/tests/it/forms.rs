//! What a form needs: arguments judged without a call, and calls that tell how far they are.

use reqwest::RequestBuilder;
use serde_json::{Value, json};
use switchboard_testkit::{Fake, until};
use switchboard_toolcall::{ProgressUpdate, ToolOutput};

use crate::{TestGateway, answer, life::until_seen};

impl TestGateway {
    async fn judge(&self, tool: &str, args: &Value) -> (u16, Value) {
        let url = self.url(&format!("/api/tools/{tool}/validate"));
        answer(self.client.post(url).json(args)).await
    }

    fn watched_call(&self, tool: &str, args: &Value) -> RequestBuilder {
        self.call(tool, args).header("accept", "text/event-stream")
    }
}

// VA-2
#[tokio::test]
async fn arguments_are_judged_in_the_words_of_a_call() {
    let gateway = TestGateway::start().await;
    let schema = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "options": {"type": "object", "properties": {"unit": {"enum": ["C", "F"]}}, "required": ["days"]},
            "tags": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["city"],
    });
    gateway.executor.tools().add(Fake::echoes("forecast").parameters(schema)).unwrap();
    let problem = |path: &str, message: &str| json!({"path": path, "message": message});
    for (args, problems) in [
        (json!({"city": "Rome"}), vec![]),
        (json!({}), vec![problem("/city", "missing 'city'")]),
        (json!({"city": 1}), vec![problem("/city", "'city' must be string, got integer")]),
        (
            json!({"city": "x", "options": {"unit": "K"}, "tags": [1, "a"]}),
            vec![
                problem("/options/days", "missing 'options.days'"),
                problem("/options/unit", "'options.unit' must be one of: C, F"),
                problem("/tags/1", "'tags[1]' must be integer, got string"),
            ],
        ),
    ] {
        let (status, judged) = gateway.judge("forecast", &args).await;
        assert_eq!((status, &judged["problems"]), (200, &json!(problems)), "{args}");
        assert_eq!(judged["valid"], problems.is_empty());
        let (_, called) = answer(gateway.call("forecast", &args)).await;
        let said = match called["success"].as_bool() {
            Some(true) => Value::Null,
            _ => json!(format!(
                "{}. {}",
                called["error"].as_str().unwrap(),
                called["hint"].as_str().unwrap()
            )),
        };
        assert_eq!(judged["text"], said, "{args}");
    }
    let calls = gateway.executor.history().recent(100).await.unwrap();
    assert_eq!(calls.len(), 4, "judging runs and records nothing");
}

#[tokio::test]
async fn what_cannot_be_judged_is_told() {
    let gateway = TestGateway::start().await;
    assert_eq!(gateway.judge("nobody", &json!({})).await.0, 404);
    assert_eq!(gateway.judge("echo", &json!([1])).await.0, 400);
    let token = gateway.token("narrow", &["echo"]);
    let hidden = gateway.client.post(gateway.url("/api/tools/weather/validate")).bearer_auth(token);
    assert_eq!(answer(hidden).await.0, 404);
}

/// The names and data of the events.
fn events(text: &str) -> Vec<(String, Value)> {
    let events = text.split("\n\n").filter(|event| !event.is_empty());
    let field = |event: &str, name: &str| {
        event.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim().to_owned()
    };
    events
        .map(|event| {
            (field(event, "event:"), serde_json::from_str(&field(event, "data:")).unwrap())
        })
        .collect()
}

// MC-1
#[tokio::test]
async fn a_call_tells_how_far_it_is_and_then_its_result() {
    let gateway = TestGateway::start().await;
    let steps = Fake::new("steps", |_, cx: switchboard_toolcall::CallContext| async move {
        for step in 1..=3_u8 {
            cx.progress.report(ProgressUpdate {
                progress: step.into(),
                total: Some(3.0),
                message: Some(format!("step {step}")),
            });
        }
        Ok(ToolOutput::Value(json!({"done": true})))
    });
    gateway.executor.tools().add(steps).unwrap();
    let response = gateway.watched_call("steps", &json!({})).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let events = events(&response.text().await.unwrap());
    let names: Vec<_> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["started", "progress", "progress", "progress", "result"]);
    assert_eq!(events[0].1["tool"], "steps");
    assert_eq!(events[2].1, json!({"progress": 2.0, "total": 3.0, "message": "step 2"}));
    let envelope = &events[4].1;
    assert_eq!((&envelope["success"], &envelope["result"]), (&json!(true), &json!({"done": true})));
    assert!(envelope["call_id"].is_string());
}

#[tokio::test]
async fn a_failure_comes_as_a_result_too() {
    let gateway = TestGateway::start().await;
    let token = gateway.token("narrow", &["echo"]);
    for (tool, kind) in
        [("weather", "invalid_parameters"), ("nobody", "not_found"), ("fails", "tool_error")]
    {
        let response = gateway.watched_call(tool, &json!({})).send().await.unwrap();
        let events = events(&response.text().await.unwrap());
        assert_eq!(events.last().unwrap().1["error_kind"], kind);
    }
    let hidden = gateway.watched_call("weather", &json!({"city": "x"})).bearer_auth(token);
    let events = events(&hidden.send().await.unwrap().text().await.unwrap());
    assert_eq!(events.last().unwrap().1["error_kind"], "not_found");
    let both =
        gateway.call("echo", &json!({})).header("accept", "application/json, text/event-stream");
    assert_eq!(answer(both).await.1["success"], true, "who takes JSON gets it");
}

// EX-4
#[tokio::test]
async fn closing_the_stream_cancels_the_call() {
    let gateway = TestGateway::start().await;
    let mut response = gateway.watched_call("wait", &json!({"secs": 60})).send().await.unwrap();
    assert!(response.chunk().await.unwrap().is_some());
    until_seen(&gateway, "begun").await;
    drop(response);
    until_seen(&gateway, "dropped and told").await;
    let outcome = async || answer(gateway.get("/api/calls")).await.1[0]["outcome"].clone();
    until(async || outcome().await != "running").await;
    assert_eq!(outcome().await, "cancelled");
}
