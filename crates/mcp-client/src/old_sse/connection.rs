//! The stream of an HTTP+SSE server, and the requests that wait for responses on it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Method, Uri};
use serde_json::value::RawValue;
use switchboard_mcp_wire::{IncomingMessage, Outgoing, RpcError};
use tokio::{
    sync::{oneshot, watch},
    time::timeout,
};

use crate::{
    http::{
        answer,
        engine::Engine,
        shared::cancelled,
        stream::{self, ResponseEvents},
    },
    transport::{Failure, SharedInbox, TransportRequest},
};

/// How long cancelling a request may take.
const PATIENCE: Duration = Duration::from_secs(5);

type ResponseOutcome = Result<Box<RawValue>, RpcError>;

/// What requests and the stream's reader share.
pub(super) struct SseConnection {
    name: Box<str>,
    pub(super) engine: Engine,
    pub(super) headers: HeaderMap,
    inbox: SharedInbox,
    pub(super) max_message: usize,
    waiting: Mutex<HashMap<u64, oneshot::Sender<ResponseOutcome>>>,
    /// Why the stream has ended; `None` while it is open.
    ended: watch::Sender<Option<String>>,
}

impl SseConnection {
    pub(super) fn new(
        name: &str,
        engine: Engine,
        headers: HeaderMap,
        inbox: SharedInbox,
        max_message: usize,
    ) -> Self {
        let (waiting, ended) = (Mutex::default(), watch::Sender::new(None));
        Self { name: name.into(), engine, headers, inbox, max_message, waiting, ended }
    }

    /// Sends one message.
    pub(super) async fn post(
        &self,
        endpoint: &Uri,
        body: Bytes,
        id: Option<u64>,
    ) -> Result<(), Failure> {
        let response = self.engine.send(Method::POST, endpoint, &self.headers, &[], body).await?;
        if !response.status().is_success() {
            return Err(answer::refused(response, id).await);
        }
        answer::let_end(response);
        Ok(())
    }

    /// Reads the stream to its end.
    pub(super) async fn follow(&self, mut events: ResponseEvents) {
        let why = loop {
            match events.next().await {
                Ok(Some(event)) => match stream::messages(&event) {
                    Ok(messages) => messages.into_iter().for_each(|message| self.take(message)),
                    Err(problem) => {
                        tracing::warn!(server = &*self.name, problem, "an event was skipped");
                    }
                },
                Ok(None) => break "the server ended the stream".to_owned(),
                Err(failure) => break failure.to_string(),
            }
        };
        self.end(&why);
    }

    fn take(&self, message: IncomingMessage) {
        match message {
            IncomingMessage::Response { id, outcome } => {
                match id.and_then(|id| self.waiting().remove(&id)) {
                    // The request may have been dropped meanwhile.
                    Some(waiting) => drop(waiting.send(outcome)),
                    None => tracing::debug!(?id, "a response to an unknown request was dropped"),
                }
            }
            message => self.inbox.take(message),
        }
    }

    /// Ends the connection, and all pending requests. Only the first reason is kept.
    pub(super) fn end(&self, why: &str) {
        self.ended.send_if_modified(|ended| match ended {
            Some(_) => false,
            None => {
                *ended = Some(why.to_owned());
                true
            }
        });
        self.waiting().clear();
    }

    /// Fails if the stream has ended.
    pub(super) fn still_there(&self) -> Result<(), Failure> {
        match &*self.ended.borrow() {
            Some(why) => Err(Failure::Lost(why.clone())),
            None => Ok(()),
        }
    }

    /// Returns the outcome of a request; an error if the stream ended before the response.
    pub(super) fn outcome(
        &self,
        answered: Result<ResponseOutcome, oneshot::error::RecvError>,
    ) -> Result<Box<RawValue>, Failure> {
        match answered {
            Ok(outcome) => outcome.map_err(Failure::Rpc),
            Err(_) => {
                self.still_there()?;
                Err(Failure::Protocol("the request's id was used twice".to_owned()))
            }
        }
    }

    /// Resolves when the stream has ended.
    pub(super) async fn lost(&self) -> String {
        let mut ended = self.ended.subscribe();
        let why = ended.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
        // `self` owns the sender, so there always is a reason.
        why.unwrap_or_default()
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<ResponseOutcome>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that waits for its response; cancelled if it is dropped before that.
pub(super) struct PendingResponse {
    connection: Arc<SseConnection>,
    endpoint: Uri,
    id: u64,
    cancels_on_drop: bool,
}

impl PendingResponse {
    pub(super) fn new(
        connection: &Arc<SseConnection>,
        endpoint: &Uri,
        request: &TransportRequest<'_>,
    ) -> Result<(Self, oneshot::Receiver<ResponseOutcome>), Failure> {
        let (sender, receiver) = oneshot::channel();
        connection.waiting().insert(request.id, sender);
        let mut waiting = Self {
            connection: connection.clone(),
            endpoint: endpoint.clone(),
            id: request.id,
            cancels_on_drop: request.cancellable,
        };
        // Checked after the entry was added: the end of the stream either finds the entry or is seen here.
        connection.still_there().inspect_err(|_| waiting.end())?;
        Ok((waiting, receiver))
    }

    /// Disarms the guard: the request has ended.
    pub(super) fn end(&mut self) {
        self.cancels_on_drop = false;
    }
}

impl Drop for PendingResponse {
    fn drop(&mut self) {
        self.connection.waiting().remove(&self.id);
        if !self.cancels_on_drop {
            return;
        }
        // Without a runtime there is no connection left to send it on.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (connection, endpoint, params) =
            (self.connection.clone(), self.endpoint.clone(), cancelled(self.id));
        runtime.spawn(async move {
            let body =
                Outgoing::notification("notifications/cancelled", params.as_deref()).to_bytes();
            let told = timeout(PATIENCE, connection.post(&endpoint, body.into(), None)).await;
            tracing::debug!(server = &*connection.name, ?told, "a request was cancelled");
        });
    }
}
