//! Publish and subscribe in memory: every matching subscriber gets a message, but only one of each queue group.

use std::{
    collections::BTreeMap,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::mpsc;

use super::{MemoryServers, MemoryTraffic};
use crate::transport::{ClusterMessage, Subscription, TransportFuture};

#[derive(Default)]
pub(super) struct MemorySubscribers {
    all: BTreeMap<u64, MemorySubscriber>,
    last: u64,
    /// Which subscriber of a queue group is next.
    turn: usize,
}

struct MemorySubscriber {
    subject: String,
    queue: Option<String>,
    messages: mpsc::UnboundedSender<ClusterMessage>,
}

impl MemorySubscribers {
    pub(super) fn publish(&mut self, subject: String, reply: Option<String>, payload: Bytes) {
        let mut queues: BTreeMap<&str, Vec<&MemorySubscriber>> = BTreeMap::new();
        let mut receivers = Vec::new();
        for subscriber in self.all.values().filter(|one| matches(&one.subject, &subject)) {
            match &subscriber.queue {
                Some(queue) => queues.entry(queue).or_default().push(subscriber),
                None => receivers.push(subscriber),
            }
        }
        if !queues.is_empty() {
            self.turn = self.turn.wrapping_add(1);
        }
        receivers.extend(queues.values().map(|members| members[self.turn % members.len()]));
        let is_heard = !receivers.is_empty();
        let message = ClusterMessage { subject, reply, payload, no_responders: false };
        for receiver in receivers {
            // One that was just dropped gets nothing.
            _ = receiver.messages.send(message.clone());
        }
        if let (false, Some(reply)) = (is_heard, message.reply) {
            let nobody = ClusterMessage {
                subject: reply,
                reply: None,
                payload: Bytes::new(),
                no_responders: true,
            };
            for receiver in self.all.values().filter(|one| matches(&one.subject, &nobody.subject)) {
                _ = receiver.messages.send(nobody.clone());
            }
        }
    }
}

/// Returns whether a subject matches a pattern: `*` is one token, `>` all that follow.
pub(super) fn matches(pattern: &str, subject: &str) -> bool {
    let mut words = subject.split('.');
    for part in pattern.split('.') {
        match (part, words.next()) {
            (">", Some(_)) => return true,
            ("*", Some(_)) => {}
            (part, Some(word)) if part == word => {}
            _ => return false,
        }
    }
    words.next().is_none()
}

pub(super) fn subscribe(
    servers: &MemoryServers,
    subject: String,
    queue: Option<String>,
    traffic: MemoryTraffic,
) -> MemorySubscription {
    let (sender, messages) = mpsc::unbounded_channel();
    let subscribers = &mut servers.lock().subscribers;
    subscribers.last += 1;
    let number = subscribers.last;
    subscribers.all.insert(number, MemorySubscriber { subject, queue, messages: sender });
    MemorySubscription { servers: servers.clone(), number, messages, traffic }
}

pub(super) struct MemorySubscription {
    servers: MemoryServers,
    number: u64,
    messages: mpsc::UnboundedReceiver<ClusterMessage>,
    traffic: MemoryTraffic,
}

impl Stream for MemorySubscription {
    type Item = ClusterMessage;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ClusterMessage>> {
        let polled = self.messages.poll_recv(cx);
        if let Poll::Ready(Some(message)) = &polled {
            self.traffic.add(message.subject.len() + message.payload.len());
        }
        polled
    }
}

impl Subscription for MemorySubscription {
    fn drain(&mut self) -> TransportFuture<'_, ()> {
        self.servers.lock().subscribers.all.remove(&self.number);
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Drop for MemorySubscription {
    fn drop(&mut self) {
        self.servers.lock().subscribers.all.remove(&self.number);
    }
}
