//! Turns of models between the calls.

use serde_json::{Value, json};

use crate::{TestGateway, answer, events::events};

impl TestGateway {
    async fn chat_as(&self, token: Option<&str>, user: &str) {
        let messages = json!([{"role": "user", "content": "call echo {}"}]);
        let body = json!({"model": "parrot", "user": user, "messages": messages});
        let request = self.client.post(self.url("/v1/chat/completions")).json(&body);
        let (status, said) = answer(match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        })
        .await;
        assert_eq!(status, 200, "{said}");
    }

    async fn turns(&self, token: Option<&str>, query: &str) -> Vec<Value> {
        let request = self.get(&format!("/api/turns{query}"));
        let (status, turns) = answer(match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        })
        .await;
        assert_eq!(status, 200, "{turns}");
        turns.as_array().unwrap().clone()
    }
}

// GW-1, ML-7
#[tokio::test]
async fn turns_are_told_and_listed_with_their_tokens() {
    let gateway = TestGateway::start().await;
    let watching = gateway.get("/api/events").send().await.unwrap();
    gateway.chat_as(None, "morning").await;
    let told = events(watching, 4).await;
    let kinds: Vec<_> = told.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["turn_ended", "call_started", "call_ended", "turn_ended"]);
    let turns = gateway.turns(None, "?conversation=morning").await;
    assert_eq!(turns.len(), 2);
    assert_eq!(turns[0]["id"], told[0]["id"]);
    assert_eq!(turns[0]["conversation"], told[1]["conversation"]);
    assert!(turns[0]["input_tokens"].is_u64() && turns[0]["duration_ms"].is_number());
    assert_eq!(gateway.turns(None, "?conversation=evening").await.len(), 0);
    let (status, _) = answer(gateway.get("/api/turns?conversatoin=x")).await;
    assert_eq!(status, 400);
}

// GW-2
#[tokio::test]
async fn turns_of_others_are_for_those_who_watch_everything() {
    let gateway = TestGateway::start().await;
    let (own, other) = (gateway.token("own", &["*"]), gateway.token("other", &["*"]));
    gateway.chat_as(Some(&own), "mine").await;
    assert_eq!(gateway.turns(Some(&own), "").await.len(), 2);
    assert_eq!(gateway.turns(Some(&other), "").await.len(), 0);
    let narrow = gateway.watcher("narrow", &["fails"]);
    assert_eq!(gateway.turns(Some(&narrow), "").await.len(), 0);
    assert_eq!(gateway.turns(None, "").await.len(), 2, "the user of the machine sees all");
}
