//! Batches: several messages in one request, which only the revision 2025-03-26 has (SPEC GW-7).

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use http::{Response, StatusCode, request};
use serde_json::value::RawValue;
use switchboard_toolcall::BoxFuture;

use super::legacy;
use crate::{
    McpCaller, ServerInner,
    http::{Admission, McpBody, SESSION, headers, response},
    rpc_request::RpcRequest,
    session::Session,
};
use switchboard_mcp_wire::{self as wire, IncomingMessage, Outgoing, RpcError, UnreadableMessage};

/// How many messages a batch may have.
const MOST_MESSAGES: usize = 50;

/// The response to one request of a batch; `None` if it is cancelled.
type BatchAnswer = BoxFuture<'static, Option<Bytes>>;

/// Answers a batch.
pub(super) async fn batch(
    inner: &Arc<ServerInner>,
    request: &request::Parts,
    bytes: &[u8],
    caller: &McpCaller,
    admission: &dyn Admission,
) -> Response<McpBody> {
    let wrong = |text: &str, code| {
        response::error(StatusCode::BAD_REQUEST, None, RpcError::new(code, text))
    };
    let Ok(messages) = serde_json::from_slice::<Vec<&RawValue>>(bytes) else {
        return wrong("the body is not JSON", RpcError::PARSE_ERROR);
    };
    if messages.len() > MOST_MESSAGES {
        let text = format!("a batch has at most {MOST_MESSAGES} messages, not {}", messages.len());
        return wrong(&text, RpcError::INVALID_REQUEST);
    }
    let Some(session) = session(inner, request, caller).await.filter(|_| !messages.is_empty())
    else {
        return wrong("batches are not part of this protocol version", RpcError::INVALID_REQUEST);
    };
    let mut answers: Vec<BatchAnswer> = Vec::new();
    for message in messages {
        match wire::parse_of_client(message.get().as_bytes()) {
            Ok(IncomingMessage::Request { id, method, params }) => {
                let rpc = RpcRequest::new(id, method, params);
                if rpc.check().is_err() {
                    return wrong("a request of the batch is not usable", RpcError::INVALID_PARAMS);
                }
                // The first one was admitted with the HTTP request.
                let permit = match answers.is_empty() {
                    true => None,
                    false => match admission.admit(request).await {
                        Ok(permit) => Some(permit),
                        Err(error) => {
                            answers.push(refused(&rpc.id, &error));
                            continue;
                        }
                    },
                };
                // Notifications cannot be part of the array of responses, so they go to the session's stream.
                let work = legacy::work(inner, &session, rpc, caller, session.outbox.clone());
                answers.push(Box::pin(async move {
                    let answer = work.await;
                    drop(permit);
                    answer
                }));
            }
            Ok(message) => inner.take(&session, message).await,
            Err(UnreadableMessage::Params { .. }) => {
                return wrong("a request of the batch is not usable", RpcError::INVALID_PARAMS);
            }
            Err(UnreadableMessage::NotJsonRpc(_)) => {
                return wrong("a message of the batch is not JSON-RPC", RpcError::INVALID_REQUEST);
            }
        }
    }
    let answers: Vec<_> = join_all(answers).await.into_iter().flatten().collect();
    if answers.is_empty() {
        return response::empty(StatusCode::ACCEPTED);
    }
    response::json(StatusCode::OK, [b"[", answers.join(&b","[..]).as_slice(), b"]"].concat())
}

/// Returns the session, if its protocol version has batches.
async fn session(
    inner: &ServerInner,
    request: &request::Parts,
    caller: &McpCaller,
) -> Option<Arc<Session>> {
    let id = headers::text(&request.headers, SESSION)?;
    let session = inner.session(id, caller).await.ok();
    session.filter(|session| session.version == "2025-03-26")
}

/// Makes the response to a request that was not admitted.
fn refused(id: &RawValue, error: &RpcError) -> BatchAnswer {
    let answer = Bytes::from(Outgoing::error(id, error).to_bytes());
    Box::pin(std::future::ready(Some(answer)))
}
