//! POST: reads a message, decides its era and answers it.

mod batch;
mod legacy;
mod modern;

use std::{pin::pin, sync::Arc};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Response, StatusCode, request};
use http_body_util::{BodyExt, LengthLimitError};
use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_toolcall::BoxError;

use super::{
    Admission, McpBody, SESSION,
    headers::{self, Accepts},
    response::{self, ErrorResponse},
};
use crate::{
    McpCaller, ServerInner,
    rpc_request::{RpcRequest, is_id},
};
use switchboard_mcp_wire::{
    self as wire, IncomingMessage, RequestParams, RpcError, UnreadableMessage, eras,
};

/// Answers a POST.
pub(super) async fn post<B>(
    inner: &Arc<ServerInner>,
    request: &request::Parts,
    body: B,
    caller: &McpCaller,
    admission: &dyn Admission,
) -> Response<McpBody>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let head = &request.headers;
    if !headers::is_json(head) {
        let error = RpcError::new(RpcError::INVALID_REQUEST, "the body must be application/json");
        return response::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, None, error);
    }
    if headers::accepts(head) == (Accepts { json: false, events: false }) {
        let text = "the answer is application/json or text/event-stream";
        let error = RpcError::new(RpcError::INVALID_REQUEST, text);
        return response::error(StatusCode::NOT_ACCEPTABLE, None, error);
    }
    let bytes = match read(inner, body).await {
        Ok(bytes) => bytes,
        Err(refused) => return *refused,
    };
    if bytes.trim_ascii_start().starts_with(b"[") {
        return batch::batch(inner, request, &bytes, caller, admission).await;
    }
    match wire::parse_of_client(&bytes) {
        Ok(message) => answer(inner, head, message, caller).await,
        Err(UnreadableMessage::Params { id, error }) => {
            response::error(StatusCode::BAD_REQUEST, Some(&*id).filter(|id| is_id(id)), error)
        }
        Err(UnreadableMessage::NotJsonRpc(_)) => unreadable(&bytes),
    }
}

async fn read<B>(inner: &ServerInner, body: B) -> Result<Bytes, ErrorResponse>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let limit = inner.config.max_message();
    let mut body = pin!(body);
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| unread(&error.into()))?;
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + rest.len() + data.len() > limit {
            let text = format!("the message has more than {limit} bytes");
            let error = RpcError::new(RpcError::INVALID_REQUEST, text);
            return Err(Box::new(response::error(StatusCode::PAYLOAD_TOO_LARGE, None, error)));
        }
        // Most messages come in one frame, which is then not copied.
        match first.is_empty() {
            true => first = data,
            false => rest.extend_from_slice(&data),
        }
    }
    if rest.is_empty() {
        return Ok(first);
    }
    Ok([&first[..], &rest[..]].concat().into())
}

/// Makes the response to an unreadable body; the embedder may limit its size too.
fn unread(error: &BoxError) -> ErrorResponse {
    let (status, error) = match error.is::<LengthLimitError>() {
        true => {
            let text = "the message has more bytes than are taken here";
            (StatusCode::PAYLOAD_TOO_LARGE, RpcError::new(RpcError::INVALID_REQUEST, text))
        }
        false => {
            let text = format!("the body broke off: {error}");
            (StatusCode::BAD_REQUEST, RpcError::new(RpcError::PARSE_ERROR, text))
        }
    };
    Box::new(response::error(status, None, error))
}

async fn answer(
    inner: &Arc<ServerInner>,
    head: &HeaderMap,
    message: IncomingMessage<RequestParams>,
    caller: &McpCaller,
) -> Response<McpBody> {
    let session = headers::text(head, SESSION);
    let version = headers::text(head, headers::VERSION);
    match message {
        IncomingMessage::Request { id, method, params } => {
            let mut rpc = RpcRequest::new(id, method, params);
            if let Err(error) = rpc.check() {
                let id = Some(&*rpc.id).filter(|id| is_id(id));
                return response::error(StatusCode::BAD_REQUEST, id, error);
            }
            rpc.trace = rpc.trace.or_else(|| headers::trace(head));
            match era(&rpc, session, version) {
                RequestKind::Modern => modern::answer(inner, head, rpc, caller).await,
                RequestKind::Initialize => legacy::initialize(inner, rpc, caller),
                RequestKind::Legacy => legacy::answer(inner, head, rpc, caller).await,
            }
        }
        message if session.is_some() => legacy::take(inner, head, message, caller).await,
        // A stateless client has no pending request of ours and nothing to notify.
        _ if version.is_some_and(|version| !eras::LEGACY.contains(&version)) => {
            response::empty(StatusCode::ACCEPTED)
        }
        message => legacy::take(inner, head, message, caller).await,
    }
}

/// How a request is answered.
enum RequestKind {
    Modern,
    Initialize,
    Legacy,
}

fn era(rpc: &RpcRequest, session: Option<&str>, version: Option<&str>) -> RequestKind {
    let legacy_version = version.is_none_or(|version| eras::LEGACY.contains(&version));
    if rpc.is_modern() {
        RequestKind::Modern
    } else if rpc.method == "initialize" {
        RequestKind::Initialize
    } else if session.is_none() && (!legacy_version || rpc.method == "server/discover") {
        RequestKind::Modern
    } else {
        RequestKind::Legacy
    }
}

/// Makes the response to bytes that are no message: not JSON, or no JSON-RPC.
fn unreadable(bytes: &[u8]) -> Response<McpBody> {
    #[derive(Deserialize)]
    struct Any<'a> {
        #[serde(borrow, default)]
        id: Option<&'a RawValue>,
    }
    let valid = serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok();
    if !valid {
        let text = match bytes.trim_ascii().is_empty() {
            true => "the body is empty",
            false => "the body is not JSON",
        };
        let error = RpcError::new(RpcError::PARSE_ERROR, text);
        return response::error(StatusCode::BAD_REQUEST, None, error);
    }
    let any = serde_json::from_slice::<Any<'_>>(bytes).ok();
    let id = any.and_then(|any| any.id).filter(|id| is_id(id));
    let error = RpcError::new(RpcError::INVALID_REQUEST, "the body is not a JSON-RPC 2.0 message");
    response::error(StatusCode::BAD_REQUEST, id, error)
}
