//! What a cluster needs of its servers: messages, buckets, a queue of jobs, large objects.
//!
//! `nats.rs` implements it with NATS; `memory.rs` in this process, for tests. Errors say what went wrong at the servers; callers add
//! what they tried.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream::BoxStream};
use switchboard_toolcall::{BoxError, BoxFuture};
use tokio::sync::watch;

use crate::{Bucket, Error, jobs::Figures, nats::Nats};

/// What a server answers.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, BoxError>>;

/// A connection to the servers.
pub trait Transport: Send + Sync {
    /// Where the servers are, without secrets.
    fn address(&self) -> &str;

    /// Whether the servers can be reached now.
    fn is_connected(&self) -> bool;

    /// A number that grows with each connection that is made.
    fn connections(&self) -> watch::Receiver<u64>;

    /// What is wrong with the connection, if something is.
    fn problem(&self) -> Option<String>;

    /// How many bytes a message may have; 0 before the first connection.
    fn max_payload(&self) -> usize;

    /// Sends a message. If it names a `reply` and nobody subscribes to the subject, a message without a payload comes back there.
    fn publish(&self, subject: String, reply: Option<String>, payload: Bytes) -> Answer<'_, ()>;

    /// Subscribes to a subject, which may have wildcards. Of the subscribers of one `queue`, one gets each message.
    fn subscribe(
        &self,
        subject: String,
        queue: Option<String>,
    ) -> Answer<'_, Box<dyn Subscription>>;

    /// Waits until all that was published is on its way.
    fn flush(&self) -> BoxFuture<'_, ()>;

    /// A bucket, which is created if it does not exist.
    fn bucket(&self, bucket: Bucket) -> BoxFuture<'_, Result<&dyn KeyValue, Error>>;

    /// Creates a bucket again, which the servers may have lost when they were restarted.
    fn renew(&self, bucket: Bucket) -> BoxFuture<'_, Result<(), Error>>;

    /// The queue of durable calls.
    fn queue(&self) -> &dyn WorkQueue;

    /// Objects that are too large for a message.
    fn objects(&self) -> &dyn Objects;

    /// NATS itself, for what only it can do; `None` in memory.
    fn nats(&self) -> Option<&Nats> {
        None
    }
}

/// A message as it was received.
#[derive(Clone, Debug)]
pub struct Message {
    /// The subject to which it was published.
    pub subject: String,
    /// Where an answer is expected.
    pub reply: Option<String>,
    /// What it says.
    pub payload: Bytes,
    /// Whether it comes from the servers, and says that nobody subscribes to what was published.
    pub no_responders: bool,
}

/// The messages of a subscription, which ends when it is dropped.
pub trait Subscription: Stream<Item = Message> + Send + Unpin {
    /// Ends the subscription; what the servers have sent already still comes.
    fn drain(&mut self) -> Answer<'_, ()>;
}

/// A bucket of entries, each with one value and a revision that grows with every change of the bucket.
pub trait KeyValue: Send + Sync {
    /// The entry, also of a value that was removed; `None` if there was never one, or it has expired.
    fn get<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Entry>>;

    /// Writes a value. Returns its revision.
    fn put<'a>(&'a self, key: &'a str, value: Bytes) -> Answer<'a, u64>;

    /// Writes a value unless there is one. Returns its revision, or `None` if there is one.
    fn create<'a>(&'a self, key: &'a str, value: Bytes) -> Answer<'a, Option<u64>>;

    /// Writes a value in the place of the one with this revision. Returns its revision, or `None` if the entry has another one.
    fn update<'a>(&'a self, key: &'a str, value: Bytes, revision: u64) -> Answer<'a, Option<u64>>;

    /// Removes a value; an entry without one takes its place.
    fn remove<'a>(&'a self, key: &'a str) -> Answer<'a, ()>;

    /// Removes an entry, and says nothing to those who watch.
    fn erase<'a>(&'a self, key: &'a str) -> Answer<'a, ()>;

    /// The entries that there are, then those that change.
    fn watch(&self) -> Answer<'_, Watch>;

    /// The entries that change from now on.
    fn watch_new(&self) -> Answer<'_, Watch>;

    /// How many entries there are, also of values that were removed.
    fn count(&self) -> Answer<'_, u64>;

    /// The keys of all values.
    fn keys(&self) -> Answer<'_, Vec<String>>;
}

/// Entries of a bucket as they change.
pub type Watch = BoxStream<'static, Result<Entry, BoxError>>;

/// An entry of a bucket.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its key.
    pub key: String,
    /// Its value; `None` if it was removed.
    pub value: Option<Bytes>,
    /// Its revision.
    pub revision: u64,
    /// How long ago it was written, by the servers' clock.
    pub age: Duration,
    /// Whether all entries are known that there were when the watch began.
    pub is_current: bool,
}

/// The queue of durable calls, and the dead letters.
pub trait WorkQueue: Send + Sync {
    /// Stores a message, once for each id within ten minutes. Returns its number in its stream.
    fn publish<'a>(&'a self, subject: &'a str, id: &'a str, payload: Bytes) -> Answer<'a, u64>;

    /// The jobs of a group. A job that is delivered and not acknowledged within `ack_wait` is delivered again.
    fn consumer<'a>(&'a self, group: &'a str, ack_wait: Duration) -> Answer<'a, Box<dyn Consumer>>;

    /// Deletes the job with this number.
    fn delete(&self, number: u64) -> Answer<'_, ()>;

    /// How long the queues of all groups are, by group.
    fn figures(&self) -> Answer<'_, Vec<Figures>>;
}

/// Takes jobs from the queue of a group, which all its workers share.
pub trait Consumer: Send {
    /// The next job; `None` if there is none for so long.
    fn next(&mut self, wait: Duration) -> Answer<'_, Option<Delivery>>;
}

/// A job as it was delivered.
pub struct Delivery {
    /// The subject to which it was published.
    pub subject: String,
    /// What was published.
    pub payload: Bytes,
    /// Its number in the stream.
    pub number: u64,
    /// How often it was delivered.
    pub delivered: u64,
    /// When it was published, by the servers' clock, in milliseconds since 1970.
    pub published_ms: u64,
    /// Tells the queue what becomes of it.
    pub acks: Box<dyn Acks>,
}

/// Tells the queue what becomes of a delivered job.
pub trait Acks: Send + Sync {
    /// Acknowledges; for [`Ack::Done`], waits until the queue confirms it.
    fn ack(&self, ack: Ack) -> Answer<'_, ()>;
}

/// What becomes of a delivered job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// It is done, and leaves the queue.
    Done,
    /// It is delivered again after so long.
    Retry(Duration),
    /// Somebody is at it: the wait for an acknowledgement begins anew.
    Progress,
    /// It leaves the queue, although nobody could do it.
    Discard,
}

/// Objects that are too large for a message.
pub trait Objects: Send + Sync {
    /// Stores an object.
    fn put<'a>(&'a self, name: &'a str, bytes: Bytes) -> Answer<'a, ()>;

    /// The object of this name.
    fn get<'a>(&'a self, name: &'a str) -> Answer<'a, Bytes>;

    /// Deletes an object.
    fn delete<'a>(&'a self, name: &'a str) -> Answer<'a, ()>;
}
