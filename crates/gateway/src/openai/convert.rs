//! From what a client asks to what the loop takes.

use serde_json::json;
use switchboard_agent::RequestOptions;
use switchboard_models::{
    AiMessage, Arguments, Image, Message, ModelCall, ToolChoice, ToolReply, UserMessage,
};
use switchboard_toolcall::ToolSpec;

use super::{
    failure::Failure,
    wire::{ChatCall, ChatMessage, ChatRequest, Choice, ClientTool, Content, Part, Role},
};

/// The most daring that providers take.
const MOST_DARING: f64 = 2.0;
/// How long a client's name of a tool may be.
const LONGEST_NAME: usize = 64;

/// Reads a request; what is wrong with it is named by its field.
pub(super) fn read(body: &[u8]) -> Result<ChatRequest, Failure> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let request: ChatRequest = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let param = error.path().to_string();
        match param.as_str() {
            "." | "?" => Failure::new(http::StatusCode::BAD_REQUEST, error.inner().to_string()),
            _ => Failure::wrong(param, error.inner()),
        }
    })?;
    json.end().map_err(|error| {
        Failure::new(http::StatusCode::BAD_REQUEST, format!("the body is not JSON: {error}"))
    })?;
    if request.n.is_some_and(|n| n != 1) {
        return Err(Failure::wrong("n", "only one answer can be had; leave it out or say 1"));
    }
    if request.messages.is_empty() {
        return Err(Failure::wrong("messages", "there is nothing to answer"));
    }
    Ok(request)
}

/// The conversation as the client knows it.
pub(super) fn messages(request: &ChatRequest) -> Result<Vec<Message>, Failure> {
    request.messages.iter().enumerate().map(message).collect()
}

fn message((position, message): (usize, &ChatMessage)) -> Result<Message, Failure> {
    let place = format!("messages[{position}]");
    let said = content(message, &format!("{place}.content"))?;
    Ok(match message.role {
        Role::System | Role::Developer => Message::System(said.content),
        Role::User => Message::User(said),
        Role::Assistant => {
            let calls = message.tool_calls.iter().flatten().map(call);
            let (content, tool_calls) = (said.content, calls.collect());
            Message::Ai(AiMessage { content, tool_calls, native: None })
        }
        Role::Tool => {
            let place = format!("{place}.tool_call_id");
            let missing =
                || Failure::wrong(place, "a tool's message must say which call it answers");
            let tool_call_id = message.tool_call_id.clone().ok_or_else(missing)?;
            let UserMessage { content, images } = said;
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

fn content(message: &ChatMessage, place: &str) -> Result<UserMessage, Failure> {
    let parts = match &message.content {
        None if matches!(message.role, Role::Assistant) => return Ok(UserMessage::default()),
        None => return Err(Failure::wrong(place, "only an assistant may say nothing")),
        Some(Content::Text(text)) => return Ok(text.as_str().into()),
        Some(Content::Parts(parts)) => parts,
    };
    let mut said = UserMessage::default();
    for (position, part) in parts.iter().enumerate() {
        let place = format!("{place}[{position}]");
        match image(part, &place)? {
            Some(image) => said.images.push(image),
            None => add_text(&mut said.content, part, &place)?,
        }
    }
    if !said.images.is_empty() && !matches!(message.role, Role::User | Role::Tool) {
        return Err(Failure::wrong(place, "only users and tools may show images"));
    }
    Ok(said)
}

fn add_text(content: &mut String, part: &Part, place: &str) -> Result<(), Failure> {
    let text = match part.kind.as_str() {
        "text" => part.text.as_ref(),
        "refusal" => part.refusal.as_ref(),
        other => {
            let text = format!("parts of the type `{other}` are not taken; text and image_url are");
            return Err(Failure::wrong(format!("{place}.type"), text));
        }
    };
    let kind = &part.kind;
    let text = text.ok_or_else(|| Failure::wrong(format!("{place}.{kind}"), "it is missing"))?;
    if !content.is_empty() {
        content.push('\n');
    }
    content.push_str(text);
    Ok(())
}

/// The image of a part, where it is one.
fn image(part: &Part, place: &str) -> Result<Option<Image>, Failure> {
    if part.kind != "image_url" {
        return Ok(None);
    }
    let place = format!("{place}.image_url.url");
    let wrong = || {
        let text = "an image must be in the URL itself: `data:image/png;base64,…`; addresses are not fetched";
        Failure::wrong(place, text)
    };
    let image = part.image_url.as_ref().and_then(|image| {
        let (media_type, data) = image.url.strip_prefix("data:")?.split_once(";base64,")?;
        let is_image = media_type.starts_with("image/") && !data.is_empty();
        is_image.then(|| Image { media_type: media_type.to_owned(), data: data.to_owned() })
    });
    image.map(Some).ok_or_else(wrong)
}

/// The tools that the client runs.
pub(super) fn tools(request: &ChatRequest) -> Result<Vec<ToolSpec>, Failure> {
    let mut specs: Vec<ToolSpec> = Vec::new();
    for (position, tool) in request.tools.iter().flatten().enumerate() {
        let spec = spec(tool, &format!("tools[{position}]"))?;
        if specs.iter().any(|other| other.name == spec.name) {
            let text = format!("there are two tools `{}`", spec.name);
            return Err(Failure::wrong(format!("tools[{position}].function.name"), text));
        }
        specs.push(spec);
    }
    Ok(specs)
}

fn spec(tool: &ClientTool, place: &str) -> Result<ToolSpec, Failure> {
    let function = match (tool.kind.as_str(), &tool.function) {
        ("function", Some(function)) => function,
        ("function", None) => {
            return Err(Failure::wrong(format!("{place}.function"), "it is missing"));
        }
        (other, _) => {
            let text = format!("tools of the type `{other}` are not taken; function is");
            return Err(Failure::wrong(format!("{place}.type"), text));
        }
    };
    let name = &function.name;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !(1..=LONGEST_NAME).contains(&name.len()) || !name.bytes().all(is_plain) {
        let text = "a name is 1 to 64 characters of a-z, A-Z, 0-9, _ and -";
        return Err(Failure::wrong(format!("{place}.function.name"), text));
    }
    let parameters = function.parameters.clone().unwrap_or_else(|| json!({"type": "object"}));
    if !parameters.is_object() {
        let text = "it must be a JSON Schema, which is an object";
        return Err(Failure::wrong(format!("{place}.function.parameters"), text));
    }
    let description = function.description.clone().unwrap_or_default();
    Ok(ToolSpec::new(name.clone(), description, parameters))
}

/// How the client wants the model to be asked; `knows` tells which tools there are.
pub(super) fn wishes(
    request: &ChatRequest,
    knows: impl Fn(&str) -> bool,
) -> Result<RequestOptions, Failure> {
    let temperature = request.temperature;
    if temperature.is_some_and(|daring| !(0.0..=MOST_DARING).contains(&daring)) {
        return Err(Failure::wrong("temperature", "it must be between 0 and 2"));
    }
    let choice = match &request.tool_choice {
        None => ToolChoice::Auto,
        Some(Choice::Word(word)) => match word.as_str() {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::Never,
            "required" => ToolChoice::Any,
            _ => return Err(Failure::wrong("tool_choice", "it is auto, none, required or a tool")),
        },
        Some(Choice::Named { function }) if knows(&function.name) => {
            ToolChoice::One(function.name.clone())
        }
        Some(Choice::Named { function }) => {
            let text = format!("there is no tool `{}`", function.name);
            return Err(Failure::wrong("tool_choice.function.name", text));
        }
    };
    let max_tokens = request.max_completion_tokens.or(request.max_tokens).map(Into::into);
    // Nobody reads the turns of an answer that comes in one piece.
    let whole_turns = !request.stream.unwrap_or_default();
    Ok(RequestOptions { max_tokens, temperature, choice, whole_turns })
}
