//! Stateless requests: answered with JSON if possible, else on a stream that lives as long as the request.

use std::{future::poll_fn, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use serde_json::Value;
use switchboard_toolcall::BoxFuture;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{
    McpCaller, ServerInner,
    exchange::RpcResult,
    http::{
        McpBody,
        body::{EventStream, KeepAlive},
        headers,
        response::{self, ErrorResponse},
        streams::stream_response,
    },
    outbox::Outbox,
    rpc_request::RpcRequest,
    stateless::StatelessRequest,
};
use switchboard_mcp_wire::{Outgoing, RpcError};

pub(super) async fn answer(
    inner: &Arc<ServerInner>,
    head: &HeaderMap,
    rpc: RpcRequest,
    caller: &McpCaller,
) -> Response<McpBody> {
    let request = match checked(inner, head, rpc, caller) {
        Ok(request) => request,
        Err(refused) => return *refused,
    };
    let id = request.rpc.id.clone();
    // `subscriptions/listen` is always a stream, whatever the client accepts.
    let accepts = headers::accepts(head);
    let streams = accepts.events || request.rpc.method == "subscriptions/listen";
    let outbox = Outbox::keeping(0);
    let cancel = CancellationToken::new();
    let mut work =
        Box::pin(inner.clone().answer_stateless(request, caller.clone(), outbox.clone(), cancel));
    let outcome = tokio::select! {
        biased;
        outcome = &mut work => Some(outcome),
        () = poll_fn(|cx| outbox.poll_any(cx)), if streams => None,
        () = sleep(inner.config.stream_after.0), if streams => None,
    };
    let work: BoxFuture<'static, Option<Bytes>> = match outcome {
        Some(outcome) if !streams || (accepts.json && outbox.is_empty()) => {
            let body = Outgoing::response(&id, &outcome).to_bytes();
            return response::json(status(&outcome), body);
        }
        outcome => Box::pin(async move {
            let outcome = match outcome {
                Some(outcome) => outcome,
                None => work.await,
            };
            Some(Outgoing::response(&id, &outcome).to_bytes().into())
        }),
    };
    stream_response(EventStream {
        messages: outbox.unread(),
        stream: None,
        work: Some(work),
        opening: Bytes::new(),
        keep_alive: KeepAlive::every(inner.config.keep_alive.0),
        _attached: None,
    })
}

fn status(outcome: &RpcResult) -> StatusCode {
    outcome.as_ref().err().map_or(StatusCode::OK, response::modern_status)
}

/// Returns the request, if it is complete and its headers repeat its body.
fn checked(
    inner: &ServerInner,
    head: &HeaderMap,
    rpc: RpcRequest,
    caller: &McpCaller,
) -> Result<StatelessRequest, ErrorResponse> {
    let check = || {
        // A request that states its protocol version must repeat it in its headers; that is checked first.
        if rpc.is_modern() {
            headers::check(head, &rpc)?;
        }
        let sender = rpc.sender()?;
        if rpc.method == "tools/call" {
            let name = rpc.text("name").unwrap_or("");
            // An error about a hidden tool's parameters would reveal that it exists.
            let is_visible = || inner.executor.tools().is_visible(name, &caller.visibility);
            let parameters = inner.catalog.parameter_headers(name, &caller.visibility);
            let parameters = parameters.filter(|_| is_visible());
            if let Some(parameters) = parameters {
                let args = rpc.params.get("arguments").unwrap_or(&Value::Null);
                headers::check_parameters(head, &parameters, args)?;
            }
        }
        Ok(sender)
    };
    match check() {
        Ok(sender) => Ok(StatelessRequest { rpc, sender }),
        Err(error) => {
            let error: RpcError = error;
            Err(Box::new(response::error(StatusCode::BAD_REQUEST, Some(&rpc.id), error)))
        }
    }
}
