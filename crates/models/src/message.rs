//! A conversation's messages, in the form that no provider owns.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_toolcall::ToolCall;

use crate::{
    Arguments, Provider, ToolReply, UnparsableArguments,
    reply::{Audio, Image},
};

/// One message of a conversation. Serializes flat, with its `role`, for transcripts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SavedMessage", into = "SavedMessage")]
pub enum Message {
    /// What the model should know and obey.
    System(String),
    /// What the user said.
    User(UserMessage),
    /// What the model said.
    Ai(AiMessage),
    /// What came of one call.
    Tool(ToolReply),
}

/// What the user said: text, and images for models that take them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserMessage {
    /// The text.
    pub content: String,
    /// What the user showed beside it.
    pub images: Vec<Image>,
    /// Whether it stays as it is when a conversation is shortened to fit. No provider is told.
    pub pinned: bool,
}

impl<T: Into<String>> From<T> for UserMessage {
    fn from(text: T) -> Self {
        Self { content: text.into(), ..Self::default() }
    }
}

/// What a model said: text, calls, and what only its provider understands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AiMessage {
    /// The text; empty if there is none.
    pub content: String,
    /// The calls, in the model's order.
    pub tool_calls: Vec<ModelCall>,
    /// What the provider sent beside them and wants to see again.
    pub native: Option<NativeContent>,
    /// Whether it stays as it is when a conversation is shortened to fit. No provider is told.
    pub pinned: bool,
}

impl AiMessage {
    /// A message of nothing but text.
    pub fn text(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }
}

/// A call as a model asked for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    /// Unique within the conversation; generated if the provider sent none.
    pub id: String,
    /// The tool's own name, not the one that was sent in its place.
    pub name: String,
    /// The arguments, if they are any.
    pub args: Arguments,
    /// Whether the call was found in text that should have been a call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recovered: bool,
}

impl ModelCall {
    /// The call as the executor takes it.
    ///
    /// # Errors
    /// The arguments are no JSON object.
    pub fn to_tool_call(&self) -> Result<ToolCall, &UnparsableArguments> {
        match &self.args {
            Arguments::Object(args) => {
                Ok(ToolCall::new(self.name.clone(), args.clone()).with_id(self.id.clone()))
            }
            Arguments::Unparsable(text) => Err(text),
        }
    }
}

/// What one provider sent with a message, replayed to it verbatim: thinking blocks, signatures, reasoning fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NativeContent {
    /// The provider that the part belongs to; others never see it.
    pub provider: Provider,
    /// As it came.
    pub content: Value,
}

/// A message as transcripts hold it. Flat and written out, because a tagged enum would lose digits of numbers
/// (`arbitrary_precision`).
#[derive(Serialize, Deserialize)]
struct SavedMessage {
    role: Role,
    #[serde(default)]
    content: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ModelCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    images: Vec<Image>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    audio: Vec<Audio>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    native: Option<NativeContent>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pinned: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    System,
    User,
    #[serde(alias = "ai")]
    Assistant,
    Tool,
}

impl SavedMessage {
    fn new(role: Role, content: String) -> Self {
        Self {
            role,
            content,
            tool_calls: Vec::new(),
            tool_call_id: None,
            is_error: None,
            images: Vec::new(),
            audio: Vec::new(),
            native: None,
            pinned: false,
        }
    }
}

impl From<Message> for SavedMessage {
    fn from(message: Message) -> Self {
        match message {
            Message::System(content) => Self::new(Role::System, content),
            Message::User(UserMessage { content, images, pinned }) => {
                Self { images, pinned, ..Self::new(Role::User, content) }
            }
            Message::Ai(AiMessage { content, tool_calls, native, pinned }) => {
                Self { tool_calls, native, pinned, ..Self::new(Role::Assistant, content) }
            }
            Message::Tool(ToolReply { content, tool_call_id, is_error, images, audio }) => Self {
                tool_call_id: Some(tool_call_id),
                is_error: Some(is_error),
                images,
                audio,
                ..Self::new(Role::Tool, content)
            },
        }
    }
}

impl TryFrom<SavedMessage> for Message {
    type Error = &'static str;

    fn try_from(saved: SavedMessage) -> Result<Self, Self::Error> {
        let SavedMessage {
            role,
            content,
            tool_calls,
            tool_call_id,
            is_error,
            images,
            audio,
            native,
            pinned,
        } = saved;
        Ok(match role {
            Role::System => Self::System(content),
            Role::User => Self::User(UserMessage { content, images, pinned }),
            Role::Assistant => Self::Ai(AiMessage { content, tool_calls, native, pinned }),
            Role::Tool => Self::Tool(ToolReply {
                content,
                tool_call_id: tool_call_id.ok_or("a tool message without `tool_call_id`")?,
                is_error: is_error.unwrap_or(false),
                images,
                audio,
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // ML-8
    #[test]
    fn transcripts_read_back_as_they_were_written() {
        let texts = [
            r#"{"role":"system","content":"Be brief."}"#,
            r#"{"role":"user","content":"Hi"}"#,
            r#"{"role":"user","content":"This?","images":[{"media_type":"image/png","data":"AAAA"}]}"#,
            r#"{"role":"assistant","content":"","tool_calls":[{"id":"call_1","name":"f","args":{"n":1.50},"recovered":true},{"id":"call_2","name":"g","args":"{\"a\":"}],"native":{"provider":"anthropic","content":[{"type":"thinking","thinking":"","signature":"x"}]}}"#,
            r#"{"role":"user","content":"Remember","pinned":true}"#,
            r#"{"role":"assistant","content":"I will","pinned":true}"#,
            r#"{"role":"tool","content":"ok","tool_call_id":"call_1","is_error":false}"#,
            r#"{"role":"tool","content":"","tool_call_id":"call_2","is_error":true,"images":[{"media_type":"image/png","data":"AA=="}],"audio":[{"media_type":"audio/wav","data":"AA=="}]}"#,
        ];
        for text in texts {
            let message: Message = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&message).unwrap(), text);
        }
        let error = serde_json::from_str::<Message>(r#"{"role":"tool","content":""}"#).unwrap_err();
        assert!(error.to_string().contains("tool_call_id"), "{error}");
    }
}
