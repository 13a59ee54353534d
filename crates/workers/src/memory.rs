//! A cluster in the memory of this process, for tests: as strict as NATS about revisions, redelivery, duplicates and expiry, and
//! its time is tokio's, which tests can pause.
//!
//! `conformance.rs` of the tests makes the same assertions about it and about NATS.

mod key_value;
mod messages;
mod work_queue;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use switchboard_toolcall::{BoxError, BoxFuture};
use tokio::{
    sync::{Notify, watch},
    time::sleep,
};

use crate::{
    Bucket, Cluster, Config, Error, Names, Signer,
    transport::{Ack, Answer, KeyValue, Objects, Subscription, Transport, WorkQueue},
};
use key_value::{MemoryBucket, Store};
use messages::Subscribers;
use work_queue::{MemoryQueue, Queue};

/// As many bytes as NATS allows by default.
const MAX_PAYLOAD: usize = 1 << 20;

/// The servers of a cluster, in memory. Cheap to clone.
#[derive(Clone, Default)]
pub struct MemoryServers(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Notified when a job may be ready for delivery.
    jobs_changed: Notify,
    /// How often the servers were there; grows when they come back.
    connections: watch::Sender<u64>,
    /// Whether they can be reached.
    online: watch::Sender<bool>,
    faults: Mutex<Option<Faults>>,
}

#[derive(Default)]
struct State {
    buckets: HashMap<String, Store>,
    subscribers: Subscribers,
    queues: HashMap<String, Queue>,
    objects: BTreeMap<String, Bytes>,
}

/// What goes wrong with an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    #[default]
    None,
    /// It takes so long, then is done.
    Delay(Duration),
    /// It is not done, and fails.
    Refuse,
    /// It is done, and fails all the same: the answer was lost.
    LoseAnswer,
}

/// An operation that can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// An entry is read.
    Read,
    /// An entry is written.
    Write,
    /// A job or a dead letter is stored.
    Enqueue,
    /// A delivered job is acknowledged.
    Ack(Ack),
}

type Faults = Box<dyn FnMut(Operation) -> Fault + Send>;

impl Default for Shared {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            jobs_changed: Notify::new(),
            connections: watch::Sender::new(1),
            online: watch::Sender::new(true),
            faults: Mutex::default(),
        }
    }
}

impl MemoryServers {
    /// Connects a node: `config` has the prefix, the key and how jobs are tried.
    ///
    /// # Errors
    /// A setting cannot be used.
    pub fn connect(&self, config: &Config) -> Result<Cluster, Error> {
        let names = Names::new(&config.prefix)?;
        let signer = Signer::new(config.key.as_ref())?;
        let bucket = |bucket| MemoryBucket::new(self.clone(), names.bucket(bucket), bucket);
        let memory = Memory {
            buckets: Bucket::ALL.map(bucket),
            queue: MemoryQueue::new(self.clone(), names.clone()),
            servers: self.clone(),
        };
        Ok(Cluster::over(Box::new(memory), config, names, signer))
    }

    /// Asks `faults` before each operation what goes wrong with it.
    pub fn set_faults(&self, faults: impl FnMut(Operation) -> Fault + Send + 'static) {
        *self.0.faults.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(faults));
    }

    /// Makes the servers unreachable, or lets them come back with all they stored. Meanwhile operations wait.
    pub fn set_online(&self, online: bool) {
        if self.0.online.send_replace(online) != online && online {
            self.0.connections.send_modify(|count| *count += 1);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn online(&self) {
        // The sender is ours, so it is there.
        _ = self.0.online.subscribe().wait_for(|online| *online).await;
    }

    /// Does `work` as soon as the servers can be reached, with what goes wrong with it.
    async fn perform<T>(
        &self,
        operation: Operation,
        work: impl FnOnce(&mut State) -> T,
    ) -> Result<T, BoxError> {
        self.online().await;
        let fault = match &mut *self.0.faults.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(faults) => faults(operation),
            None => Fault::None,
        };
        match fault {
            Fault::None => {}
            Fault::Delay(delay) => sleep(delay).await,
            Fault::Refuse => return Err("the servers did not do it".into()),
            Fault::LoseAnswer => {
                work(&mut self.lock());
                return Err("the answer was lost".into());
            }
        }
        let done = work(&mut self.lock());
        Ok(done)
    }
}

/// The connection of one node.
struct Memory {
    servers: MemoryServers,
    buckets: [MemoryBucket; Bucket::ALL.len()],
    queue: MemoryQueue,
}

impl Transport for Memory {
    fn address(&self) -> &str {
        "memory"
    }

    fn is_connected(&self) -> bool {
        *self.servers.0.online.borrow()
    }

    fn connections(&self) -> watch::Receiver<u64> {
        self.servers.0.connections.subscribe()
    }

    fn problem(&self) -> Option<String> {
        (!self.is_connected()).then(|| "the connection was lost".to_owned())
    }

    fn max_payload(&self) -> usize {
        MAX_PAYLOAD
    }

    fn publish(&self, subject: String, reply: Option<String>, payload: Bytes) -> Answer<'_, ()> {
        Box::pin(async move {
            if payload.len() > MAX_PAYLOAD {
                return Err("the message is too large".into());
            }
            self.servers.online().await;
            self.servers.lock().subscribers.publish(subject, reply, payload);
            Ok(())
        })
    }

    fn subscribe(
        &self,
        subject: String,
        queue: Option<String>,
    ) -> Answer<'_, Box<dyn Subscription>> {
        Box::pin(async move {
            Ok(Box::new(messages::subscribe(&self.servers, subject, queue)) as Box<_>)
        })
    }

    fn flush(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.servers.online())
    }

    fn bucket(&self, bucket: Bucket) -> BoxFuture<'_, Result<&dyn KeyValue, Error>> {
        Box::pin(async move { Ok(&self.buckets[bucket.number()] as &dyn KeyValue) })
    }

    fn renew(&self, _: Bucket) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }

    fn queue(&self) -> &dyn WorkQueue {
        &self.queue
    }

    fn objects(&self) -> &dyn Objects {
        &self.servers
    }
}

impl Objects for MemoryServers {
    fn put<'a>(&'a self, name: &'a str, bytes: Bytes) -> Answer<'a, ()> {
        Box::pin(self.perform(Operation::Write, move |state| {
            state.objects.insert(name.to_owned(), bytes);
        }))
    }

    fn get<'a>(&'a self, name: &'a str) -> Answer<'a, Bytes> {
        Box::pin(async move {
            let found = self.perform(Operation::Read, |state| state.objects.get(name).cloned());
            found.await?.ok_or_else(|| "there is no such object".into())
        })
    }

    fn delete<'a>(&'a self, name: &'a str) -> Answer<'a, ()> {
        Box::pin(self.perform(Operation::Write, |state| {
            state.objects.remove(name);
        }))
    }
}
