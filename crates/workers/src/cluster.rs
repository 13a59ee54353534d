//! The connection of one process to the cluster.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{
    StreamExt,
    future::{pending, try_join_all},
};
use switchboard_toolcall::BoxError;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};
use ulid::Ulid;

use crate::{
    Config, Error, Jobs,
    groups::GroupSelection,
    jobs,
    names::{Bucket, ClusterNames},
    nats::{NatsTransport, hint},
    sign::Signer,
    transport::{ClusterMessage, ClusterTransport, KeyValue, Objects, Subscription, WorkQueue},
};

/// The pause before the servers are asked again into how many partitions queued calls are divided: thousands of workers may start
/// at once.
const PAUSE: Duration = Duration::from_secs(8);

/// The connection of one process to the cluster. Cheap to clone.
#[derive(Clone)]
pub struct Cluster(Arc<ClusterInner>);

struct ClusterInner {
    transport: Box<dyn ClusterTransport>,
    names: ClusterNames,
    replicas: usize,
    jobs: jobs::Config,
    groups: GroupSelection,
    signer: Signer,
}

impl Cluster {
    /// Connects to NATS. Returns even if the servers cannot be reached yet, and retries in the background: operations
    /// that need them wait or fail.
    ///
    /// # Errors
    /// A setting is invalid.
    pub async fn connect(config: &Config) -> Result<Self, Error> {
        let names = ClusterNames::new(&config.prefix, config.jobs.partitions)?;
        let signer = Signer::new(config.key.as_ref())?;
        let nats = NatsTransport::connect(config, &names).await?;
        Self::over(Box::new(nats), config, names, signer)
    }

    pub(crate) fn over(
        transport: Box<dyn ClusterTransport>,
        config: &Config,
        names: ClusterNames,
        signer: Signer,
    ) -> Result<Self, Error> {
        let (replicas, jobs) = (config.replicas, config.jobs.clone());
        let groups = GroupSelection::new(&config.groups)?;
        Ok(Self(Arc::new(ClusterInner { transport, names, replicas, jobs, groups, signer })))
    }

    /// Returns the NATS connection, for what the transport does not abstract.
    ///
    /// # Errors
    /// The cluster is in memory.
    pub fn nats(&self) -> Result<&NatsTransport, Error> {
        let none = || Error::refused("be reached")("this cluster is in memory".into());
        self.0.transport.nats().ok_or_else(none)
    }

    /// Returns the names of subjects, buckets and streams.
    pub fn names(&self) -> &ClusterNames {
        &self.0.names
    }

    /// Returns what signs and verifies messages and entries.
    pub fn signer(&self) -> &Signer {
        &self.0.signer
    }

    /// Returns on how many servers each bucket and stream is replicated.
    pub fn replicas(&self) -> usize {
        self.0.replicas
    }

    /// Returns which groups of workers this node uses, if it is a gateway.
    pub(crate) fn groups(&self) -> &GroupSelection {
        &self.0.groups
    }

    /// Creates a handle to the durable calls, with the cluster's settings.
    pub fn jobs(&self) -> Jobs {
        Jobs::new(self.clone(), self.0.jobs.clone())
    }

    /// Returns the servers' addresses, without secrets.
    pub fn address(&self) -> &str {
        self.0.transport.address()
    }

    /// Returns what is wrong with the connection, if anything.
    pub fn problem(&self) -> Option<String> {
        self.0.transport.problem()
    }

    /// Waits until the servers can be reached, up to `within`. Returns at once if they reject us.
    ///
    /// # Errors
    /// They cannot be reached, or reject us.
    pub async fn reached(&self, within: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + within;
        while !self.is_connected() {
            let problem = self.problem();
            let is_final = problem.as_deref().is_some_and(|problem| !hint(problem).is_empty());
            if is_final || Instant::now() >= deadline {
                let problem = problem.unwrap_or_else(|| "there is no answer".to_owned());
                let reason = format!("{problem}{}", hint(&problem)).into();
                return Err(Error::Unreachable { address: self.address().to_owned(), reason });
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Returns whether the servers can be reached now.
    pub fn is_connected(&self) -> bool {
        self.0.transport.is_connected()
    }

    /// Returns a number that increments with each connection: after the first, watches must be restarted.
    pub fn connections(&self) -> watch::Receiver<u64> {
        self.0.transport.connections()
    }

    /// Returns the largest message in bytes; 0 before the first connection.
    pub fn max_payload(&self) -> usize {
        self.0.transport.max_payload()
    }

    /// Opens a bucket that is not divided; creates it if it does not exist.
    ///
    /// # Errors
    /// The servers cannot be reached, or do not allow it.
    pub async fn bucket(&self, bucket: Bucket) -> Result<&dyn KeyValue, Error> {
        self.0.transport.bucket(bucket, 0).await
    }

    /// Opens the partition of a bucket that has this key; creates it if it does not exist.
    ///
    /// # Errors
    /// As [`bucket`](Self::bucket), or as [`agree`](Self::agree).
    pub async fn bucket_of(&self, bucket: Bucket, key: &str) -> Result<&dyn KeyValue, Error> {
        self.agree().await?;
        self.0.transport.bucket(bucket, self.0.names.partition_of(bucket, key)).await
    }

    /// Opens all partitions of a bucket; creates those that do not exist.
    ///
    /// # Errors
    /// As [`bucket_of`](Self::bucket_of).
    pub async fn partitions_of(&self, bucket: Bucket) -> Result<Vec<&dyn KeyValue>, Error> {
        self.agree().await?;
        let partitions = 0..self.0.names.bucket_names(bucket).len();
        let opened = partitions.map(|partition| self.0.transport.bucket(bucket, partition));
        try_join_all(opened).await
    }

    /// Checks that the cluster has as many partitions of queued calls as this node's config says; the first node decides.
    ///
    /// # Errors
    /// It has another number ([`Error::Partitions`]), or the servers cannot be reached.
    pub async fn agree(&self) -> Result<(), Error> {
        self.queue().agree().await
    }

    /// Returns the error if the cluster has another number of partitions than this node; else never.
    pub(crate) async fn disagreement(&self) -> Error {
        loop {
            match self.agree().await {
                Ok(()) => pending().await,
                Err(error @ Error::Partitions { .. }) => return error,
                // It is asked again with the first call, too.
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    /// Creates a bucket again, which the servers may have lost in a restart.
    ///
    /// # Errors
    /// As [`bucket`](Self::bucket).
    pub async fn renew(&self, bucket: Bucket) -> Result<(), Error> {
        self.0.transport.renew(bucket).await
    }

    /// Returns the queue of durable calls.
    pub fn queue(&self) -> &dyn WorkQueue {
        self.0.transport.queue()
    }

    /// Returns the store for objects that are too large for a message.
    pub fn objects(&self) -> &dyn Objects {
        self.0.transport.objects()
    }

    /// Returns a unique subject for replies.
    pub fn new_inbox(&self) -> String {
        format!("{}.{}", self.0.names.inbox(), Ulid::generate())
    }

    /// Publishes a message; replies go to `reply`.
    ///
    /// # Errors
    /// The connection is closed, or the message is too large.
    pub async fn publish(
        &self,
        subject: impl Into<String>,
        reply: Option<String>,
        payload: Bytes,
    ) -> Result<(), BoxError> {
        self.0.transport.publish(subject.into(), reply, payload).await
    }

    /// Subscribes to a subject, which may have wildcards. Each message goes to one subscriber of a `queue`.
    ///
    /// # Errors
    /// The connection is closed.
    pub async fn subscribe(
        &self,
        subject: impl Into<String>,
        queue: Option<&str>,
    ) -> Result<Box<dyn Subscription>, BoxError> {
        self.0.transport.subscribe(subject.into(), queue.map(str::to_owned)).await
    }

    /// Publishes a message and waits for the first reply, without a timeout.
    ///
    /// # Errors
    /// Nobody subscribes to the subject, or the connection is closed.
    pub async fn request(
        &self,
        subject: impl Into<String>,
        payload: Bytes,
    ) -> Result<ClusterMessage, BoxError> {
        let inbox = self.new_inbox();
        let mut answers = self.subscribe(inbox.clone(), None).await?;
        self.publish(subject, Some(inbox), payload).await?;
        match answers.next().await {
            Some(answer) if !answer.no_responders => Ok(answer),
            Some(_) => Err("nothing listens on that subject".into()),
            None => Err("the connection is closed".into()),
        }
    }

    /// Waits until everything published was sent.
    pub async fn flush(&self) {
        self.0.transport.flush().await;
    }
}
