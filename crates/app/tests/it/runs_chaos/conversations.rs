//! What providers say of a conversation.

use serde_json::{Value, json};
use switchboard_models::{Message, ModelConfig, Provider, Request, connect};
use switchboard_testkit::{ProviderServer, Reply, rules};
use switchboard_toolcall::ToolSpec;

/// Sends the conversation to a server of each provider's kind, and checks what arrives by that provider's rules.
pub(super) fn check(messages: &[Value]) {
    let mut messages: Vec<Message> = serde_json::from_value(json!(messages)).unwrap();
    messages.push(Message::User("Go on".into()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for &provider in Provider::ALL {
        let sent = runtime.block_on(sent(provider, &messages));
        assert_eq!(rules::broken(provider.code(), &sent), Vec::<String>::new(), "{sent:#}");
    }
}

async fn sent(provider: Provider, messages: &[Message]) -> Value {
    let server = ProviderServer::start([Reply::json(400, &json!({"error": "heard"}))]).await;
    let mut config = ModelConfig::new(provider, "test-model");
    config.base_url = Some(server.url());
    config.max_tokens = Some(100);
    config.images = Some(true);
    let model = connect(&config).unwrap();
    // The tools of the run are offered again, as when it goes on.
    let tools = ["charge", "refund", "post__notify"]
        .map(|name| ToolSpec::new(name, "A tool of the run", json!({"type": "object"})));
    let request = Request::new(messages).with_tools(&tools);
    // It is refused, as only what was sent matters.
    assert!(model.ask(&request, &|_| ()).await.is_err());
    server.captured().pop().unwrap().body
}
