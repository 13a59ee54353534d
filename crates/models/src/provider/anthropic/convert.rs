//! Builds the request, its messages and its tools.

use serde_json::{Map, Value, json};
use switchboard_toolcall::ToolSpec;

use super::context_management;
use crate::{
    AiMessage, FoundTools, Image, Message, ModelConfig, Provider, Request, ToolChoice, ToolReply,
    lower::{self, LoweredTools, Names},
};

/// The API wants a limit; enough for long answers.
const DEFAULT_MAX_TOKENS: u32 = 8_192;

/// The body of a request.
pub(crate) fn request(
    config: &ModelConfig,
    request: &Request<'_>,
    lowered: &LoweredTools,
) -> Value {
    let mut body = Map::new();
    let most = request.max_tokens.or(config.max_tokens).unwrap_or(DEFAULT_MAX_TOKENS);
    body.insert("model".to_owned(), json!(config.model));
    body.insert("max_tokens".to_owned(), json!(most));
    body.insert("stream".to_owned(), json!(request.stream));
    if let Some(temperature) = request.temperature.or(config.temperature) {
        body.insert("temperature".to_owned(), json!(temperature));
    }
    if !request.tools.is_empty() {
        let tools = tools(lowered, request.fixed_tools, |index| is_deferred(request, index));
        body.insert("tools".to_owned(), Value::Array(tools));
        if let Some(choice) = choice(&request.choice, &lowered.names) {
            body.insert("tool_choice".to_owned(), choice);
        }
    }
    if let Some(management) = context_management::field(config) {
        body.insert("context_management".to_owned(), management);
    }
    let (system, rest) = split_system(request.messages);
    if let Some(system) = system_blocks(&system) {
        body.insert("system".to_owned(), system);
    }
    let converter = MessageConverter { names: &lowered.names, found: found(request) };
    body.insert("messages".to_owned(), Value::Array(converter.messages(rest)));
    Value::Object(body)
}

/// Returns the tools in the provider's format, in the same order; empty if there are none.
pub fn convert_tools(specs: &[&ToolSpec]) -> Vec<Value> {
    tools(&lower::tools(Provider::Anthropic, specs), None, |_| false)
}

/// Returns what searches found, if tools are sent at all: a reference needs a definition.
fn found<'a>(request: &Request<'a>) -> Option<&'a FoundTools> {
    request.found.filter(|_| !request.tools.is_empty())
}

/// Returns whether the definition of the tool with this index is deferred.
fn is_deferred(request: &Request<'_>, index: usize) -> bool {
    let tool = request.tools.get(index);
    let is_found = |found: &FoundTools| tool.is_some_and(|tool| found.contains(&tool.name));
    request.found.is_some_and(is_found)
}

/// Marks a tool for caching, which covers those before it: the last one that every request has. Those that come later are
/// covered by the mark of the system prompt; a mark that moves would change definitions that were sent before. A deferred tool
/// cannot be marked, and is never among the fixed ones.
fn tools(
    lowered: &LoweredTools,
    fixed: Option<usize>,
    is_deferred: impl Fn(usize) -> bool,
) -> Vec<Value> {
    let mut tools: Vec<_> = lowered
        .tools
        .iter()
        .map(|tool| {
            json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
        })
        .collect();
    let fixed = fixed.unwrap_or(tools.len()).clamp(1, tools.len().max(1));
    for (index, tool) in tools.iter_mut().enumerate().skip(fixed) {
        if is_deferred(index) {
            tool["defer_loading"] = json!(true);
        }
    }
    if let Some(last) = tools.get_mut(fixed - 1) {
        last["cache_control"] = json!({"type": "ephemeral"});
    }
    tools
}

fn choice(choice: &ToolChoice, names: &Names) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::Never => Some(json!({"type": "none"})),
        ToolChoice::Any => Some(json!({"type": "any"})),
        ToolChoice::One(name) => Some(json!({"type": "tool", "name": names.wire_name(name)})),
    }
}

/// Returns the system messages at the start; later ones stay in place.
fn split_system(messages: &[Message]) -> (Vec<&str>, &[Message]) {
    let system: Vec<&str> = messages
        .iter()
        .map_while(|message| match message {
            Message::System(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let rest = &messages[system.len()..];
    (system, rest)
}

fn system_blocks(texts: &[&str]) -> Option<Value> {
    let said = texts.iter().filter(|text| !text.trim().is_empty());
    let mut blocks: Vec<_> = said.map(|text| json!({"type": "text", "text": text})).collect();
    blocks.last_mut()?["cache_control"] = json!({"type": "ephemeral"});
    Some(Value::Array(blocks))
}

/// Converts messages, with the names that tools have on the wire.
struct MessageConverter<'a> {
    names: &'a Names,
    found: Option<&'a FoundTools>,
}

impl MessageConverter<'_> {
    /// Roles alternate: what follows an answer becomes one user message, results of tools first.
    fn messages(&self, messages: &[Message]) -> Vec<Value> {
        let mut sent = Vec::new();
        let mut user = UserTurn::default();
        for message in messages {
            match message {
                Message::System(text) => user.say(text),
                Message::User(message) => {
                    user.texts.extend(message.images.iter().map(image));
                    user.say(&message.content);
                }
                Message::Tool(reply) => user.results.push(self.result(reply)),
                Message::Ai(message) => {
                    let blocks = assistant(message, self.names);
                    // The API rejects a message without content; its neighbours then become one.
                    if !blocks.is_empty() {
                        sent.extend(std::mem::take(&mut user).into_message());
                        sent.push(json!({"role": "assistant", "content": blocks}));
                    }
                }
            }
        }
        sent.extend(user.into_message());
        sent
    }

    /// Returns the result; that of a search refers to the tools that it found, which the API replaces by their definitions.
    fn result(&self, reply: &ToolReply) -> Value {
        let found = self.found.and_then(|found| found.of_call(&reply.tool_call_id));
        let Some((tools, keeps_text)) = found.filter(|_| !reply.is_error) else {
            return result(reply);
        };
        let text = keeps_text.then(|| json!({"type": "text", "text": reply.content}));
        let reference = |tool: &String| json!({"type": "tool_reference", "tool_name": self.names.wire_name(tool)});
        let content: Vec<_> = text.into_iter().chain(tools.iter().map(reference)).collect();
        json!({"type": "tool_result", "tool_use_id": plain_id(&reply.tool_call_id), "content": content})
    }
}

/// All that is said between two answers.
#[derive(Default)]
struct UserTurn {
    results: Vec<Value>,
    texts: Vec<Value>,
}

impl UserTurn {
    fn say(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.texts.push(json!({"type": "text", "text": text}));
        }
    }

    fn into_message(self) -> Option<Value> {
        let blocks: Vec<_> = self.results.into_iter().chain(self.texts).collect();
        (!blocks.is_empty()).then(|| json!({"role": "user", "content": blocks}))
    }
}

fn result(reply: &ToolReply) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": plain_id(&reply.tool_call_id)});
    if reply.is_error {
        block["is_error"] = json!(true);
    }
    if reply.images.is_empty() {
        if !reply.content.is_empty() {
            block["content"] = json!(reply.content);
        }
        return block;
    }
    let text = (!reply.content.is_empty()).then(|| json!({"type": "text", "text": reply.content}));
    block["content"] = text.into_iter().chain(reply.images.iter().map(image)).collect();
    block
}

fn image(Image { media_type, data }: &Image) -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})
}

/// Returns the model's message: verbatim if it came from this provider, else converted.
fn assistant(message: &AiMessage, names: &Names) -> Vec<Value> {
    if let Some(blocks) = native(message) {
        return blocks;
    }
    let mut blocks = Vec::new();
    if !message.content.trim().is_empty() {
        blocks.push(json!({"type": "text", "text": message.content}));
    }
    blocks.extend(message.tool_calls.iter().map(|call| {
        json!({"type": "tool_use", "id": plain_id(&call.id), "name": names.wire_name(&call.name),
            "input": call.args.to_replay()})
    }));
    blocks
}

/// Returns the blocks unchanged, under the ids that the results will name. Returns `None` if they are not Anthropic's, or if
/// the message was changed since.
fn native(message: &AiMessage) -> Option<Vec<Value>> {
    let native = message.native.as_ref().filter(|native| native.provider == Provider::Anthropic)?;
    let mut blocks = native.content.as_array()?.clone();
    // An empty text, which models do send, is not accepted back.
    blocks.retain(|block| {
        block["type"] != "text"
            || block["text"].as_str().is_some_and(|text| !text.trim().is_empty())
    });
    let mut calls = message.tool_calls.iter();
    for block in blocks.iter_mut().filter(|block| block["type"] == "tool_use") {
        block["id"] = json!(plain_id(&calls.next()?.id));
    }
    calls.next().is_none().then_some(blocks)
}

/// The id in the characters that the API takes; ids of other providers have more.
fn plain_id(id: &str) -> String {
    let plain: String = id
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .collect();
    if plain == id && !id.is_empty() {
        plain
    } else {
        format!("{plain}_{:08x}", lower::hash(id) & 0xffff_ffff)
    }
}
