//! Routes workers' replies to the calls that wait for them: one subscription for all.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::{Notify, mpsc};
use tokio_util::task::AbortOnDropHandle;
use ulid::Ulid;

use crate::{
    Cluster, Error, Purpose,
    sign::VerifiedMessage,
    transport::{ClusterMessage, Subscription},
};

/// Receives replies.
pub(crate) struct Replies {
    shared: Arc<RepliesInner>,
    inbox: String,
    _task: AbortOnDropHandle<()>,
}

#[derive(Default)]
struct RepliesInner {
    waiting: Mutex<HashMap<String, mpsc::UnboundedSender<ClusterMessage>>>,
    /// Notified when no call waits any more.
    idle: Notify,
}

impl Replies {
    /// Starts to receive.
    ///
    /// # Errors
    /// The connection is closed.
    pub(crate) async fn start(cluster: &Cluster) -> Result<Self, Error> {
        let inbox = cluster.new_inbox();
        let refused = Error::refused("listen for answers");
        let messages = cluster.subscribe(format!("{inbox}.*"), None).await.map_err(refused)?;
        let shared = Arc::<RepliesInner>::default();
        let task = tokio::spawn(deliver(messages, shared.clone(), cluster.clone()));
        Ok(Self { shared, inbox, _task: AbortOnDropHandle::new(task) })
    }

    /// Creates a receiver with its own reply subject.
    pub(crate) fn wait(&self) -> ReplyReceiver {
        let token = Ulid::generate().to_string();
        let (sender, answers) = mpsc::unbounded_channel();
        self.shared.lock().insert(token.clone(), sender);
        let address = format!("{}.{token}", self.inbox);
        ReplyReceiver { address, token, answers, shared: self.shared.clone() }
    }

    /// Waits until no call waits for a reply.
    pub(crate) async fn idle(&self) {
        loop {
            let rung = self.shared.idle.notified();
            if self.shared.lock().is_empty() {
                return;
            }
            rung.await;
        }
    }
}

impl RepliesInner {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, mpsc::UnboundedSender<ClusterMessage>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn deliver(mut messages: Box<dyn Subscription>, shared: Arc<RepliesInner>, cluster: Cluster) {
    while let Some(message) = messages.next().await {
        let token = message.subject.rsplit('.').next().unwrap_or_default();
        let waiting = shared.lock().get(token).cloned();
        let Some(message) = undelivered(waiting, message) else { continue };
        // Only workers are answered: nobody else may get a signed cancellation from us.
        let is_a_workers = open(&cluster, &message).is_ok();
        if let (true, Some(reply)) = (is_a_workers, message.reply) {
            // A worker that missed the cancellation learns that nobody waits for this call.
            let nothing = cluster.signer().sign(Purpose::Word, &[&reply], &Bytes::new());
            _ = cluster.publish(reply, None, nothing).await;
        }
    }
}

/// Delivers a message. Returns it if nobody waits for it.
fn undelivered(
    waiting: Option<mpsc::UnboundedSender<ClusterMessage>>,
    message: ClusterMessage,
) -> Option<ClusterMessage> {
    match waiting {
        Some(waiting) => waiting.send(message).err().map(|unsent| unsent.0),
        None => Some(message),
    }
}

/// Returns a worker's message, if it is signed for the subject it came to and for the worker's own subject.
pub(crate) fn open(cluster: &Cluster, message: &ClusterMessage) -> Result<VerifiedMessage, Error> {
    let place = [message.subject.as_str(), message.reply.as_deref().unwrap_or_default()];
    cluster.signer().open(Purpose::Reply, &place, &message.payload)
}

/// Receives the replies to one call, until it is dropped.
pub(crate) struct ReplyReceiver {
    /// The reply subject.
    pub(crate) address: String,
    /// The replies.
    pub(crate) answers: mpsc::UnboundedReceiver<ClusterMessage>,
    token: String,
    shared: Arc<RepliesInner>,
}

impl Drop for ReplyReceiver {
    fn drop(&mut self) {
        let mut waiting = self.shared.lock();
        waiting.remove(&self.token);
        if waiting.is_empty() {
            self.shared.idle.notify_waiters();
        }
    }
}
