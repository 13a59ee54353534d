//! Chat for every client of OpenAI's chat completions API: our models answer, and the tools that they call run here
//! (SPEC §13).
//!
//! This is the server's side of that API; the models crate has the client's side.

mod wire;
mod convert;
mod failure;
mod models;
mod transcripts;
mod saved_conversation;
mod chat;
mod stream;
mod calls;
mod budget;
mod keyed;

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::{Path, State},
    http::{Method, StatusCode, Uri},
    middleware,
    response::{IntoResponse, Response},
    routing::{any, get, post},
};

use crate::{
    gateway::Parts,
    json_body::Json,
    questions::{Answers, Asker, Questions},
};
use chat::Chat;
use failure::ChatFailure;
use keyed::KeyedRequest;
use switchboard_access::Caller;

pub(crate) use keyed::resume_all;
pub use models::Models;
pub(crate) use wire::{
    ChatRequest, ChunkEvent, Completion, CompletionChunk, ErrorBody, ListedModel, ModelList,
};

/// Returns the routes for admitted requests.
pub(crate) fn routes() -> Router<Arc<Parts>> {
    Router::new()
        .route("/v1/chat/completions", post(complete))
        .route("/v1/models", get(list))
        .route("/v1/models/{model}", get(show))
        .route("/v1/{*rest}", any(nothing_here))
}

/// Converts errors from before these routes to OpenAI's format.
pub(crate) fn with_openai_errors(routes: Router<Arc<Parts>>) -> Router<Arc<Parts>> {
    routes.layer(middleware::map_response(failure::reworded))
}

/// Answers a chat; the tools that the model needs are run here.
#[utoipa::path(
    post, path = "/v1/chat/completions", operation_id = "create_chat_completion", tag = "chat",
    params(
        ("Idempotency-Key" = inline(Option<String>), Header,
            description = "The caller's word for this very request: repeated, it gets the answer of the same run, which goes on \
                even if the caller hangs up",
            min_length = 1, max_length = 255, pattern = "^[!-~]+$", nullable = false),
        ("X-Switchboard-Answers" = inline(Option<String>), Header,
            description = "As with calls: what the caller answers through `/api/questions`",
            pattern = "^(elicitation|sampling)(, ?(elicitation|sampling))?$", nullable = false)),
    request_body = ChatRequest,
    responses(
        (status = 200, description = "The answer, or with `stream` the chunks of it", content(
            (Completion = "application/json"), (ChunkEvent = "text/event-stream"))),
        (status = 400, description = "The request is wrong; `param` says where", body = ErrorBody),
        (status = 401, description = "Missing or unknown token", body = ErrorBody),
        (status = 403, description = "A foreign page or host", body = ErrorBody),
        (status = 404, description = "There is no such model", body = ErrorBody),
        (status = 409, description = "The idempotency key was used for another request", body = ErrorBody),
        (status = 413, description = "The request is too large", body = ErrorBody),
        (status = 429, description = "Too many requests, of the token or at the provider", body = ErrorBody),
        (status = 500, description = "Something of ours is broken", body = ErrorBody),
        (status = 502, description = "The provider failed, or the model did not come to an answer", body = ErrorBody),
        (status = 503, description = "The provider has too much to do, or the gateway is stopping", body = ErrorBody),
        (status = 504, description = "It took too long", body = ErrorBody),
    )
)]
pub(crate) async fn complete(
    State(parts): State<Arc<Parts>>,
    Extension(caller): Extension<Caller>,
    Extension(questions): Extension<Questions>,
    headers: axum::http::HeaderMap,
    body: Result<axum::body::Bytes, axum::extract::rejection::BytesRejection>,
) -> Result<Response, ChatFailure> {
    let body = body?;
    let mut request = convert::read(&body)?;
    let answers = Answers::read(&headers)
        .map_err(|problem| ChatFailure::new(StatusCode::BAD_REQUEST, problem))?;
    let back = Asker::channel_to(&caller, answers, &questions, &parts, Some(&request.model), None);
    let trace = crate::trace::of(&headers);
    let prepare = move |chat: &mut Chat| {
        chat.cx.caller_channel = back;
        chat.cx.trace = trace;
    };
    if let Some(key) = headers.get("idempotency-key") {
        let key = key.to_str().unwrap_or_default();
        match KeyedRequest::new(&parts, &caller, request, &body, key)? {
            Ok(keyed) => return keyed.answer(prepare).await,
            // Runs are not recorded, so that nothing is known of an earlier one.
            Err(unkeyed) => request = unkeyed,
        }
    }
    let mut chat = Chat::new(parts, &caller, &request).await?;
    prepare(&mut chat);
    match request.stream.unwrap_or_default() {
        true => stream::answer(chat).await,
        false => Ok(Json(chat.answer().await?).into_response()),
    }
}

/// The models that can be asked.
#[utoipa::path(
    get, path = "/v1/models", operation_id = "list_models", tag = "chat",
    responses(
        (status = 200, description = "Their names, in the config's order", body = ModelList),
        (status = 401, description = "Missing or unknown token", body = ErrorBody),
        (status = 403, description = "A foreign page or host", body = ErrorBody),
        (status = 429, description = "The token's share is used up", body = ErrorBody),
    )
)]
pub(crate) async fn list(State(parts): State<Arc<Parts>>) -> Json<ModelList> {
    Json(ModelList::new(parts.models.names().iter().map(ListedModel::new).collect()))
}

/// One of the models.
#[utoipa::path(
    get, path = "/v1/models/{model}", operation_id = "retrieve_model", tag = "chat",
    params(("model" = String, Path, description = "Its name")),
    responses(
        (status = 200, description = "The model", body = ListedModel),
        (status = 401, description = "Missing or unknown token", body = ErrorBody),
        (status = 403, description = "A foreign page or host", body = ErrorBody),
        (status = 404, description = "There is no such model", body = ErrorBody),
        (status = 429, description = "The token's share is used up", body = ErrorBody),
    )
)]
pub(crate) async fn show(
    State(parts): State<Arc<Parts>>,
    Path(model): Path<String>,
) -> Result<Json<ListedModel>, ChatFailure> {
    let known = parts.models.names().contains(&model);
    known.then(|| Json(ListedModel::new(&model))).ok_or_else(|| parts.models.unknown(&model))
}

/// Responds to paths of OpenAI's API that we do not have.
async fn nothing_here(method: Method, uri: Uri) -> ChatFailure {
    ChatFailure::not_found(format!("there is no `{method} {}` here; see /openapi.json", uri.path()))
}
