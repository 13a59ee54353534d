//! Calls as they happen.

use serde_json::{Value, json};

use crate::{TestGateway, answer};

/// Reads events until there are so many.
pub(crate) async fn events(mut response: reqwest::Response, count: usize) -> Vec<Value> {
    let mut text = String::new();
    loop {
        let events: Vec<_> = text
            .split("\n\n")
            .filter_map(|event| event.lines().find_map(|line| line.strip_prefix("data: ")))
            .filter_map(|data| serde_json::from_str(data).ok())
            .collect();
        if events.len() >= count {
            return events;
        }
        let chunk = response.chunk().await.unwrap().expect("the stream goes on");
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
}

// GW-1
#[tokio::test]
async fn beginnings_and_ends_are_told() {
    let gateway = TestGateway::start().await;
    let all = gateway.get("/api/events").send().await.unwrap();
    let token = gateway.watcher("narrow", &["fails"]);
    let narrow = gateway.get("/api/events").bearer_auth(token).send().await.unwrap();
    let (_, envelope) = answer(gateway.call("echo", &json!({"api_key": "hush"}))).await;
    answer(gateway.call("fails", &json!({}))).await;

    let all = events(all, 4).await;
    let shown: Vec<_> = all.iter().map(|event| (&event["type"], &event["tool"])).collect();
    let (begun, ended) = (&json!("call_started"), &json!("call_ended"));
    let (echo, fails) = (&json!("echo"), &json!("fails"));
    assert_eq!(shown, [(begun, echo), (ended, echo), (begun, fails), (ended, fails)]);
    assert_eq!(all[1]["id"], envelope["call_id"]);
    assert_eq!(all[3]["outcome"], "tool_error");
    assert!(all[1]["stages"]["run"].is_number());
    assert!(!json!(all).to_string().contains("hush"));

    let narrow = events(narrow, 2).await;
    assert!(narrow.iter().all(|event| event["tool"] == "fails"), "{narrow:?}");
}

/// The messages as they came, until there are so many.
async fn messages(mut response: reqwest::Response, count: usize) -> Vec<String> {
    let mut text = String::new();
    while text.matches("\n\n").count() < count {
        let chunk = response.chunk().await.unwrap().expect("the stream goes on");
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    text.split("\n\n").take(count).map(str::to_owned).collect()
}

fn id(message: &str) -> &str {
    message.lines().find_map(|line| line.strip_prefix("id: ")).expect("it has an id")
}

// GW-1
#[tokio::test]
async fn who_comes_back_misses_nothing() {
    let gateway = TestGateway::start().await;
    let first = gateway.get("/api/events").send().await.unwrap();
    answer(gateway.call("echo", &json!({"n": 1}))).await;
    let seen = messages(first, 2).await;
    answer(gateway.call("echo", &json!({"n": 2}))).await;
    answer(gateway.call("fails", &json!({}))).await;
    let again = gateway.get("/api/events").header("last-event-id", id(&seen[0]));
    let again = events(again.send().await.unwrap(), 5).await;
    let arguments: Vec<_> = again.iter().map(|event| &event["arguments"]).collect();
    let (one, two, none) = (&json!({"n": 1}), &json!({"n": 2}), &json!({}));
    assert_eq!(arguments, [one, two, two, none, none]);

    let token = gateway.watcher("narrow", &["fails"]);
    let narrow =
        gateway.get("/api/events").header("last-event-id", id(&seen[0])).bearer_auth(token);
    let narrow = events(narrow.send().await.unwrap(), 2).await;
    assert!(narrow.iter().all(|event| event["tool"] == "fails"), "{narrow:?}");

    let stranger = gateway.get("/api/events").header("last-event-id", "of-another-start-7");
    let told = messages(stranger.send().await.unwrap(), 1).await;
    assert!(told[0].contains("event: missed") && told[0].contains("\"missed\":null"), "{told:?}");
}

// GW-1
#[tokio::test]
async fn many_events_come_as_one_message() {
    let gateway = TestGateway::start().await;
    let batched = gateway.get("/api/events?batch=200ms").send().await.unwrap();
    let calls = (0..20).map(|n| answer(gateway.call("echo", &json!({"n": n}))));
    futures_util::future::join_all(calls).await;
    let mut response = batched;
    let (mut text, mut told) = (String::new(), Vec::new());
    while told.len() < 40 {
        let chunk = response.chunk().await.unwrap().expect("the stream goes on");
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        let whole = text.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
        let arrays = whole.split("\n\n").filter(|message| !message.is_empty()).map(|message| {
            assert!(message.starts_with("id: "), "{message}");
            let data = message.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
            serde_json::from_str::<Vec<Value>>(data).unwrap()
        });
        told = arrays.flatten().collect();
    }
    assert_eq!(told.len(), 40);
    assert!(text.matches("data: ").count() < 40, "{text}");
    for wrong in ["1ms", "1h", "often"] {
        let (status, body) = answer(gateway.get(&format!("/api/events?batch={wrong}"))).await;
        assert_eq!((status, &body["error_kind"]), (400, &json!("invalid_parameters")), "{body}");
    }
}

#[tokio::test]
async fn long_arguments_are_left_to_the_record() {
    let gateway = TestGateway::start().await;
    let all = gateway.get("/api/events").send().await.unwrap();
    answer(gateway.call("echo", &json!({"long": "x".repeat(5000)})).header("x-conversation", "c1"))
        .await;
    let told = events(all, 2).await;
    for event in told {
        assert_eq!((&event["arguments"], &event["arguments_cut"]), (&Value::Null, &json!(true)));
        assert_eq!(event["conversation"], "c1");
    }
}
