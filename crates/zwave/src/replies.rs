//! Answers that are waited for, by the id of the request.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use tokio::sync::oneshot;

/// Who waits for which answer.
#[derive(Default)]
pub(crate) struct PendingReplies(Mutex<HashMap<String, oneshot::Sender<Value>>>);

/// One answer that is waited for; nobody waits any more when it is dropped.
pub(crate) struct AwaitedReply<'a> {
    replies: &'a PendingReplies,
    id: String,
    receiver: oneshot::Receiver<Value>,
}

impl PendingReplies {
    /// Waits for the answer to `id` from now on.
    pub(crate) fn expect(&self, id: &str) -> AwaitedReply<'_> {
        let (sender, receiver) = oneshot::channel();
        self.waiting().insert(id.to_owned(), sender);
        AwaitedReply { replies: self, id: id.to_owned(), receiver }
    }

    /// Hands an answer to who waits for it. Late ones are dropped.
    pub(crate) fn answer(&self, id: &str, answer: Value) {
        if let Some(sender) = self.waiting().remove(id) {
            // Who no longer listens does not want it.
            let _ = sender.send(answer);
        }
    }

    /// Tells all who wait that no answer will come.
    pub(crate) fn give_up(&self) {
        self.waiting().clear();
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<Value>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AwaitedReply<'_> {
    /// The answer; `None` if none will come.
    pub(crate) async fn answer(mut self) -> Option<Value> {
        (&mut self.receiver).await.ok()
    }
}

impl Drop for AwaitedReply<'_> {
    fn drop(&mut self) {
        self.replies.waiting().remove(&self.id);
    }
}
