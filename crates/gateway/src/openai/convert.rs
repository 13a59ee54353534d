//! Converts a client's request for the agent's loop.

use serde_json::{Value, json};
use switchboard_agent::{AnswerSchema, RequestOptions};
use switchboard_models::{
    AiMessage, Arguments, Image, Message, ModelCall, ToolChoice, ToolReply, UserMessage,
};
use switchboard_toolcall::ToolSpec;

use super::{
    failure::ChatFailure,
    wire::{
        ChatCall, ChatContent, ChatMessage, ChatPart, ChatRequest, ChatRole, ClientTool,
        ToolChoiceParam,
    },
};

/// The highest temperature that providers accept.
const MOST_DARING: f64 = 2.0;
/// The longest name of a client's tool, in characters.
const LONGEST_NAME: usize = 64;

/// Parses a request; errors name the field.
pub(super) fn read(body: &[u8]) -> Result<ChatRequest, ChatFailure> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let request: ChatRequest = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let param = error.path().to_string();
        match param.as_str() {
            "." | "?" => ChatFailure::new(http::StatusCode::BAD_REQUEST, error.inner().to_string()),
            _ => ChatFailure::wrong(param, error.inner()),
        }
    })?;
    json.end().map_err(|error| {
        ChatFailure::new(http::StatusCode::BAD_REQUEST, format!("the body is not JSON: {error}"))
    })?;
    if request.n.is_some_and(|n| n != 1) {
        return Err(ChatFailure::wrong("n", "only one answer can be had; leave it out or say 1"));
    }
    if request.messages.is_empty() {
        return Err(ChatFailure::wrong("messages", "there is nothing to answer"));
    }
    Ok(request)
}

/// Converts the client's messages.
pub(super) fn messages(request: &ChatRequest) -> Result<Vec<Message>, ChatFailure> {
    request.messages.iter().enumerate().map(message).collect()
}

fn message((position, message): (usize, &ChatMessage)) -> Result<Message, ChatFailure> {
    let place = format!("messages[{position}]");
    let said = content(message, &format!("{place}.content"))?;
    let pinned = message.pinned.unwrap_or_default();
    Ok(match message.role {
        ChatRole::System | ChatRole::Developer => Message::System(said.content),
        ChatRole::User => Message::User(UserMessage { pinned, ..said }),
        ChatRole::Assistant => {
            let calls = message.tool_calls.iter().flatten().map(call);
            let (content, tool_calls) = (said.content, calls.collect());
            Message::Ai(AiMessage { content, tool_calls, native: None, pinned })
        }
        ChatRole::Tool => {
            let place = format!("{place}.tool_call_id");
            let missing =
                || ChatFailure::wrong(place, "a tool's message must say which call it answers");
            let tool_call_id = message.tool_call_id.clone().ok_or_else(missing)?;
            let UserMessage { content, images, .. } = said;
            Message::Tool(ToolReply {
                content,
                tool_call_id,
                is_error: false,
                images,
                audio: Vec::new(),
            })
        }
    })
}

fn call(call: &ChatCall) -> ModelCall {
    ModelCall {
        id: call.id.clone(),
        name: call.function.name.clone(),
        args: Arguments::parse(&call.function.arguments),
        recovered: false,
    }
}

fn content(message: &ChatMessage, place: &str) -> Result<UserMessage, ChatFailure> {
    let parts = match &message.content {
        None if matches!(message.role, ChatRole::Assistant) => return Ok(UserMessage::default()),
        None => return Err(ChatFailure::wrong(place, "only an assistant may say nothing")),
        Some(ChatContent::Text(text)) => return Ok(text.as_str().into()),
        Some(ChatContent::Parts(parts)) => parts,
    };
    let mut said = UserMessage::default();
    for (position, part) in parts.iter().enumerate() {
        let place = format!("{place}[{position}]");
        match image(part, &place)? {
            Some(image) => said.images.push(image),
            None => add_text(&mut said.content, part, &place)?,
        }
    }
    if !said.images.is_empty() && !matches!(message.role, ChatRole::User | ChatRole::Tool) {
        return Err(ChatFailure::wrong(place, "only users and tools may show images"));
    }
    Ok(said)
}

fn add_text(content: &mut String, part: &ChatPart, place: &str) -> Result<(), ChatFailure> {
    let text = match part.kind.as_str() {
        "text" => part.text.as_ref(),
        "refusal" => part.refusal.as_ref(),
        other => {
            let text = format!("parts of the type `{other}` are not taken; text and image_url are");
            return Err(ChatFailure::wrong(format!("{place}.type"), text));
        }
    };
    let kind = &part.kind;
    let text =
        text.ok_or_else(|| ChatFailure::wrong(format!("{place}.{kind}"), "it is missing"))?;
    if !content.is_empty() {
        content.push('\n');
    }
    content.push_str(text);
    Ok(())
}

/// Returns the image of a part, if it is one.
fn image(part: &ChatPart, place: &str) -> Result<Option<Image>, ChatFailure> {
    if part.kind != "image_url" {
        return Ok(None);
    }
    let place = format!("{place}.image_url.url");
    let wrong = || {
        let text = "an image must be in the URL itself: `data:image/png;base64,…`; addresses are not fetched";
        ChatFailure::wrong(place, text)
    };
    let image = part.image_url.as_ref().and_then(|image| {
        let (media_type, data) = image.url.strip_prefix("data:")?.split_once(";base64,")?;
        let is_image = media_type.starts_with("image/") && !data.is_empty();
        is_image.then(|| Image { media_type: media_type.to_owned(), data: data.to_owned() })
    });
    image.map(Some).ok_or_else(wrong)
}

/// Converts the client's own tools.
pub(super) fn tools(request: &ChatRequest) -> Result<Vec<ToolSpec>, ChatFailure> {
    let mut specs: Vec<ToolSpec> = Vec::new();
    for (position, tool) in request.tools.iter().flatten().enumerate() {
        let spec = spec(tool, &format!("tools[{position}]"))?;
        if specs.iter().any(|other| other.name == spec.name) {
            let text = format!("there are two tools `{}`", spec.name);
            return Err(ChatFailure::wrong(format!("tools[{position}].function.name"), text));
        }
        specs.push(spec);
    }
    Ok(specs)
}

fn spec(tool: &ClientTool, place: &str) -> Result<ToolSpec, ChatFailure> {
    let function = match (tool.kind.as_str(), &tool.function) {
        ("function", Some(function)) => function,
        ("function", None) => {
            return Err(ChatFailure::wrong(format!("{place}.function"), "it is missing"));
        }
        (other, _) => {
            let text = format!("tools of the type `{other}` are not taken; function is");
            return Err(ChatFailure::wrong(format!("{place}.type"), text));
        }
    };
    let name = &function.name;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !(1..=LONGEST_NAME).contains(&name.len()) || !name.bytes().all(is_plain) {
        let text = "a name is 1 to 64 characters of a-z, A-Z, 0-9, _ and -";
        return Err(ChatFailure::wrong(format!("{place}.function.name"), text));
    }
    let parameters = function.parameters.clone().unwrap_or_else(|| json!({"type": "object"}));
    if !parameters.is_object() {
        let text = "it must be a JSON Schema, which is an object";
        return Err(ChatFailure::wrong(format!("{place}.function.parameters"), text));
    }
    let description = function.description.clone().unwrap_or_default();
    Ok(ToolSpec::new(name.clone(), description, parameters))
}

/// Returns the options of the run; `knows` says which tools exist.
pub(super) fn options(
    request: &ChatRequest,
    knows: impl Fn(&str) -> bool,
) -> Result<RequestOptions, ChatFailure> {
    let temperature = request.temperature;
    if temperature.is_some_and(|daring| !(0.0..=MOST_DARING).contains(&daring)) {
        return Err(ChatFailure::wrong("temperature", "it must be between 0 and 2"));
    }
    let choice = match &request.tool_choice {
        None => ToolChoice::Auto,
        Some(ToolChoiceParam::Word(word)) => match word.as_str() {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::Never,
            "required" => ToolChoice::Any,
            _ => {
                return Err(ChatFailure::wrong(
                    "tool_choice",
                    "it is auto, none, required or a tool",
                ));
            }
        },
        Some(ToolChoiceParam::Named { function }) if knows(&function.name) => {
            ToolChoice::One(function.name.clone())
        }
        Some(ToolChoiceParam::Named { function }) => {
            let text = format!("there is no tool `{}`", function.name);
            return Err(ChatFailure::wrong("tool_choice.function.name", text));
        }
    };
    let max_tokens = request.max_completion_tokens.or(request.max_tokens).map(Into::into);
    // If the answer is sent in one piece, turns need not be streamed.
    let whole_turns = !request.stream.unwrap_or_default();
    let answer = answer_schema(request)?;
    Ok(RequestOptions { max_tokens, temperature, choice, whole_turns, answer })
}

/// Returns what the answer has to fit, if anything.
fn answer_schema(request: &ChatRequest) -> Result<Option<AnswerSchema>, ChatFailure> {
    let Some(format) = &request.response_format else { return Ok(None) };
    let named = format.json_schema.as_ref().and_then(|named| named.schema.clone());
    let (schema, place) = match (format.kind.as_str(), named) {
        ("text", _) => return Ok(None),
        ("json_object", _) => (json!({"type": "object"}), "response_format"),
        ("json_schema", Some(schema)) => {
            (Value::Object(schema), "response_format.json_schema.schema")
        }
        ("json_schema", None) => {
            return Err(ChatFailure::wrong("response_format.json_schema.schema", "it is missing"));
        }
        _ => {
            let text = "it is text, json_object or json_schema";
            return Err(ChatFailure::wrong("response_format.type", text));
        }
    };
    AnswerSchema::new(schema).map(Some).map_err(|error| ChatFailure::wrong(place, error))
}
