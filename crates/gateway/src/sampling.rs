//! Asks a model on behalf of an MCP server (`sampling/createMessage`). Whether the server may is checked before.

use serde_json::Value;
use switchboard_mcp_wire::sampling::{SamplingMessage, SamplingRequest, sampled};
use switchboard_models::{
    AiMessage, Image, Message, Model, ModelError, Request, StopReason, UserMessage,
};

/// Asks `model` and returns the answer as the result of `sampling/createMessage`, in which the model is called `name`.
///
/// # Errors
/// The model failed.
pub async fn ask(
    model: &dyn Model,
    name: &str,
    request: &SamplingRequest,
) -> Result<Value, ModelError> {
    let system = request.system.iter().map(|system| Message::System(system.clone()));
    let messages: Vec<_> = system.chain(request.messages.iter().map(message)).collect();
    let mut asked = Request::new(&messages);
    asked.max_tokens = request.max_tokens;
    asked.temperature = request.temperature;
    let turn = model.ask(&asked, &|_| {}).await?;
    let stop = match turn.stop {
        StopReason::MaxTokens => "maxTokens",
        _ => "endTurn",
    };
    Ok(sampled(name, &turn.message.content, stop))
}

fn message(message: &SamplingMessage) -> Message {
    if message.is_assistant {
        return Message::Ai(AiMessage::text(message.text.clone()));
    }
    let image = |(media_type, data): &(String, String)| Image {
        media_type: media_type.clone(),
        data: data.clone(),
    };
    let images = message.pictures.iter().map(image).collect();
    Message::User(UserMessage { images, ..message.text.clone().into() })
}
