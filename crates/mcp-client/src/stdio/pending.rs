//! Requests that wait for their responses.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{json, value::RawValue};
use switchboard_mcp_wire::Outgoing;
use tokio::{runtime::Handle, sync::oneshot};
use tokio_util::sync::CancellationToken;

use super::StdioShared;
use crate::transport::{Failure, TransportRequest};

pub(super) type RequestOutcome = Result<Box<RawValue>, Failure>;

/// The pending requests, until the connection is lost.
#[derive(Default)]
pub(super) struct PendingRequests {
    state: Mutex<PendingState>,
    /// Cancelled when the connection is lost; the state has the reason.
    lost: CancellationToken,
}

enum PendingState {
    Open(HashMap<u64, oneshot::Sender<RequestOutcome>>),
    Lost(String),
}

impl Default for PendingState {
    fn default() -> Self {
        Self::Open(HashMap::new())
    }
}

impl PendingRequests {
    fn open(&self, id: u64) -> Result<oneshot::Receiver<RequestOutcome>, Failure> {
        match &mut *self.state() {
            PendingState::Open(waiting) => {
                let (sender, answer) = oneshot::channel();
                waiting.insert(id, sender);
                Ok(answer)
            }
            PendingState::Lost(reason) => Err(Failure::Lost(reason.clone())),
        }
    }

    /// Delivers a response to its request; returns whether there was one.
    pub(super) fn settle(&self, id: u64, outcome: RequestOutcome) -> bool {
        // The state must not stay locked while the waiting task is woken.
        let sender = self.remove(id);
        sender.is_some_and(|sender| sender.send(outcome).is_ok())
    }

    /// Whether no request is pending.
    pub(super) fn is_empty(&self) -> bool {
        match &*self.state() {
            PendingState::Open(waiting) => waiting.is_empty(),
            PendingState::Lost(_) => true,
        }
    }

    fn remove(&self, id: u64) -> Option<oneshot::Sender<RequestOutcome>> {
        match &mut *self.state() {
            PendingState::Open(waiting) => waiting.remove(&id),
            PendingState::Lost(_) => None,
        }
    }

    /// Fails all pending and later requests with this reason.
    pub(super) fn lose(&self, reason: &str) {
        let before = {
            let mut state = self.state();
            if matches!(*state, PendingState::Lost(_)) {
                return;
            }
            std::mem::replace(&mut *state, PendingState::Lost(reason.to_owned()))
        };
        self.lost.cancel();
        if let PendingState::Open(waiting) = before {
            for sender in waiting.into_values() {
                let _ = sender.send(Err(Failure::Lost(reason.to_owned())));
            }
        }
    }

    /// Resolves when the connection is lost, with the reason.
    pub(super) async fn lost(&self) -> String {
        self.lost.cancelled().await;
        match &*self.state() {
            PendingState::Lost(reason) => reason.clone(),
            PendingState::Open(_) => String::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, PendingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pending request; dropping it before `close` cancels the request.
pub(super) struct RequestTicket<'a> {
    shared: &'a Arc<StdioShared>,
    runtime: &'a Handle,
    id: u64,
    cancellable: bool,
    /// Whether the server will receive the request.
    committed: bool,
    closed: bool,
}

impl<'a> RequestTicket<'a> {
    /// Registers the request before it is sent, so that even the fastest response finds it.
    pub(super) fn open(
        shared: &'a Arc<StdioShared>,
        runtime: &'a Handle,
        request: &TransportRequest<'_>,
    ) -> Result<(Self, oneshot::Receiver<RequestOutcome>), Failure> {
        let answer = shared.pending.open(request.id)?;
        let TransportRequest { id, cancellable, .. } = *request;
        Ok((Self { shared, runtime, id, cancellable, committed: false, closed: false }, answer))
    }

    /// Returns the flag to set once the request is being sent.
    pub(super) fn committed(&mut self) -> &mut bool {
        &mut self.committed
    }

    /// Disarms the ticket: the response has arrived.
    pub(super) fn close(mut self) {
        self.closed = true;
    }
}

impl Drop for RequestTicket<'_> {
    fn drop(&mut self) {
        if self.closed {
            return;
        }
        // In this order, so that at any time the request counts as pending or as being cancelled.
        if self.committed {
            let taking_back = take_back(Arc::clone(self.shared), self.id, self.cancellable);
            self.shared.taken_back.spawn_on(taking_back, self.runtime);
        }
        self.shared.pending.remove(self.id);
    }
}

/// Writes the rest of the request if that is left to do, and then `notifications/cancelled` if `tell` is set.
async fn take_back(shared: Arc<StdioShared>, id: u64, tell: bool) {
    let params = json!({"requestId": id, "reason": "the caller no longer waits for it"});
    let written = match serde_json::value::to_raw_value(&params) {
        Ok(params) if tell => {
            let message = Outgoing::notification("notifications/cancelled", Some(&params));
            shared.writer.send(&message.to_bytes(), &mut false).await
        }
        _ => shared.writer.flush().await,
    };
    if written.is_err() {
        tracing::debug!(server = %shared.name, id, "a request could not be taken back: the server is gone");
    }
}
