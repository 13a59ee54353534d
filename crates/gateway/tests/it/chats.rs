//! Chats that are kept: gone on with, listed, removed; each caller's own.

use serde_json::{Value, json};

use crate::{TestGateway, answer, life::until_seen};

impl TestGateway {
    /// Says one thing in a chat.
    async fn say_in(&self, chat: &str, text: &str, token: Option<&str>) -> (u16, Value) {
        let messages = json!([{"role": "user", "content": text}]);
        let body = json!({"model": "parrot", "chat": chat, "messages": messages});
        let request = self.client.post(self.url("/v1/chat/completions")).json(&body);
        answer(match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        })
        .await
    }

    async fn chats(&self, token: Option<&str>) -> Vec<String> {
        let request = self.get("/api/chats");
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        let (status, body) = answer(request).await;
        assert_eq!((status, &body["kept"]), (200, &json!(true)), "{body}");
        let ids = body["chats"].as_array().unwrap().iter();
        ids.map(|chat| chat["id"].as_str().unwrap().to_owned()).collect()
    }
}

// GW-1, ML-8
#[tokio::test]
async fn a_chat_is_kept_and_gone_on_with() {
    let gateway = TestGateway::start().await;
    assert_eq!(gateway.chats(None).await, [""; 0]);
    let (status, body) = gateway.say_in("first-1", "call echo {\"a\":1.50}", None).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(gateway.say_in("first-1", "and now?", None).await.0, 200);
    // The model saw what it did before, although the client sent only what is new.
    let asked = gateway.parrot.asked().pop().unwrap();
    assert_eq!(asked.messages.len(), 5, "{:?}", asked.messages);
    let (status, chat) = answer(gateway.get("/api/chats/first-1")).await;
    assert_eq!((status, &chat["model"]), (200, &json!("parrot")));
    let messages = chat["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|said| said["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user", "assistant"]);
    assert_eq!(messages[1]["tool_calls"][0]["tool"], "echo");
    assert_eq!(messages[1]["tool_calls"][0]["arguments"].to_string(), r#"{"a":1.50}"#);
    assert_eq!(messages[2]["tool_call_id"], messages[1]["tool_calls"][0]["id"]);
    let (_, listed) = answer(gateway.get("/api/chats")).await;
    let first = &listed["chats"][0];
    assert_eq!((&first["turns"], &first["title"]), (&json!(2), &json!("call echo {\"a\":1.50}")));
    // The records name the conversation as the chat.
    let calls = gateway.executor.history().recent(1).await.unwrap();
    assert_eq!(calls[0].start.conversation.as_deref(), Some("first-1"));
    let removed = gateway.client.delete(gateway.url("/api/chats/first-1"));
    assert_eq!(answer(removed.try_clone().unwrap()).await.0, 204);
    assert_eq!(answer(removed).await.0, 404);
    assert_eq!(gateway.chats(None).await, [""; 0]);
}

// GW-1
#[tokio::test]
async fn a_chat_is_kept_if_the_client_goes() {
    let gateway = TestGateway::start().await;
    let messages = json!([{"role": "user", "content": "call wait {\"secs\":60}"}]);
    let body = json!({"model": "parrot", "chat": "gone", "messages": messages, "stream": true});
    let request = gateway.client.post(gateway.url("/v1/chat/completions")).json(&body);
    let response = request.send().await.unwrap();
    until_seen(&gateway, "begun").await;
    drop(response);
    let messages = loop {
        let (_, chat) = answer(gateway.get("/api/chats/gone")).await;
        let messages = chat["messages"].as_array().cloned().unwrap_or_default();
        // The question is kept at once, the call when the client has gone.
        if messages.len() > 1 {
            break messages;
        }
    };
    assert_eq!((messages.len(), &messages[2]["is_error"]), (3, &json!(true)));
}

// GW-1, GW-2
#[tokio::test]
async fn a_caller_has_its_own_chats() {
    let gateway = TestGateway::start().await;
    let (one, other) = (gateway.token("one", &["*"]), gateway.token("other", &["*"]));
    for (chat, token) in [("a", Some(&one)), ("b", Some(&other)), ("c", None)] {
        assert_eq!(gateway.say_in(chat, "say hi", token.map(String::as_str)).await.0, 200);
    }
    assert_eq!(gateway.chats(Some(&one)).await, ["a"]);
    assert_eq!(gateway.chats(Some(&other)).await, ["b"]);
    assert_eq!(gateway.chats(None).await, ["c"]);
    for path in ["/api/chats/a", "/api/chats/c"] {
        assert_eq!(answer(gateway.get(path).bearer_auth(&other)).await.0, 404, "{path}");
        let remove = gateway.client.delete(gateway.url(path)).bearer_auth(&other);
        assert_eq!(answer(remove).await.0, 404, "{path}");
    }
    // The same id is another chat for another caller.
    assert_eq!(gateway.say_in("a", "say hi", Some(&other)).await.0, 200);
    let (_, chat) = answer(gateway.get("/api/chats/a").bearer_auth(&other)).await;
    assert_eq!(chat["messages"].as_array().unwrap().len(), 2);
}

// GW-1
#[tokio::test]
async fn an_id_is_never_a_path() {
    let gateway = TestGateway::start().await;
    for id in ["", "../tokens", "a/b", "a.json", "callers/x", &"a".repeat(65)] {
        let (status, body) = gateway.say_in(id, "say hi", None).await;
        assert_eq!((status, &body["error"]["param"]), (400, &json!("chat")), "{id}");
    }
    for path in ["/api/chats/..%2Ftokens", "/api/chats/callers", "/api/chats/%2E%2E"] {
        assert_eq!(answer(gateway.get(path)).await.0, 404, "{path}");
        assert_eq!(answer(gateway.client.delete(gateway.url(path))).await.0, 404, "{path}");
    }
}
