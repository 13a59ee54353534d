//! The state that requests and background tasks share.

use std::{
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use serde_json::value::RawValue;
use switchboard_mcp_wire::Outgoing;
use tokio::time::timeout;

use super::{
    answer::{self, BodyKind},
    engine::Engine,
    pool::PooledResponse,
    request_headers::{HttpState, RequestHeaders},
    stream,
};
use crate::transport::{Failure, SharedInbox};

/// How long telling a server that a request is cancelled may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What requests and background tasks share.
pub(super) struct HttpShared {
    pub(super) name: Box<str>,
    pub(super) engine: Engine,
    pub(super) state: RwLock<HttpState>,
    pub(super) inbox: SharedInbox,
    pub(super) max_message: usize,
}

impl HttpShared {
    pub(super) fn state(&self) -> RwLockReadGuard<'_, HttpState> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn with_state(&self, change: impl FnOnce(&mut HttpState)) {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner));
    }

    pub(super) fn request_headers(&self) -> RequestHeaders {
        self.state().request_headers()
    }

    /// POSTs a message with these headers.
    pub(super) async fn post(
        &self,
        request_headers: &RequestHeaders,
        body: Bytes,
    ) -> Result<PooledResponse, Failure> {
        let RequestHeaders { headers, own, .. } = request_headers;
        self.engine.send(Method::POST, self.engine.uri(), headers, own, body).await
    }

    /// Sends a request without a message.
    pub(super) async fn send(
        &self,
        method: Method,
        headers: &HeaderMap,
    ) -> Result<PooledResponse, Failure> {
        self.engine.send(method, self.engine.uri(), headers, &[], Bytes::new()).await
    }

    /// POSTs a message that has no response.
    pub(super) async fn tell(
        &self,
        request_headers: &RequestHeaders,
        body: Vec<u8>,
    ) -> Result<(), Failure> {
        let response = self.post(request_headers, body.into()).await?;
        if response.status().is_success() {
            answer::let_end(response);
            return Ok(());
        }
        Err(Box::pin(self.refused(response, None, request_headers)).await)
    }

    pub(super) async fn answer(
        &self,
        response: PooledResponse,
        id: u64,
        request_headers: &RequestHeaders,
    ) -> Result<Box<RawValue>, Failure> {
        if !response.status().is_success() {
            return Err(Box::pin(self.refused(response, Some(id), request_headers)).await);
        }
        match answer::kind(&response) {
            BodyKind::Json => answer::json(response, id, &*self.inbox, self.max_message).await,
            // Boxed, like everything rare, so that the future of every request stays small.
            BodyKind::Events => {
                Box::pin(stream::answer(self, response, id, request_headers.legacy)).await
            }
            BodyKind::Other => Err(Box::pin(answer::unreadable(response)).await),
        }
    }

    pub(super) async fn refused(
        &self,
        response: PooledResponse,
        id: Option<u64>,
        request_headers: &RequestHeaders,
    ) -> Failure {
        let gone = response.status() == StatusCode::NOT_FOUND && request_headers.in_session;
        if gone { Failure::SessionExpired } else { answer::refused(response, id).await }
    }
}

/// Sends `notifications/cancelled` to a legacy server if it is dropped before the request was answered.
pub(super) struct CancelOnDrop {
    shared: Option<Arc<HttpShared>>,
    id: u64,
}

impl CancelOnDrop {
    /// Creates a guard that cancels request `id` unless [`disarm`](Self::disarm)ed.
    pub(super) fn new(shared: Arc<HttpShared>, id: u64) -> Self {
        Self { shared: Some(shared), id }
    }

    /// Disarms the guard: the request was answered.
    pub(super) fn disarm(&mut self) {
        self.shared = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        // Without a runtime there is no connection left to send it on.
        let Some((shared, runtime)) =
            self.shared.take().zip(tokio::runtime::Handle::try_current().ok())
        else {
            return;
        };
        let params = cancelled(self.id);
        runtime.spawn(async move {
            let body =
                Outgoing::notification("notifications/cancelled", params.as_deref()).to_bytes();
            let request_headers = shared.request_headers();
            let told = timeout(PATIENCE, shared.tell(&request_headers, body)).await;
            tracing::debug!(server = &*shared.name, ?told, "a request was cancelled");
        });
    }
}

/// The parameters of `notifications/cancelled`.
pub(crate) fn cancelled(id: u64) -> Option<Box<RawValue>> {
    let params = serde_json::json!({"requestId": id, "reason": "the caller no longer waits"});
    serde_json::value::to_raw_value(&params).ok()
}
