//! The shapes of a request as `/openapi.json` describes them.
//!
//! Requests are read with more patience than this, so that what is wrong can be named by its field.

use serde::Deserialize;
use utoipa::ToSchema;

use super::{ChatCall, ImageUrl, Named};

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
    },
    Assistant {
        content: Option<ContentByKind>,
        /// What it called.
        tool_calls: Option<Vec<ChatCall>>,
    },
    Tool {
        content: ContentByKind,
        /// Which call it answers.
        tool_call_id: String,
    },
}

/// What is said: text, or parts.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes what is read into Content")]
pub(crate) enum ContentByKind {
    Text(String),
    Parts(Vec<PartByType>),
}

/// A part of what is said. Images are for users and tools.
#[derive(Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(dead_code, reason = "describes what is read into Part")]
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
#[expect(dead_code, reason = "describes what is read into Choice")]
pub(crate) enum ChoiceByKind {
    Word(ChoiceByWord),
    Tool { r#type: FunctionOnly, function: Named },
}

/// Whether the model may call, must not, or must.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ChoiceByWord {
    Auto,
    None,
    Required,
}
