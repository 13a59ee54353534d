//! Pending replies, by the id of the request.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use tokio::sync::oneshot;

/// Pending replies, by id.
#[derive(Default)]
pub(crate) struct PendingReplies(Mutex<HashMap<String, oneshot::Sender<Value>>>);

/// A pending reply; dropping it stops waiting.
pub(crate) struct AwaitedReply<'a> {
    replies: &'a PendingReplies,
    id: String,
    receiver: oneshot::Receiver<Value>,
}

impl PendingReplies {
    /// Waits for the reply to `id` from now on.
    pub(crate) fn expect(&self, id: &str) -> AwaitedReply<'_> {
        let (sender, receiver) = oneshot::channel();
        self.waiting().insert(id.to_owned(), sender);
        AwaitedReply { replies: self, id: id.to_owned(), receiver }
    }

    /// Delivers a reply to its waiter. Late ones are dropped.
    pub(crate) fn answer(&self, id: &str, answer: Value) {
        if let Some(sender) = self.waiting().remove(id) {
            // The waiter may be gone.
            let _ = sender.send(answer);
        }
    }

    /// Ends all pending waits: no reply will come.
    pub(crate) fn give_up(&self) {
        self.waiting().clear();
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<Value>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AwaitedReply<'_> {
    /// Returns the reply; `None` if the connection was lost before it came.
    pub(crate) async fn answer(mut self) -> Option<Value> {
        (&mut self.receiver).await.ok()
    }
}

impl Drop for AwaitedReply<'_> {
    fn drop(&mut self) {
        self.replies.waiting().remove(&self.id);
    }
}
