//! Requests that wait for their answers.

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

/// Who waits for which answer, until the connection is lost.
#[derive(Default)]
pub(super) struct PendingRequests {
    state: Mutex<PendingState>,
    /// Cancelled when the state says why the connection is lost.
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

    /// Hands an answer to whom it is for; returns whether anybody waited.
    pub(super) fn settle(&self, id: u64, outcome: RequestOutcome) -> bool {
        // The state must not stay locked while the one who waited is woken.
        let sender = self.remove(id);
        sender.is_some_and(|sender| sender.send(outcome).is_ok())
    }

    /// Whether nobody waits.
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

    /// Tells all who wait, and all who will, that there are no answers any more.
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

/// A request under way; dropped before it is closed, it takes the request back.
pub(super) struct RequestTicket<'a> {
    shared: &'a Arc<StdioShared>,
    runtime: &'a Handle,
    id: u64,
    cancellable: bool,
    /// Whether the server will get to see the request.
    committed: bool,
    closed: bool,
}

impl<'a> RequestTicket<'a> {
    /// Registers the request, so that an answer finds it however fast it comes.
    pub(super) fn open(
        shared: &'a Arc<StdioShared>,
        runtime: &'a Handle,
        request: &TransportRequest<'_>,
    ) -> Result<(Self, oneshot::Receiver<RequestOutcome>), Failure> {
        let answer = shared.pending.open(request.id)?;
        let TransportRequest { id, cancellable, .. } = *request;
        Ok((Self { shared, runtime, id, cancellable, committed: false, closed: false }, answer))
    }

    /// Where to note that the request is on its way.
    pub(super) fn committed(&mut self) -> &mut bool {
        &mut self.committed
    }

    /// The answer is there.
    pub(super) fn close(mut self) {
        self.closed = true;
    }
}

impl Drop for RequestTicket<'_> {
    fn drop(&mut self) {
        if self.closed {
            return;
        }
        // In this order, so that it is either waited for or being taken back, whenever somebody looks.
        if self.committed {
            let taking_back = take_back(Arc::clone(self.shared), self.id, self.cancellable);
            self.shared.taken_back.spawn_on(taking_back, self.runtime);
        }
        self.shared.pending.remove(self.id);
    }
}

/// Writes the rest of the request where that is still to do, and that nobody waits for its answer.
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
