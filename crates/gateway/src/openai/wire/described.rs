//! The shapes of a request as `/openapi.json` describes them.
//!
//! The parser is more lenient than these, so that an error can name the invalid field.

use serde::Deserialize;
use utoipa::ToSchema;

use super::{ChatCall, ImageUrl, NamedTool};

/// One message of the conversation, by who says it.
#[derive(Deserialize, ToSchema)]
#[serde(tag = "role", rename_all = "lowercase")]
#[expect(dead_code, reason = "describes what is read into ChatMessage")]
pub(crate) enum MessageByRole {
    System {
        content: ContentByKind,
    },
    Developer {
        content: ContentByKind,
    },
    User {
        content: ContentByKind,
        /// Whether it is never left out to fit the model's window.
        pinned: Option<bool>,
    },
    Assistant {
        content: Option<ContentByKind>,
        /// Its calls.
        tool_calls: Option<Vec<ChatCall>>,
        /// Whether it is never left out to fit the model's window.
        pinned: Option<bool>,
    },
    Tool {
        content: ContentByKind,
        /// Which call it answers.
        tool_call_id: String,
    },
}

/// The content of a message: text, or parts.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes what is read into ChatContent")]
pub(crate) enum ContentByKind {
    Text(String),
    Parts(Vec<PartByType>),
}

/// A content part. Images are for users and tools.
#[derive(Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(dead_code, reason = "describes what is read into ChatPart")]
pub(crate) enum PartByType {
    Text { text: String },
    Refusal { refusal: String },
    ImageUrl { image_url: ImageUrl },
}

/// Always `function`.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FunctionOnly {
    Function,
}

/// Whether the model may call, must call, or must call one tool.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes what is read into ToolChoiceParam")]
pub(crate) enum ChoiceByKind {
    Word(ChoiceByWord),
    Tool { r#type: FunctionOnly, function: NamedTool },
}

/// Whether the model may call, must not, or must.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ChoiceByWord {
    Auto,
    None,
    Required,
}

/// An event of the answer in chunks.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes what a stream sends")]
pub(crate) struct ChunkEvent {
    /// A `CompletionChunk` as JSON, or `[DONE]` at the end.
    data: String,
}
