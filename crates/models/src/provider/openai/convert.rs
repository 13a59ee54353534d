//! Builds the request, its messages and its tools.

use serde_json::{Map, Value, json};
use switchboard_toolcall::ToolSpec;

use crate::{
    AiMessage, Audio, Image, Message, ModelConfig, Provider, Request, Think, ToolChoice, ToolReply,
    UserMessage,
    lower::{self, LoweredTools, Names},
};

/// The body of a request.
pub(crate) fn request(
    config: &ModelConfig,
    request: &Request<'_>,
    lowered: &LoweredTools,
) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(config.model));
    body.insert("stream".to_owned(), json!(request.stream));
    if request.stream {
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    if let Some(most) = request.max_tokens.or(config.max_tokens) {
        body.insert(max_tokens_key(config).to_owned(), json!(most));
    }
    if let Some(temperature) = request.temperature.or(config.temperature) {
        body.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(Think::Level(level)) = &config.think {
        body.insert("reasoning_effort".to_owned(), json!(level));
    }
    if request.offers_tools() {
        body.insert("tools".to_owned(), tools(lowered));
        if let Some(choice) = choice(&request.choice, &lowered.names) {
            body.insert("tool_choice".to_owned(), choice);
        }
    }
    if let Some(schema) = request.enforced_schema() {
        let format = json!({"name": "answer", "schema": schema, "strict": false});
        let format = json!({"type": "json_schema", "json_schema": format});
        body.insert("response_format".to_owned(), format);
    }
    let messages = messages(request.messages, &lowered.names, config.audio);
    body.insert("messages".to_owned(), messages);
    Value::Object(body)
}

/// Returns the tools in the provider's format, in the same order; empty if there are none.
pub fn convert_tools(specs: &[&ToolSpec]) -> Vec<Value> {
    match tools(&lower::tools(Provider::OpenAi, specs)) {
        Value::Array(tools) => tools,
        _ => Vec::new(),
    }
}

/// Returns the key for the limit: OpenAI's own models reject `max_tokens`; most compatible servers know only that one.
fn max_tokens_key(config: &ModelConfig) -> &'static str {
    let elsewhere = config.base_url.as_deref().is_some_and(|url| !url.contains("api.openai.com"));
    if elsewhere { "max_tokens" } else { "max_completion_tokens" }
}

fn tools(lowered: &LoweredTools) -> Value {
    let tools = lowered.tools.iter().map(|tool| {
        json!({"type": "function", "function": {
            "name": tool.name, "description": tool.description, "parameters": tool.parameters}})
    });
    tools.collect()
}

fn choice(choice: &ToolChoice, names: &Names) -> Option<Value> {
    match choice {
        ToolChoice::Auto | ToolChoice::Never => None,
        ToolChoice::Any => Some(json!("required")),
        ToolChoice::One(name) => {
            Some(json!({"type": "function", "function": {"name": names.wire_name(name)}}))
        }
    }
}

fn messages(messages: &[Message], names: &Names, hears: bool) -> Value {
    let mut sent = Vec::new();
    // Tool messages take text only; the rest follows when all results of the turn are said.
    let mut beside = NonTextReply::default();
    for message in messages {
        if !matches!(message, Message::Tool(_)) {
            sent.extend(std::mem::take(&mut beside).into_message());
        }
        match message {
            Message::System(text) => sent.push(json!({"role": "system", "content": text})),
            Message::User(message) => sent.push(user(message)),
            Message::Ai(message) => sent.push(assistant(message, names)),
            Message::Tool(reply) => {
                let ToolReply { tool_call_id, images, audio, .. } = reply;
                let content = reply.marked_content();
                sent.push(
                    json!({"role": "tool", "tool_call_id": tool_call_id, "content": content}),
                );
                beside.images.extend(images);
                if hears {
                    beside.audio.extend(audio);
                }
            }
        }
    }
    sent.extend(beside.into_message());
    Value::Array(sent)
}

/// The images and audio of tools' results.
#[derive(Default)]
struct NonTextReply<'a> {
    images: Vec<&'a Image>,
    audio: Vec<&'a Audio>,
}

impl NonTextReply<'_> {
    fn into_message(self) -> Option<Value> {
        let images = self.images.into_iter().map(|Image { media_type, data }| {
            json!({"type": "image_url", "image_url": {"url": format!("data:{media_type};base64,{data}")}})
        });
        let audio = self.audio.into_iter().filter_map(|audio| {
            let sound = json!({"data": audio.data, "format": audio.format()?});
            Some(json!({"type": "input_audio", "input_audio": sound}))
        });
        let images = titled("Images from the tool results above:", images);
        let audio = titled("Audio from the tool results above:", audio);
        let parts: Vec<Value> = images.chain(audio).collect();
        (!parts.is_empty()).then(|| json!({"role": "user", "content": parts}))
    }
}

/// Returns the parts after a line that describes them. `None` if there are none.
fn titled(title: &str, parts: impl Iterator<Item = Value>) -> impl Iterator<Item = Value> {
    let mut parts = parts.peekable();
    let title = parts.peek().is_some().then(|| json!({"type": "text", "text": title}));
    title.into_iter().chain(parts)
}

fn image_part(Image { media_type, data }: &Image) -> Value {
    json!({"type": "image_url", "image_url": {"url": format!("data:{media_type};base64,{data}")}})
}

fn user(message: &UserMessage) -> Value {
    if message.images.is_empty() {
        return json!({"role": "user", "content": message.content});
    }
    let text =
        (!message.content.is_empty()).then(|| json!({"type": "text", "text": message.content}));
    let parts: Vec<_> = text.into_iter().chain(message.images.iter().map(image_part)).collect();
    json!({"role": "user", "content": parts})
}

fn assistant(message: &AiMessage, names: &Names) -> Value {
    let mut sent = Map::new();
    sent.insert("role".to_owned(), json!("assistant"));
    let no_text = message.content.is_empty() && !message.tool_calls.is_empty();
    let content = if no_text { Value::Null } else { json!(message.content) };
    sent.insert("content".to_owned(), content);
    if message.tool_calls.is_empty() {
        return Value::Object(sent);
    }
    let native = message.native.as_ref().filter(|native| native.provider == Provider::OpenAi);
    let native = native.map(|native| &native.content);
    // Some servers require their reasoning beside calls, others reject it anywhere else.
    if let Some(Value::Object(fields)) = native.and_then(|native| native.get("message")) {
        sent.extend(fields.clone());
    }
    let extras = native.and_then(|native| native.get("calls")).and_then(Value::as_array);
    let extras = extras.filter(|extras| extras.len() == message.tool_calls.len());
    let calls = message.tool_calls.iter().enumerate().map(|(position, call)| {
        let arguments = Value::Object(call.args.to_replay()).to_string();
        let mut sent = json!({"id": call.id, "type": "function",
            "function": {"name": names.wire_name(&call.name), "arguments": arguments}});
        if let (Some(Value::Object(extra)), Value::Object(sent)) =
            (extras.and_then(|extras| extras.get(position)), &mut sent)
        {
            sent.extend(extra.clone());
        }
        sent
    });
    sent.insert("tool_calls".to_owned(), calls.collect());
    Value::Object(sent)
}
