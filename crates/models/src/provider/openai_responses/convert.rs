//! Builds the request, its items and its tools.

use std::{borrow::Cow, collections::HashMap};

use serde_json::{Map, Value, json};
use switchboard_toolcall::ToolSpec;

use super::output_item::is_call;
use crate::{
    AiMessage, ContextManagement, FoundTools, Image, Message, ModelCall, ModelConfig, Provider,
    Request, Think, ToolChoice, ToolReply, UserMessage,
    lower::{self, LoweredTool, LoweredTools, Names},
};

/// How the names of OpenAI's models begin that do not reason: they reject a request for encrypted reasoning.
const WITHOUT_REASONING: [&str; 3] = ["gpt-3", "gpt-4", "chatgpt"];

/// The most characters of a call's id.
const LONGEST_ID: usize = 64;

/// The fewest tokens from which on the API makes a summary.
const LEAST_COMPACTED: u64 = 1_000;

/// The body of a request.
pub(crate) fn request(
    config: &ModelConfig,
    request: &Request<'_>,
    lowered: &LoweredTools,
) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(config.model));
    body.insert("stream".to_owned(), json!(request.stream));
    body.insert("store".to_owned(), json!(false));
    if !WITHOUT_REASONING.iter().any(|start| config.model.starts_with(start)) {
        body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
    }
    if let Some(most) = request.max_tokens.or(config.max_tokens) {
        body.insert("max_output_tokens".to_owned(), json!(most));
    }
    if let Some(temperature) = request.temperature.or(config.temperature) {
        body.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(Think::Level(level)) = &config.think {
        body.insert("reasoning".to_owned(), json!({"effort": level}));
    }
    let converter = ItemConverter::new(request, lowered);
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), Value::Array(converter.tools(request, lowered)));
        if let Some(choice) = converter.choice(&request.choice) {
            body.insert("tool_choice".to_owned(), choice);
        }
    }
    if let Some(schema) = request.enforced_schema() {
        let format =
            json!({"type": "json_schema", "name": "answer", "schema": schema, "strict": false});
        body.insert("text".to_owned(), json!({"format": format}));
    }
    if config.context_management.is_some() {
        body.insert("context_management".to_owned(), json!([compaction(config)]));
    }
    body.insert("input".to_owned(), Value::Array(converter.items(request.messages)));
    Value::Object(body)
}

/// Returns the tools in the provider's format, in the same order; empty if there are none.
pub fn convert_tools(specs: &[&ToolSpec]) -> Vec<Value> {
    lower::tools(Provider::OpenAiResponses, specs).tools.iter().map(function).collect()
}

/// Returns what asks for summaries of a conversation that grows.
fn compaction(config: &ModelConfig) -> Value {
    let mut entry = json!({"type": "compaction"});
    if let Some(tokens) = ContextManagement::trigger(config) {
        entry["compact_threshold"] = json!(tokens.max(LEAST_COMPACTED));
    }
    entry
}

/// Without `strict: false` the API would apply rules of its own to the schema.
fn function(tool: &LoweredTool) -> Value {
    json!({"type": "function", "name": tool.name, "description": tool.description,
        "parameters": tool.parameters, "strict": false})
}

/// Converts messages and tools, with the names that tools have on the wire.
struct ItemConverter<'a> {
    names: &'a Names,
    /// What searches found, if the model searches with the API's own kind of tool.
    found: Option<&'a FoundTools>,
    /// The tools that only the items of searches define, by their own names.
    deferred: HashMap<&'a str, &'a LoweredTool>,
}

impl<'a> ItemConverter<'a> {
    fn new(request: &Request<'a>, lowered: &'a LoweredTools) -> Self {
        let searches = request.tools.iter().any(|tool| tool.name == FoundTools::SEARCH);
        let found = request.found.filter(|_| searches);
        let fixed = request.fixed_tools.unwrap_or(request.tools.len());
        let later = request.tools.iter().zip(&lowered.tools).skip(fixed);
        let is_deferred = |name: &str| found.is_some_and(|found| found.contains(name));
        let deferred = later.map(|(spec, tool)| (&*spec.name, tool));
        let deferred = deferred.filter(|(name, _)| is_deferred(name)).collect();
        Self { names: &lowered.names, found, deferred }
    }

    /// Returns the tools that are defined before the conversation.
    fn tools(&self, request: &Request<'_>, lowered: &LoweredTools) -> Vec<Value> {
        let tools = request.tools.iter().zip(&lowered.tools);
        let tools = tools.filter(|(spec, _)| !self.deferred.contains_key(&*spec.name));
        let convert = |(spec, tool): (&&ToolSpec, &LoweredTool)| match self.is_search(&spec.name) {
            true => json!({"type": "tool_search", "execution": "client",
                "description": tool.description, "parameters": tool.parameters}),
            false => function(tool),
        };
        tools.map(convert).collect()
    }

    fn choice(&self, choice: &ToolChoice) -> Option<Value> {
        match choice {
            ToolChoice::Auto => None,
            ToolChoice::Never => Some(json!("none")),
            ToolChoice::Any => Some(json!("required")),
            // A search cannot be named.
            ToolChoice::One(name) if self.is_search(name) => Some(json!("required")),
            ToolChoice::One(name) => {
                Some(json!({"type": "function", "name": self.names.wire_name(name)}))
            }
        }
    }

    fn is_search(&self, name: &str) -> bool {
        self.found.is_some() && name == FoundTools::SEARCH
    }

    fn items(&self, messages: &[Message]) -> Vec<Value> {
        let (mut sent, mut notes) = (Vec::new(), Vec::new());
        let mut searches = Vec::new();
        for message in messages {
            if !matches!(message, Message::Tool(_)) {
                sent.append(&mut notes);
            }
            match message {
                Message::System(text) => sent.push(json!({"role": "system", "content": text})),
                Message::User(message) => sent.push(user(message)),
                Message::Ai(message) => {
                    let calls = message.tool_calls.iter();
                    let ids = calls.filter(|call| self.is_search(&call.name)).map(|call| &*call.id);
                    searches.extend(ids);
                    sent.extend(self.assistant(message));
                }
                Message::Tool(reply) if searches.contains(&&*reply.tool_call_id) => {
                    let (item, note) = self.search_output(reply);
                    sent.push(item);
                    notes.extend(note);
                }
                Message::Tool(reply) => sent.push(output(reply)),
            }
        }
        sent.append(&mut notes);
        sent
    }

    /// Returns the result of a search, which defines the tools that it found; and a message for what the search said besides,
    /// for which the result has no field.
    fn search_output(&self, reply: &ToolReply) -> (Value, Option<Value>) {
        let found = self.found.and_then(|found| found.of_call(&reply.tool_call_id));
        let (tools, keeps_text) = found.filter(|_| !reply.is_error).unwrap_or((&[], true));
        let define = |name: &String| {
            let mut tool = function(self.deferred.get(&**name)?);
            tool["defer_loading"] = json!(true);
            Some(tool)
        };
        let tools: Vec<_> = tools.iter().filter_map(define).collect();
        let item = json!({"type": "tool_search_output", "call_id": call_id(&reply.tool_call_id),
            "execution": "client", "status": "completed", "tools": tools});
        let note = || {
            let text = format!("The search for tools above said:\n{}", reply.marked_content());
            json!({"role": "user", "content": text})
        };
        (item, keeps_text.then(note))
    }

    /// Returns the model's items: as they came if they are this provider's, else converted.
    fn assistant(&self, message: &AiMessage) -> Vec<Value> {
        if let Some(items) = self.native(message) {
            return items;
        }
        let text = (!message.content.is_empty()).then(|| {
            json!({"type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": message.content}]})
        });
        let calls = message.tool_calls.iter().map(|call| self.call(call));
        text.into_iter().chain(calls).collect()
    }

    /// Returns the items as they came, under the ids that the results will name. Returns `None` if they are another
    /// provider's, or if the message was changed since.
    fn native(&self, message: &AiMessage) -> Option<Vec<Value>> {
        let native = message.native.as_ref()?;
        let native = Some(native).filter(|it| it.provider == Provider::OpenAiResponses)?;
        let mut calls = message.tool_calls.iter();
        let mut items = Vec::new();
        for item in native.content.as_array()? {
            items.push(match is_call(item) {
                true => self.replayed_call(item, calls.next()?),
                false => item.clone(),
            });
        }
        calls.next().is_none().then_some(items)
    }

    fn replayed_call(&self, item: &Value, call: &ModelCall) -> Value {
        // Whether the API's own search is used may change within a conversation.
        if self.is_search(&call.name) != (item["type"] == "tool_search_call") {
            return self.call(call);
        }
        let mut item = item.clone();
        item["call_id"] = json!(call_id(&call.id));
        if let Value::Object(members) = &mut item {
            self.set_namespace(members, &call.name);
        }
        item
    }

    fn call(&self, call: &ModelCall) -> Value {
        let (id, arguments) = (call_id(&call.id), Value::Object(call.args.to_replay()));
        if self.is_search(&call.name) {
            return json!({"type": "tool_search_call", "call_id": id, "execution": "client",
                "status": "completed", "arguments": arguments});
        }
        let mut item = Map::new();
        item.insert("type".to_owned(), json!("function_call"));
        item.insert("call_id".to_owned(), json!(id));
        item.insert("name".to_owned(), json!(self.names.wire_name(&call.name)));
        item.insert("arguments".to_owned(), json!(arguments.to_string()));
        self.set_namespace(&mut item, &call.name);
        Value::Object(item)
    }

    /// Sets the namespace of a call: a tool that a search defines has one of its own, with its own name, and the API rejects
    /// its calls without it. A tool that is defined before the conversation has none.
    fn set_namespace(&self, item: &mut Map<String, Value>, tool: &str) {
        let is_own = item.get("namespace").is_some_and(|space| Some(space) == item.get("name"));
        if self.deferred.contains_key(tool) {
            let name = item.get("name").cloned().unwrap_or_default();
            item.entry("namespace").or_insert(name);
        } else if is_own {
            item.shift_remove("namespace");
        }
    }
}

fn user(message: &UserMessage) -> Value {
    if message.images.is_empty() {
        return json!({"role": "user", "content": message.content});
    }
    json!({"role": "user", "content": parts(&message.content, &message.images)})
}

fn output(reply: &ToolReply) -> Value {
    let text = reply.marked_content();
    let output = match reply.images.is_empty() {
        true => json!(text),
        false => parts(&text, &reply.images),
    };
    json!({"type": "function_call_output", "call_id": call_id(&reply.tool_call_id), "output": output})
}

/// Returns text and images as parts of a message or a result.
fn parts(text: &str, images: &[Image]) -> Value {
    let text = (!text.is_empty()).then(|| json!({"type": "input_text", "text": text}));
    let images = images.iter().map(|Image { media_type, data }| {
        let url = format!("data:{media_type};base64,{data}");
        json!({"type": "input_image", "detail": "auto", "image_url": url})
    });
    text.into_iter().chain(images).collect()
}

/// Returns the id, or one in its place that is not too long: ids of other providers can be.
fn call_id(id: &str) -> Cow<'_, str> {
    match id.chars().count() <= LONGEST_ID && !id.is_empty() {
        true => Cow::Borrowed(id),
        false => Cow::Owned(format!("call_{:016x}", lower::hash(id))),
    }
}
