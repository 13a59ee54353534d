//! Parses `sampling/createMessage`, a server's request for a model's response, and builds the result.

use serde_json::{Value, json};

/// How many bytes of text a request may have: people read it before they allow it.
const MOST_TEXT: usize = 64 * 1024;
/// How many bytes its pictures may have, in base64.
const MOST_PICTURES: usize = 16 * 1024 * 1024;

/// A request to ask a model.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SamplingRequest {
    /// The system prompt.
    pub system: Option<String>,
    /// The conversation.
    pub messages: Vec<SamplingMessage>,
    /// The most tokens of the answer.
    pub max_tokens: Option<u32>,
    /// How freely it may answer.
    pub temperature: Option<f64>,
}

/// One message of the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SamplingMessage {
    /// Whether the model said it; the user did otherwise.
    pub is_assistant: bool,
    /// The text.
    pub text: String,
    /// Pictures: media types, and the bytes in base64.
    pub pictures: Vec<(String, String)>,
}

impl SamplingRequest {
    /// Reads the parameters of `sampling/createMessage`.
    ///
    /// # Errors
    /// Says why no model can be asked this.
    pub fn read(params: &Value) -> Result<Self, String> {
        if params["tools"].as_array().is_some_and(|tools| !tools.is_empty()) {
            return Err("the model is to use tools of the server's, which is not supported".into());
        }
        let messages = params["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let messages: Vec<_> = messages.iter().map(message).collect::<Result<_, _>>()?;
        if messages.last().is_none_or(|last| last.is_assistant) {
            return Err("its last message is not the user's".to_owned());
        }
        let system = params["systemPrompt"].as_str().map(str::to_owned);
        let texts = messages.iter().map(|message| message.text.len()).sum::<usize>();
        let text = texts + system.as_ref().map_or(0, String::len);
        if text > MOST_TEXT {
            return Err(format!(
                "it has {text} bytes of text, and {MOST_TEXT} at most can be shown"
            ));
        }
        let pictures = messages.iter().flat_map(|message| &message.pictures);
        if pictures.map(|(_, data)| data.len()).sum::<usize>() > MOST_PICTURES {
            return Err("its pictures are too large".to_owned());
        }
        let max_tokens =
            params["maxTokens"].as_u64().map(|most| u32::try_from(most).unwrap_or(u32::MAX));
        Ok(Self { system, messages, max_tokens, temperature: params["temperature"].as_f64() })
    }
}

fn message(message: &Value) -> Result<SamplingMessage, String> {
    let is_assistant = match message["role"].as_str() {
        Some("user") => false,
        Some("assistant") => true,
        _ => return Err(format!("a message is of the role {}", message["role"])),
    };
    let mut read = SamplingMessage { is_assistant, ..SamplingMessage::default() };
    let parts = match &message["content"] {
        Value::Array(parts) => parts.as_slice(),
        one => std::slice::from_ref(one),
    };
    for part in parts {
        let text = |key: &str| part[key].as_str().unwrap_or_default().to_owned();
        match part["type"].as_str() {
            Some("text") => {
                if !read.text.is_empty() {
                    read.text.push('\n');
                }
                read.text.push_str(&text("text"));
            }
            Some("image") if !is_assistant => read.pictures.push((text("mimeType"), text("data"))),
            _ => return Err(format!("a message has content of the type {}", part["type"])),
        }
    }
    Ok(read)
}

/// Builds the result of `sampling/createMessage`: the model's response, and why it stopped, in MCP's terms.
pub fn sampled(model: &str, text: &str, stop: &str) -> Value {
    json!({
        "role": "assistant",
        "content": {"type": "text", "text": text},
        "model": model,
        "stopReason": stop,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(messages: Value) -> Result<SamplingRequest, String> {
        SamplingRequest::read(&json!({"messages": messages, "maxTokens": 50, "temperature": 0.5}))
    }

    #[test]
    fn a_request_is_read() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let request = read(json!([
            {"role": "user", "content": text("one")},
            {"role": "assistant", "content": [text("two"), text("three")]},
            {"role": "user", "content": [{"type": "image", "mimeType": "image/png", "data": "AA=="}, text("four")]},
        ]));
        let request = request.expect("a request");
        let texts: Vec<_> = request.messages.iter().map(|message| message.text.as_str()).collect();
        assert_eq!(texts, ["one", "two\nthree", "four"]);
        assert_eq!(request.messages[2].pictures, [("image/png".to_owned(), "AA==".to_owned())]);
        assert_eq!((request.max_tokens, request.temperature), (Some(50), Some(0.5)));
    }

    #[test]
    fn what_no_model_can_be_asked_is_refused() {
        let said = |role: &str, text: &str| json!([{"role": role, "content": {"type": "text", "text": text}}]);
        let cases = [
            (read(json!([])), "its last message is not the user's"),
            (read(said("assistant", "hi")), "its last message is not the user's"),
            (read(said("system", "hi")), "a message is of the role \"system\""),
            (
                read(json!([{"role": "user", "content": {"type": "audio"}}])),
                "a message has content of the type \"audio\"",
            ),
            (
                read(said("user", &"x".repeat(1 << 20))),
                "it has 1048576 bytes of text, and 65536 at most can be shown",
            ),
            (
                SamplingRequest::read(
                    &json!({"messages": said("user", "hi"), "tools": [{"name": "x"}]}),
                ),
                "the model is to use tools of the server's, which is not supported",
            ),
        ];
        for (found, expected) in cases {
            assert_eq!(found.expect_err("no request"), expected);
        }
    }
}
