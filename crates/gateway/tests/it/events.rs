//! Calls as they happen.

use serde_json::{Value, json};

use crate::{House, answer};

/// Reads events until there are so many.
pub(crate) async fn events(mut response: reqwest::Response, count: usize) -> Vec<Value> {
    let mut text = String::new();
    loop {
        let events: Vec<_> = text
            .split("\n\n")
            .filter_map(|event| event.strip_prefix("data: "))
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
    let house = House::start().await;
    let all = house.get("/api/events").send().await.unwrap();
    let token = house.token("narrow", &["fails"]);
    let narrow = house.get("/api/events").bearer_auth(token).send().await.unwrap();
    let (_, envelope) = answer(house.call("echo", &json!({"api_key": "hush"}))).await;
    answer(house.call("fails", &json!({}))).await;

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
