//! The trait for the cluster's servers: messages, buckets, a queue of jobs, large objects.
//!
//! `nats.rs` implements it with NATS; `memory.rs` in memory, for tests. Errors say what went wrong at the servers;
//! callers add what they tried.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream::BoxStream};
use switchboard_toolcall::{BoxError, BoxFuture};
use tokio::sync::watch;

use crate::{Bucket, Error, jobs::QueueFigures, nats::NatsTransport};

/// The future of an operation.
pub type TransportFuture<'a, T> = BoxFuture<'a, Result<T, BoxError>>;

/// A connection to the servers.
pub trait ClusterTransport: Send + Sync {
    /// Returns the servers' addresses, without secrets.
    fn address(&self) -> &str;

    /// Returns whether the servers can be reached now.
    fn is_connected(&self) -> bool;

    /// Returns a number that increments with each connection.
    fn connections(&self) -> watch::Receiver<u64>;

    /// Returns what is wrong with the connection, if anything.
    fn problem(&self) -> Option<String>;

    /// Returns the largest message in bytes; 0 before the first connection.
    fn max_payload(&self) -> usize;

    /// Publishes a message. If it has a `reply` and nobody subscribes to the subject, an empty message is sent there.
    fn publish(
        &self,
        subject: String,
        reply: Option<String>,
        payload: Bytes,
    ) -> TransportFuture<'_, ()>;

    /// Subscribes to a subject, which may have wildcards. Each message goes to one subscriber of a `queue`.
    fn subscribe(
        &self,
        subject: String,
        queue: Option<String>,
    ) -> TransportFuture<'_, Box<dyn Subscription>>;

    /// Waits until everything published was sent.
    fn flush(&self) -> BoxFuture<'_, ()>;

    /// Opens a partition of a bucket, 0 if it is not divided; creates it if it does not exist.
    fn bucket(
        &self,
        bucket: Bucket,
        partition: usize,
    ) -> BoxFuture<'_, Result<&dyn KeyValue, Error>>;

    /// Creates a bucket again, which the servers may have lost in a restart.
    fn renew(&self, bucket: Bucket) -> BoxFuture<'_, Result<(), Error>>;

    /// Returns the queue of durable calls.
    fn queue(&self) -> &dyn WorkQueue;

    /// Returns the store for objects that are too large for a message.
    fn objects(&self) -> &dyn Objects;

    /// Returns the NATS connection. `None` in memory.
    fn nats(&self) -> Option<&NatsTransport> {
        None
    }
}

/// A received message.
#[derive(Clone, Debug)]
pub struct ClusterMessage {
    /// Its subject.
    pub subject: String,
    /// Where replies go.
    pub reply: Option<String>,
    /// Its payload.
    pub payload: Bytes,
    /// Whether it comes from the servers, and says that nobody subscribes to the subject.
    pub no_responders: bool,
}

/// The messages of a subscription, which ends when it is dropped.
pub trait Subscription: Stream<Item = ClusterMessage> + Send + Unpin {
    /// Ends the subscription; messages that were already sent still arrive.
    fn drain(&mut self) -> TransportFuture<'_, ()>;
}

/// A bucket of entries, each with one value and a revision that increments with every change of the bucket.
pub trait KeyValue: Send + Sync {
    /// Returns the entry, even if its value was removed. `None` if there was never one, or it has expired.
    fn get<'a>(&'a self, key: &'a str) -> TransportFuture<'a, Option<KeyValueEntry>>;

    /// Writes a value. Returns its revision.
    fn put<'a>(&'a self, key: &'a str, value: Bytes) -> TransportFuture<'a, u64>;

    /// Writes a value unless there is one. Returns its revision, or `None` if there is one.
    fn create<'a>(&'a self, key: &'a str, value: Bytes) -> TransportFuture<'a, Option<u64>>;

    /// Replaces the value with this revision. Returns the new revision, or `None` if the entry has another one.
    fn update<'a>(
        &'a self,
        key: &'a str,
        value: Bytes,
        revision: u64,
    ) -> TransportFuture<'a, Option<u64>>;

    /// Removes a value; an entry without a value remains.
    fn remove<'a>(&'a self, key: &'a str) -> TransportFuture<'a, ()>;

    /// Removes an entry without notifying watchers.
    fn erase<'a>(&'a self, key: &'a str) -> TransportFuture<'a, ()>;

    /// Streams the existing entries, then the changes.
    fn watch(&self) -> TransportFuture<'_, EntryStream> {
        self.watch_matching(">")
    }

    /// Streams the existing entries whose keys match a pattern, which is one of subjects, then their changes.
    fn watch_matching<'a>(&'a self, pattern: &'a str) -> TransportFuture<'a, EntryStream>;

    /// Streams the changes from now on.
    fn watch_new(&self) -> TransportFuture<'_, EntryStream>;

    /// Returns the number of entries, including those whose value was removed.
    fn count(&self) -> TransportFuture<'_, u64>;

    /// Returns the number of entries whose keys match a pattern, including those whose value was removed. One small message.
    fn count_matching<'a>(&'a self, pattern: &'a str) -> TransportFuture<'a, u64>;

    /// Returns how many watches there are, of all nodes.
    fn watchers(&self) -> TransportFuture<'_, u64>;

    /// Returns the keys of all entries that match a pattern, including those whose value was removed. One request, without
    /// the values.
    fn live_keys<'a>(&'a self, pattern: &'a str) -> TransportFuture<'a, Vec<String>>;

    /// Returns the keys of all values.
    fn keys(&self) -> TransportFuture<'_, Vec<String>>;
}

/// A stream of entries.
pub type EntryStream = BoxStream<'static, Result<KeyValueEntry, BoxError>>;

/// An entry of a bucket.
#[derive(Clone, Debug)]
pub struct KeyValueEntry {
    /// Its key.
    pub key: String,
    /// Its value; `None` if it was removed.
    pub value: Option<Bytes>,
    /// Its revision.
    pub revision: u64,
    /// How long ago it was written, by the servers' clock.
    pub age: Duration,
    /// Whether all entries that existed when the watch began have arrived.
    pub is_current: bool,
}

/// The queue has as many jobs of a tool as it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many calls of this tool are queued")]
pub struct QueueFull;

/// The queue of durable calls, and the dead letters.
pub trait WorkQueue: Send + Sync {
    /// Checks that the cluster has as many partitions as this node; the first node decides. One request, until it succeeds.
    fn agree(&self) -> BoxFuture<'_, Result<(), Error>>;

    /// Stores a message, once for each id within ten minutes. Returns its sequence number. Fails with [`QueueFull`] if as
    /// many jobs of its subject are stored as may be.
    fn publish<'a>(
        &'a self,
        subject: &'a str,
        id: &'a str,
        payload: Bytes,
    ) -> TransportFuture<'a, u64>;

    /// Returns a consumer of a group's jobs. A job that is not acknowledged within `ack_wait` is redelivered.
    fn consumer<'a>(
        &'a self,
        group: &'a str,
        ack_wait: Duration,
    ) -> TransportFuture<'a, Box<dyn Consumer>>;

    /// Deletes the job of a group with this number.
    fn delete<'a>(&'a self, group: &'a str, number: u64) -> TransportFuture<'a, ()>;

    /// Returns the queue lengths of all groups, by group.
    fn figures(&self) -> TransportFuture<'_, Vec<QueueFigures>>;
}

/// Takes jobs from the queue of a group, which all its workers share.
pub trait Consumer: Send {
    /// Returns the next job. `None` if there is none within `wait`.
    fn next(&mut self, wait: Duration) -> TransportFuture<'_, Option<Delivery>>;
}

/// A delivered job.
#[non_exhaustive]
pub struct Delivery {
    /// Its subject.
    pub subject: String,
    /// Its payload.
    pub payload: Bytes,
    /// Its sequence number.
    pub number: u64,
    /// How often it was delivered.
    pub delivered: u64,
    /// When it was published, by the servers' clock, in milliseconds since 1970.
    pub published_ms: u64,
    /// Acknowledges it.
    pub acks: Box<dyn Acks>,
}

/// Acknowledges a delivered job.
pub trait Acks: Send + Sync {
    /// Acknowledges; for [`Ack::Done`], waits until the queue confirms it.
    fn ack(&self, ack: Ack) -> TransportFuture<'_, ()>;
}

/// How a delivered job is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// It is done, and removed from the queue.
    Done,
    /// It is redelivered after this delay.
    Retry(Duration),
    /// It is in progress: the ack wait restarts.
    Progress,
    /// It is removed from the queue without being done.
    Discard,
}

/// A store for objects that are too large for a message.
pub trait Objects: Send + Sync {
    /// Stores an object.
    fn put<'a>(&'a self, name: &'a str, bytes: Bytes) -> TransportFuture<'a, ()>;

    /// Returns the object with this name.
    fn get<'a>(&'a self, name: &'a str) -> TransportFuture<'a, Bytes>;

    /// Deletes an object.
    fn delete<'a>(&'a self, name: &'a str) -> TransportFuture<'a, ()>;
}
