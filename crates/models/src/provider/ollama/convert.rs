//! Builds the request, its messages and its tools.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use switchboard_toolcall::ToolSpec;

use crate::{
    AiMessage, Message, ModelConfig, Provider, Request, ToolChoice, ToolReply, UserMessage,
    lower::{self, LoweredTools, Names},
};

/// Enough for a system prompt, a few dozen tools and some turns; Ollama's default can be 4096.
pub(super) const DEFAULT_NUM_CTX: u32 = 32_768;

/// The body of a request.
pub(crate) fn request(
    config: &ModelConfig,
    request: &Request<'_>,
    lowered: &LoweredTools,
) -> Value {
    let mut options = Map::new();
    options.insert("num_ctx".to_owned(), json!(config.num_ctx.unwrap_or(DEFAULT_NUM_CTX)));
    if let Some(most) = request.max_tokens.or(config.max_tokens) {
        options.insert("num_predict".to_owned(), json!(most));
    }
    if let Some(temperature) = request.temperature.or(config.temperature) {
        options.insert("temperature".to_owned(), json!(temperature));
    }
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(config.model));
    body.insert("stream".to_owned(), json!(request.stream));
    // Both default to true: a prompt that is too long would lose its tools without a word.
    body.insert("truncate".to_owned(), json!(config.truncate));
    body.insert("shift".to_owned(), json!(config.truncate));
    if let Some(think) = &config.think {
        body.insert("think".to_owned(), json!(think));
    }
    if let Some(keep_alive) = &config.keep_alive {
        body.insert("keep_alive".to_owned(), json!(keep_alive));
    }
    body.insert("options".to_owned(), Value::Object(options));
    if request.offers_tools() {
        body.insert("tools".to_owned(), Value::Array(offered(request, lowered)));
    }
    if let Some(schema) = request.enforced_schema() {
        body.insert("format".to_owned(), schema.clone());
    }
    body.insert("messages".to_owned(), messages(request.messages, &lowered.names));
    Value::Object(body)
}

/// Ollama knows no choice: a model that has to call one tool is shown no other.
fn offered(request: &Request<'_>, lowered: &LoweredTools) -> Vec<Value> {
    let mut tools = tools(lowered);
    if let ToolChoice::One(name) = &request.choice {
        let name = lowered.names.wire_name(name);
        tools.retain(|tool| tool["function"]["name"] == *name);
    }
    tools
}

/// Returns the tools in the format that Qwen's templates know, in the same order; empty if there are none.
pub fn convert_tools(specs: &[&ToolSpec]) -> Vec<Value> {
    tools(&lower::tools(Provider::Ollama, specs))
}

fn tools(lowered: &LoweredTools) -> Vec<Value> {
    let tools: Vec<_> = lowered
        .tools
        .iter()
        .map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.parameters}})
        })
        .collect();
    if !tools.is_empty() {
        tracing::debug!("🔧 Converted {} tools from LangChain to Qwen format", tools.len());
    }
    tools
}

fn messages(messages: &[Message], names: &Names) -> Value {
    // Ollama links a result to its call by the tool's name, if at all.
    let mut called: HashMap<&str, &str> = HashMap::new();
    let mut sent = Vec::new();
    for message in messages {
        sent.push(match message {
            Message::System(text) => json!({"role": "system", "content": text}),
            Message::User(message) => user(message),
            Message::Ai(message) => {
                called.extend(message.tool_calls.iter().map(|call| (&*call.id, &*call.name)));
                assistant(message, names)
            }
            Message::Tool(reply) => tool(reply, &called, names),
        });
    }
    Value::Array(sent)
}

fn user(message: &UserMessage) -> Value {
    let mut sent = json!({"role": "user", "content": message.content});
    if !message.images.is_empty() {
        sent["images"] = message.images.iter().map(|image| json!(image.data)).collect();
    }
    sent
}

fn tool(reply: &ToolReply, called: &HashMap<&str, &str>, names: &Names) -> Value {
    let mut sent = json!({"role": "tool"});
    if let Some(name) = called.get(&*reply.tool_call_id) {
        sent["tool_name"] = json!(names.wire_name(name));
    }
    sent["tool_call_id"] = json!(reply.tool_call_id);
    sent["content"] = json!(reply.marked_content());
    if !reply.images.is_empty() {
        sent["images"] = reply.images.iter().map(|image| json!(image.data)).collect();
    }
    sent
}

fn assistant(message: &AiMessage, names: &Names) -> Value {
    let mut sent = json!({"role": "assistant", "content": message.content});
    let native = message.native.as_ref().filter(|native| native.provider == Provider::Ollama);
    if let Some(thinking) = native.and_then(|native| native.content.get("thinking")) {
        sent["thinking"] = thinking.clone();
    }
    if !message.tool_calls.is_empty() {
        let calls = message.tool_calls.iter().enumerate().map(|(index, call)| {
            json!({"id": call.id, "function": {"index": index,
                "name": names.wire_name(&call.name), "arguments": call.args.to_replay()}})
        });
        sent["tool_calls"] = calls.collect();
    }
    sent
}
