//! The conversation that the kept recordings hold: a light is turned on, and the result is told.

use serde_json::json;
use switchboard_models::{Message, ModelConfig, Provider, Request, ToolReply, Turn, connect};
use switchboard_toolcall::ToolSpec;

/// The recordings that are kept, each of one provider's endpoint, streamed.
pub(crate) const KEPT: [(Provider, &str); 3] = [
    (Provider::OpenAi, "smollm2-openai.json"),
    (Provider::OpenAiResponses, "smollm2-openai-responses.json"),
    (Provider::Anthropic, "smollm2-anthropic.json"),
];

/// Where they lie.
pub(crate) const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cassettes");

/// Two turns at the endpoint whose root is `url`: the call, and what is said to its result.
pub(crate) async fn converse(url: &str, provider: Provider) -> Vec<Turn> {
    let mut config = ModelConfig::new(provider, "smollm2");
    let path = if provider == Provider::Anthropic { "" } else { "/v1" };
    config.base_url = Some(format!("{url}{path}"));
    config.temperature = Some(0.0);
    let model = connect(&config).unwrap();
    let tools = [ToolSpec::new(
        "set_light",
        "Turn a light on or off",
        json!({
            "type": "object",
            "properties": {"room": {"type": "string"}, "state": {"type": "string", "enum": ["on", "off"]}},
            "required": ["room", "state"],
        }),
    )];
    let mut messages = vec![Message::User("turn on the kitchen light".into())];
    let first = model.ask(&Request::new(&messages).with_tools(&tools), &|_| {}).await.unwrap();
    messages.push(Message::Ai(first.message.clone()));
    messages.extend(first.message.tool_calls.iter().map(|call| {
        let (tool_call_id, content) = (call.id.clone(), "done".to_owned());
        Message::Tool(ToolReply { content, tool_call_id, ..ToolReply::default() })
    }));
    let mut request = Request::new(&messages);
    // It would go on for ever.
    request.max_tokens = Some(12);
    let second = model.ask(&request, &|_| {}).await.unwrap();
    vec![first, second]
}
