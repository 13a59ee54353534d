//! What workers answer, brought to the calls that wait for it: one subscription for all.

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
    sign::Opened,
    transport::{Message, Subscription},
};

/// Where answers come in.
pub(crate) struct Replies {
    shared: Arc<Shared>,
    inbox: String,
    _task: AbortOnDropHandle<()>,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<HashMap<String, mpsc::UnboundedSender<Message>>>,
    /// Rung when nobody waits any more.
    idle: Notify,
}

impl Replies {
    /// Begins to listen.
    ///
    /// # Errors
    /// The connection is closed.
    pub(crate) async fn start(cluster: &Cluster) -> Result<Self, Error> {
        let inbox = cluster.new_inbox();
        let refused = Error::refused("listen for answers");
        let messages = cluster.subscribe(format!("{inbox}.*"), None).await.map_err(refused)?;
        let shared = Arc::<Shared>::default();
        let task = tokio::spawn(deliver(messages, shared.clone(), cluster.clone()));
        Ok(Self { shared, inbox, _task: AbortOnDropHandle::new(task) })
    }

    /// Waits for answers at an address of their own.
    pub(crate) fn wait(&self) -> ReplyReceiver {
        let token = Ulid::generate().to_string();
        let (sender, answers) = mpsc::unbounded_channel();
        self.shared.lock().insert(token.clone(), sender);
        let address = format!("{}.{token}", self.inbox);
        ReplyReceiver { address, token, answers, shared: self.shared.clone() }
    }

    /// Waits until no call waits for an answer.
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

impl Shared {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, mpsc::UnboundedSender<Message>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn deliver(mut messages: Box<dyn Subscription>, shared: Arc<Shared>, cluster: Cluster) {
    while let Some(message) = messages.next().await {
        let token = message.subject.rsplit('.').next().unwrap_or_default();
        let waiting = shared.lock().get(token).cloned();
        let Some(message) = undelivered(waiting, message) else { continue };
        // Only a worker is answered: nobody else may have us sign that a call is to end.
        let is_a_workers = open(&cluster, &message).is_ok();
        if let (true, Some(reply)) = (is_a_workers, message.reply) {
            // A worker that did not hear of it is told that nobody waits for this call any more.
            let nothing = cluster.signer().sign(Purpose::Word, &[&reply], &Bytes::new());
            _ = cluster.publish(reply, None, nothing).await;
        }
    }
}

/// Delivers a message, and gives it back if nobody waits for it.
fn undelivered(
    waiting: Option<mpsc::UnboundedSender<Message>>,
    message: Message,
) -> Option<Message> {
    match waiting {
        Some(waiting) => waiting.send(message).err().map(|unsent| unsent.0),
        None => Some(message),
    }
}

/// Returns what a worker says, if it is signed for the address where it came, and for where the worker listens.
pub(crate) fn open(cluster: &Cluster, message: &Message) -> Result<Opened, Error> {
    let place = [message.subject.as_str(), message.reply.as_deref().unwrap_or_default()];
    cluster.signer().open(Purpose::Reply, &place, &message.payload)
}

/// Somebody who waits for answers; they are nobody's when it is dropped.
pub(crate) struct ReplyReceiver {
    /// Where answers have to be sent.
    pub(crate) address: String,
    /// The answers, as they come in.
    pub(crate) answers: mpsc::UnboundedReceiver<Message>,
    token: String,
    shared: Arc<Shared>,
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
