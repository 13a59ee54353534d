//! Chats that are kept, as the command `chat` keeps them: each caller's own.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{Path, State, rejection::PathRejection},
    http::StatusCode,
};
use serde::Serialize;
use serde_json::Value;
use switchboard_access::Caller;
use switchboard_agent::{ChatError, ChatStore, Transcript, chats};
use switchboard_models::{Arguments, Message};
use tokio::task::spawn_blocking;
use utoipa::ToSchema;

use crate::{
    error::ApiError,
    feed::timestamp,
    gateway::Parts,
    json_body::Json,
    rest::openapi::responses::{FailedResponse, RejectedResponse},
};

/// How many characters of a title are shown.
const TITLE: usize = 120;

/// The chats of the caller.
#[derive(Serialize, ToSchema)]
pub(crate) struct Chats {
    /// Whether chats are kept at all: there may be no place for them.
    kept: bool,
    chats: Vec<ListedChat>,
}

/// A chat in the list.
#[derive(Serialize, ToSchema)]
struct ListedChat {
    id: String,
    /// The model that answered last.
    model: String,
    started: String,
    updated: String,
    /// How many questions were asked.
    turns: usize,
    /// The first question.
    title: String,
}

/// A chat with its messages.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShownChat {
    id: String,
    /// The model that answered last.
    model: String,
    started: String,
    messages: Vec<ShownMessage>,
}

/// One message of a chat.
#[derive(Serialize, ToSchema)]
struct ShownMessage {
    /// `system`, `user`, `assistant` or `tool`.
    role: &'static str,
    content: String,
    /// The model's calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    tool_calls: Vec<ShownCall>,
    /// Which call a tool's message answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    tool_call_id: Option<String>,
    /// Whether the call failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    is_error: Option<bool>,
}

/// A call as the model asked for it.
#[derive(Serialize, ToSchema)]
struct ShownCall {
    id: String,
    tool: String,
    /// The arguments; a text if the model did not write JSON.
    arguments: Value,
}

/// The caller's chats, the last one first. A caller with a token sees its own, the owner those of the command `chat` too.
#[utoipa::path(
    get, path = "/api/chats", operation_id = "list_chats", tag = "chat",
    responses(
        (status = 200, description = "The chats", body = Chats),
        (status = 503, description = "They cannot be read", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn list(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Chats>, ApiError> {
    let store = store_of(&parts, &caller);
    let kept = store.keeps();
    let chats = at(store, |store| {
        // A broken chat is left out; the others are listed.
        let all = store.all()?.into_iter().filter_map(|saved| {
            let chat = chats::read(&saved.file).ok()?;
            let title = chat.title().split_whitespace().collect::<Vec<_>>().join(" ");
            Some(ListedChat {
                id: saved.id,
                updated: timestamp(saved.updated),
                turns: chat.turns(),
                title: title.chars().take(TITLE).collect(),
                model: chat.model,
                started: chat.started,
            })
        });
        Ok(all.collect())
    });
    Ok(Json(Chats { kept, chats: chats.await? }))
}

/// One of the caller's chats.
#[utoipa::path(
    get, path = "/api/chats/{id}", operation_id = "show_chat", tag = "chat",
    params(("id" = String, Path, description = "The id of the chat")),
    responses(
        (status = 200, description = "The chat", body = ShownChat),
        (status = 400, description = "The id is not valid UTF-8", body = FailedResponse),
        (status = 404, description = "There is no such chat", body = FailedResponse),
        (status = 503, description = "It cannot be read", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn show(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<ShownChat>, ApiError> {
    let Path(id) = id.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    let asked = id.clone();
    let found = at(store_of(&parts, &caller), move |store| store.get(&asked)).await?;
    found.map(|chat| Json(chat.into())).ok_or_else(|| unknown(&id))
}

/// Removes one of the caller's chats.
#[utoipa::path(
    delete, path = "/api/chats/{id}", operation_id = "remove_chat", tag = "chat",
    params(("id" = String, Path, description = "The id of the chat")),
    responses(
        (status = 204, description = "It is gone"),
        (status = 400, description = "The id is not valid UTF-8", body = FailedResponse),
        (status = 404, description = "There is no such chat", body = FailedResponse),
        (status = 503, description = "It cannot be removed", body = FailedResponse),
        RejectedResponse,
    )
)]
pub(crate) async fn remove(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    id: Result<Path<String>, PathRejection>,
) -> Result<StatusCode, ApiError> {
    let Path(id) = id.map_err(|rejection| ApiError::BadRequest(rejection.body_text()))?;
    let asked = id.clone();
    match at(store_of(&parts, &caller), move |store| store.remove(&asked)).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(unknown(&id)),
    }
}

/// Returns the chats of a caller: those of a token, or of a JWT's subject, are separate from the owner's.
pub(crate) fn store_of(parts: &Parts, caller: &Caller) -> ChatStore {
    match &caller.name {
        Some(name) => parts.chats.of_caller(name),
        None => parts.chats.clone(),
    }
}

fn unknown(id: &str) -> ApiError {
    ApiError::NotFound(format!("Chat '{id}' not found"))
}

/// Runs `work` with the store, off the serving threads.
async fn at<T: Send + 'static>(
    store: ChatStore,
    work: impl FnOnce(&ChatStore) -> Result<T, ChatError> + Send + 'static,
) -> Result<T, ApiError> {
    let done = spawn_blocking(move || work(&store)).await;
    let done = done.map_err(|error| ApiError::Unavailable(error.to_string()))?;
    done.map_err(|error| {
        tracing::error!(error = &error as &dyn std::error::Error, "chats failed");
        ApiError::Unavailable("the chats cannot be read or written; the log says why".to_owned())
    })
}

impl From<Transcript> for ShownChat {
    fn from(chat: Transcript) -> Self {
        let messages = chat.messages.messages().iter().map(ShownMessage::from).collect();
        Self { id: chat.id, model: chat.model, started: chat.started, messages }
    }
}

impl From<&Message> for ShownMessage {
    fn from(message: &Message) -> Self {
        let said = |role, content: &str| Self {
            role,
            content: content.to_owned(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            is_error: None,
        };
        match message {
            Message::System(text) => said("system", text),
            Message::User(user) => said("user", &user.content),
            Message::Ai(ai) => {
                let calls = ai.tool_calls.iter().map(|call| ShownCall {
                    id: call.id.clone(),
                    tool: call.name.clone(),
                    arguments: match &call.args {
                        Arguments::Object(object) => Value::Object(object.clone()),
                        Arguments::Unparsable(text) => Value::String(text.raw.clone()),
                    },
                });
                Self { tool_calls: calls.collect(), ..said("assistant", &ai.content) }
            }
            Message::Tool(reply) => Self {
                tool_call_id: Some(reply.tool_call_id.clone()),
                is_error: Some(reply.is_error),
                ..said("tool", &reply.content)
            },
        }
    }
}
