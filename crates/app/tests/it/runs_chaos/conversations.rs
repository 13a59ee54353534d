//! What providers say of a conversation.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use switchboard_models::{Message, ModelConfig, Provider, Request, connect};
use switchboard_testkit::{ProviderServer, Reply, rules};
use switchboard_toolcall::ToolSpec;

/// Sends the conversation to a server of each provider's kind, and checks what arrives by that provider's rules.
pub(super) fn check(messages: &[Value]) {
    let mut messages: Vec<Message> = serde_json::from_value(json!(messages)).unwrap();
    messages.push(Message::User("Go on".into()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for provider in [Provider::Anthropic, Provider::OpenAi, Provider::Ollama] {
        let sent = runtime.block_on(sent(provider, &messages));
        assert_eq!(rules::broken(provider.code(), &sent), Vec::<String>::new(), "{sent:#}");
    }
}

/// The tools of the calls: providers refuse calls in a conversation that offers none.
fn called(messages: &[Message]) -> Vec<ToolSpec> {
    let answers = messages.iter().filter_map(|message| match message {
        Message::Ai(answer) => Some(&answer.tool_calls),
        _ => None,
    });
    let names: BTreeSet<_> = answers.flatten().map(|call| &call.name).collect();
    let schema = json!({"type": "object", "properties": {}});
    names.into_iter().map(|name| ToolSpec::new(name, "What it does", schema.clone())).collect()
}

async fn sent(provider: Provider, messages: &[Message]) -> Value {
    let server = ProviderServer::start([Reply::json(400, &json!({"error": "heard"}))]).await;
    let mut config = ModelConfig::new(provider, "test-model");
    let path = if provider == Provider::OpenAi { "/v1" } else { "" };
    config.base_url = Some(format!("{}{path}", server.url()));
    config.max_tokens = Some(100);
    config.images = Some(true);
    let model = connect(&config).unwrap();
    // It is refused, as only what was sent matters.
    let tools = called(messages);
    let request = Request { tools: tools.iter().collect(), ..Request::new(messages) };
    assert!(model.ask(&request, &|_| ()).await.is_err());
    server.captured().pop().unwrap().body
}
