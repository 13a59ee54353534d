//! A cluster in memory, for tests: as strict as NATS about revisions, redelivery, duplicates and expiry, and using
//! tokio's clock, which tests can pause.
//!
//! `conformance.rs` of the tests makes the same assertions about it and about NATS.

mod key_value;
mod messages;
mod traffic;
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
    Bucket, Cluster, ClusterNames, Config, Error, Signer,
    transport::{
        Ack, ClusterTransport, KeyValue, Objects, Subscription, TransportFuture, WorkQueue,
    },
};
use key_value::{MemoryBucket, MemoryBucketState};
use messages::MemorySubscribers;
pub use traffic::MemoryTraffic;
use work_queue::{MemoryQueue, MemoryQueueState};

/// NATS's default limit.
const MAX_PAYLOAD: usize = 1 << 20;

/// The servers of a cluster, in memory. Cheap to clone.
#[derive(Clone, Default)]
pub struct MemoryServers(Arc<MemoryServersInner>);

struct MemoryServersInner {
    state: Mutex<MemoryServersState>,
    /// Notified when a job may be ready for delivery.
    jobs_changed: Notify,
    /// How often the servers came online.
    connections: watch::Sender<u64>,
    /// Whether they can be reached.
    online: watch::Sender<bool>,
    faults: Mutex<Option<FaultInjector>>,
}

#[derive(Default)]
struct MemoryServersState {
    buckets: HashMap<String, MemoryBucketState>,
    subscribers: MemorySubscribers,
    /// The number of partitions of each prefix, set by its first node.
    partitions: HashMap<String, u32>,
    queues: HashMap<String, MemoryQueueState>,
    objects: BTreeMap<String, Bytes>,
}

/// The fault of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryFault {
    /// Nothing.
    #[default]
    None,
    /// It is delayed, then done.
    Delay(Duration),
    /// It fails without being done.
    Refuse,
    /// It is done, and fails: the confirmation was lost.
    LoseAnswer,
}

/// An operation that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryOperation {
    /// An entry is read.
    Read,
    /// An entry is written.
    Write,
    /// A job or a dead letter is stored.
    Enqueue,
    /// A delivered job is acknowledged.
    Ack(Ack),
}

type FaultInjector = Box<dyn FnMut(MemoryOperation) -> MemoryFault + Send>;

impl Default for MemoryServersInner {
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
    /// Connects a node with the prefix, the key and the job settings of `config`.
    ///
    /// # Errors
    /// A setting is invalid.
    pub fn connect(&self, config: &Config) -> Result<Cluster, Error> {
        self.connect_measured(config, &MemoryTraffic::default())
    }

    /// Connects a node, and counts what it receives.
    ///
    /// # Errors
    /// A setting is invalid.
    pub fn connect_measured(
        &self,
        config: &Config,
        traffic: &MemoryTraffic,
    ) -> Result<Cluster, Error> {
        let names = ClusterNames::new(&config.prefix, config.jobs.partitions)?;
        let signer = Signer::new(config.key.as_ref())?;
        let bucket = |bucket| -> Vec<_> {
            let open = |name| MemoryBucket::new(self.clone(), name, bucket, traffic.clone());
            names.bucket_names(bucket).into_iter().map(open).collect()
        };
        let memory = MemoryTransport {
            buckets: Bucket::ALL.map(bucket),
            queue: MemoryQueue::new(self.clone(), names.clone(), config.jobs.max_queued),
            servers: self.clone(),
            traffic: traffic.clone(),
        };
        Cluster::over(Box::new(memory), config, names, signer)
    }

    /// Calls `faults` before each operation to get its fault.
    pub fn set_faults(&self, faults: impl FnMut(MemoryOperation) -> MemoryFault + Send + 'static) {
        *self.0.faults.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(faults));
    }

    /// Makes the servers unreachable, or brings them back with everything they stored. Operations wait meanwhile.
    pub fn set_online(&self, online: bool) {
        if self.0.online.send_replace(online) != online && online {
            self.0.connections.send_modify(|count| *count += 1);
        }
    }

    fn lock(&self) -> MutexGuard<'_, MemoryServersState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn online(&self) {
        // We hold the sender, so the channel is open.
        _ = self.0.online.subscribe().wait_for(|online| *online).await;
    }

    /// Runs `work` once the servers can be reached, with the operation's fault.
    async fn perform<T>(
        &self,
        operation: MemoryOperation,
        work: impl FnOnce(&mut MemoryServersState) -> T,
    ) -> Result<T, BoxError> {
        self.online().await;
        let fault = match &mut *self.0.faults.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(faults) => faults(operation),
            None => MemoryFault::None,
        };
        match fault {
            MemoryFault::None => {}
            MemoryFault::Delay(delay) => sleep(delay).await,
            MemoryFault::Refuse => return Err("the servers did not do it".into()),
            MemoryFault::LoseAnswer => {
                work(&mut self.lock());
                return Err("the answer was lost".into());
            }
        }
        let done = work(&mut self.lock());
        Ok(done)
    }
}

/// The connection of one node.
struct MemoryTransport {
    servers: MemoryServers,
    /// The partitions of each bucket.
    buckets: [Vec<MemoryBucket>; Bucket::ALL.len()],
    queue: MemoryQueue,
    traffic: MemoryTraffic,
}

impl ClusterTransport for MemoryTransport {
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

    fn publish(
        &self,
        subject: String,
        reply: Option<String>,
        payload: Bytes,
    ) -> TransportFuture<'_, ()> {
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
    ) -> TransportFuture<'_, Box<dyn Subscription>> {
        Box::pin(async move {
            let traffic = self.traffic.clone();
            Ok(Box::new(messages::subscribe(&self.servers, subject, queue, traffic)) as Box<_>)
        })
    }

    fn flush(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.servers.online())
    }

    fn bucket(
        &self,
        bucket: Bucket,
        partition: usize,
    ) -> BoxFuture<'_, Result<&dyn KeyValue, Error>> {
        Box::pin(async move { Ok(&self.buckets[bucket.number()][partition] as &dyn KeyValue) })
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
    fn put<'a>(&'a self, name: &'a str, bytes: Bytes) -> TransportFuture<'a, ()> {
        Box::pin(self.perform(MemoryOperation::Write, move |state| {
            state.objects.insert(name.to_owned(), bytes);
        }))
    }

    fn get<'a>(&'a self, name: &'a str) -> TransportFuture<'a, Bytes> {
        Box::pin(async move {
            let found =
                self.perform(MemoryOperation::Read, |state| state.objects.get(name).cloned());
            found.await?.ok_or_else(|| "there is no such object".into())
        })
    }

    fn delete<'a>(&'a self, name: &'a str) -> TransportFuture<'a, ()> {
        Box::pin(self.perform(MemoryOperation::Write, |state| {
            state.objects.remove(name);
        }))
    }
}
