//! The messages of OpenAI's chat completions, from the server's side.

mod described;

use std::num::NonZeroU32;

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, Error},
};
use serde_json::{Map, Value};
use utoipa::ToSchema;

pub(crate) use described::ChunkEvent;
use described::{ChoiceByKind, FunctionOnly, MessageByRole};

/// A request. Unknown fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ChatRequest {
    /// The name of a model of the config.
    pub(super) model: String,
    /// The conversation so far; the user or a tool has the last word.
    #[schema(min_items = 1, value_type = Vec<MessageByRole>)]
    pub(super) messages: Vec<ChatMessage>,
    /// Whether the answer comes in chunks.
    pub(super) stream: Option<bool>,
    #[serde(default, deserialize_with = "object")]
    pub(super) stream_options: Option<StreamOptions>,
    /// How daring the model is.
    #[schema(minimum = 0, maximum = 2)]
    pub(super) temperature: Option<f64>,
    /// The most tokens of each turn of the model.
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 4_294_967_295u64)]
    pub(super) max_tokens: Option<NonZeroU32>,
    /// The newer name of `max_tokens`.
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 4_294_967_295u64)]
    pub(super) max_completion_tokens: Option<NonZeroU32>,
    /// The client's own tools: their calls come back, and are never run here.
    pub(super) tools: Option<Vec<ClientTool>>,
    #[schema(value_type = Option<ChoiceByKind>)]
    pub(super) tool_choice: Option<ToolChoiceParam>,
    /// What the answer has to fit. It is asked for once more if it does not; then the request fails.
    #[serde(default, deserialize_with = "object")]
    pub(super) response_format: Option<ResponseFormat>,
    /// Stands in the records as the conversation.
    pub(super) user: Option<String>,
    /// The id of a chat of `/api/chats` that is gone on with, or begun: `messages` are then only those that are new, and the chat
    /// is kept as the command `chat` keeps its own.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9-]+$")]
    pub(super) chat: Option<String>,
    /// How many answers; only one can be had.
    #[schema(minimum = 1, maximum = 1)]
    pub(super) n: Option<u64>,
}

/// Reads an object: without it, a list of the fields' values would be accepted, too.
fn object<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let fields = Option::<Map<String, Value>>::deserialize(deserializer)?;
    fields.map(|fields| T::deserialize(Value::Object(fields))).transpose().map_err(D::Error::custom)
}

/// The form of an answer: `text`, `json_object`, or `json_schema`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ResponseFormat {
    #[serde(rename = "type")]
    #[schema(pattern = "^(text|json_object|json_schema)$")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "object")]
    #[schema(value_type = Option<NamedSchema>)]
    pub(super) json_schema: Option<NamedSchema>,
}

/// The schema of an answer. Other fields, such as `name` and `strict`, change nothing: every answer is checked.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct NamedSchema {
    #[schema(value_type = Option<Object>)]
    pub(super) schema: Option<Map<String, Value>>,
}

/// How an answer in chunks is wanted.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct StreamOptions {
    /// Whether the last chunk has the usage.
    pub(super) include_usage: Option<bool>,
    /// Whether the events `call_started`, `call_progress` and `call_ended` report tool calls.
    pub(super) include_calls: Option<bool>,
}

/// One message of the conversation.
#[derive(Debug, Deserialize)]
pub(crate) struct ChatMessage {
    pub(super) role: ChatRole,
    pub(super) content: Option<ChatContent>,
    /// The assistant's calls.
    pub(super) tool_calls: Option<Vec<ChatCall>>,
    /// Which call a tool's message answers.
    pub(super) tool_call_id: Option<String>,
    /// Whether a user's or an assistant's message is never left out to fit the model's window. OpenAI has no such field.
    pub(super) pinned: Option<bool>,
}

/// The role of a message.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ChatRole {
    System,
    Developer,
    User,
    Assistant,
    Tool,
}

/// The content of a message: text, or parts.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "the content must be a string or a list of parts")]
pub(crate) enum ChatContent {
    Text(String),
    Parts(Vec<ChatPart>),
}

/// A content part: `text`, `refusal`, or `image_url` with a data URL.
#[derive(Debug, Deserialize)]
pub(crate) struct ChatPart {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) text: Option<String>,
    pub(super) refusal: Option<String>,
    pub(super) image_url: Option<ImageUrl>,
}

/// An image in the URL itself: `data:image/png;base64,…`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ImageUrl {
    #[schema(pattern = "^data:image/[a-z+.-]+;base64,[A-Za-z0-9+/=]+$")]
    pub(super) url: String,
}

/// A tool that the client runs.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ClientTool {
    #[serde(rename = "type")]
    #[schema(value_type = FunctionOnly)]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "object")]
    #[schema(value_type = ClientFunction)]
    pub(super) function: Option<ClientFunction>,
}

/// The function of a client's tool.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ClientFunction {
    /// At most 64 characters of `[a-zA-Z0-9_-]`.
    #[schema(pattern = "^[a-zA-Z0-9_-]{1,64}$")]
    pub(super) name: String,
    pub(super) description: Option<String>,
    /// The JSON Schema of the arguments.
    #[schema(value_type = Option<Object>)]
    pub(super) parameters: Option<Value>,
}

/// Whether the model may call, must call, or must call one tool.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "tool_choice must be `auto`, `none`, `required` or {\"type\": \"function\", \"function\": {\"name\": …}}"
)]
pub(crate) enum ToolChoiceParam {
    Word(String),
    Named { function: NamedTool },
}

/// The tool that has to be called.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct NamedTool {
    pub(super) name: String,
}

/// A call, as the model asked for it.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
pub(crate) struct ChatCall {
    /// Its position, in chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) index: Option<usize>,
    pub(super) id: String,
    /// Always `function`.
    #[serde(rename = "type", default = "function")]
    pub(super) kind: String,
    pub(super) function: CalledFunction,
}

fn function() -> String {
    "function".to_owned()
}

/// Which tool is called, and how.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
pub(crate) struct CalledFunction {
    pub(super) name: String,
    /// A JSON object as text, as the model wrote it; it may be invalid JSON.
    pub(super) arguments: String,
}

impl ChatCall {
    pub(super) fn new(index: Option<usize>, id: String, name: String, arguments: String) -> Self {
        Self { index, id, kind: function(), function: CalledFunction { name, arguments } }
    }
}

/// A whole answer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Completion {
    pub(super) id: String,
    /// Always `chat.completion`.
    pub(super) object: &'static str,
    /// Seconds since 1970.
    pub(super) created: u64,
    pub(super) model: String,
    pub(super) choices: [CompletionChoice; 1],
    pub(super) usage: ChatUsage,
    /// A note for the client, such as an image that the model was not sent. Not part of OpenAI's API.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<String>,
}

/// The one answer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CompletionChoice {
    pub(super) index: u32,
    pub(super) message: AssistantMessage,
    pub(super) logprobs: Option<bool>,
    pub(super) finish_reason: FinishReason,
}

/// The model's message.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AssistantMessage {
    /// Always `assistant`.
    pub(super) role: &'static str,
    pub(super) content: Option<String>,
    pub(super) refusal: Option<String>,
    /// Calls of the client's own tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<ChatCall>,
}

/// Why the answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FinishReason {
    /// The answer is complete.
    Stop,
    /// The answer was cut.
    Length,
    /// The model, or its provider, declined.
    ContentFilter,
    /// The client has calls to run.
    ToolCalls,
}

/// What all turns cost together.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(crate) struct ChatUsage {
    pub(super) prompt_tokens: u64,
    pub(super) completion_tokens: u64,
    pub(super) total_tokens: u64,
}

/// A piece of an answer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CompletionChunk {
    pub(super) id: String,
    /// Always `chat.completion.chunk`.
    pub(super) object: &'static str,
    /// Seconds since 1970.
    pub(super) created: u64,
    pub(super) model: String,
    /// Empty in the chunk with the usage.
    pub(super) choices: Vec<ChunkChoice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<ChatUsage>,
    /// A note for the client, such as an image that the model was not sent. Not part of OpenAI's API.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<String>,
}

/// A piece of the one answer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChunkChoice {
    pub(super) index: u32,
    pub(super) delta: Delta,
    pub(super) logprobs: Option<bool>,
    pub(super) finish_reason: Option<FinishReason>,
}

/// The new part.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct Delta {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<String>,
    /// More of the model's thoughts, as other servers of this wire name them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<ChatCall>,
}

/// The models that can be asked.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelList {
    /// Always `list`.
    object: &'static str,
    data: Vec<ListedModel>,
}

impl ModelList {
    pub(super) fn new(data: Vec<ListedModel>) -> Self {
        Self { object: "list", data }
    }
}

/// A model that can be asked.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListedModel {
    id: String,
    /// Always `model`.
    object: &'static str,
    created: u64,
    owned_by: &'static str,
}

impl ListedModel {
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self { id: name.into(), object: "model", created: 0, owned_by: "switchboard" }
    }
}

/// How a request failed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    pub(super) error: ErrorDetails,
}

/// What went wrong, and where.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorDetails {
    pub(super) message: String,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) param: Option<String>,
    pub(super) code: Option<&'static str>,
}
