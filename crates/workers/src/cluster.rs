//! The cluster, as one process sees it.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt;
use switchboard_toolcall::BoxError;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};
use ulid::Ulid;

use crate::{
    Config, Error, Jobs, jobs,
    names::{Bucket, Names},
    nats::{Nats, hint},
    sign::Signer,
    transport::{KeyValue, Message, Objects, Subscription, Transport, WorkQueue},
};

/// The cluster, as one process sees it. Cheap to clone.
#[derive(Clone)]
pub struct Cluster(Arc<Inner>);

struct Inner {
    transport: Box<dyn Transport>,
    names: Names,
    replicas: usize,
    jobs: jobs::Config,
    signer: Signer,
}

impl Cluster {
    /// Connects to NATS. If the servers cannot be reached yet it returns as well, and tries on in the background: what needs them
    /// waits, or fails, by itself.
    ///
    /// # Errors
    /// A setting cannot be used.
    pub async fn connect(config: &Config) -> Result<Self, Error> {
        let names = Names::new(&config.prefix)?;
        let signer = Signer::new(config.key.as_ref())?;
        let nats = Nats::connect(config, &names).await?;
        Ok(Self::over(Box::new(nats), config, names, signer))
    }

    pub(crate) fn over(
        transport: Box<dyn Transport>,
        config: &Config,
        names: Names,
        signer: Signer,
    ) -> Self {
        let (replicas, jobs) = (config.replicas, config.jobs.clone());
        Self(Arc::new(Inner { transport, names, replicas, jobs, signer }))
    }

    /// NATS itself, for what only it can do.
    ///
    /// # Errors
    /// The cluster is in memory.
    pub fn nats(&self) -> Result<&Nats, Error> {
        let none = || Error::refused("be reached")("this cluster is in memory".into());
        self.0.transport.nats().ok_or_else(none)
    }

    /// The names of subjects, buckets and streams.
    pub fn names(&self) -> &Names {
        &self.0.names
    }

    /// Signs messages and entries, and says which may be believed.
    pub fn signer(&self) -> &Signer {
        &self.0.signer
    }

    /// On how many servers each bucket and stream is kept.
    pub fn replicas(&self) -> usize {
        self.0.replicas
    }

    /// Its durable calls, with the settings of the cluster. Creates a new handle each time.
    pub fn jobs(&self) -> Jobs {
        Jobs::new(self.clone(), self.0.jobs.clone())
    }

    /// Where the servers are, without secrets.
    pub fn address(&self) -> &str {
        self.0.transport.address()
    }

    /// What is wrong with the connection, if something is.
    pub fn problem(&self) -> Option<String> {
        self.0.transport.problem()
    }

    /// Waits until the servers can be reached, for so long at most. If they refuse us, it returns at once.
    ///
    /// # Errors
    /// They cannot be reached, or refuse us.
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

    /// Whether the servers can be reached now.
    pub fn is_connected(&self) -> bool {
        self.0.transport.is_connected()
    }

    /// A number that grows with each connection that is made: after the first, watches have to begin anew.
    pub fn connections(&self) -> watch::Receiver<u64> {
        self.0.transport.connections()
    }

    /// How many bytes a message may have; 0 before the first connection.
    pub fn max_payload(&self) -> usize {
        self.0.transport.max_payload()
    }

    /// A bucket, which is created if it does not exist.
    ///
    /// # Errors
    /// The servers cannot be reached, or do not allow it.
    pub async fn bucket(&self, bucket: Bucket) -> Result<&dyn KeyValue, Error> {
        self.0.transport.bucket(bucket).await
    }

    /// Creates a bucket again, which the servers may have lost when they were restarted.
    ///
    /// # Errors
    /// As [`bucket`](Self::bucket).
    pub async fn renew(&self, bucket: Bucket) -> Result<(), Error> {
        self.0.transport.renew(bucket).await
    }

    /// The queue of durable calls.
    pub fn queue(&self) -> &dyn WorkQueue {
        self.0.transport.queue()
    }

    /// Objects that are too large for a message.
    pub fn objects(&self) -> &dyn Objects {
        self.0.transport.objects()
    }

    /// A subject for answers that nobody else has.
    pub fn new_inbox(&self) -> String {
        format!("{}.{}", self.0.names.inbox(), Ulid::generate())
    }

    /// Sends a message; answers are expected at `reply`.
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

    /// Subscribes to a subject, which may have wildcards. Of the subscribers of one `queue`, one gets each message.
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

    /// Sends a message and waits for the first answer, however long it takes.
    ///
    /// # Errors
    /// Nobody subscribes to the subject, or the connection is closed.
    pub async fn request(
        &self,
        subject: impl Into<String>,
        payload: Bytes,
    ) -> Result<Message, BoxError> {
        let inbox = self.new_inbox();
        let mut answers = self.subscribe(inbox.clone(), None).await?;
        self.publish(subject, Some(inbox), payload).await?;
        match answers.next().await {
            Some(answer) if !answer.no_responders => Ok(answer),
            Some(_) => Err("nobody is there to answer".into()),
            None => Err("the connection is closed".into()),
        }
    }

    /// Waits until all that was published is on its way.
    pub async fn flush(&self) {
        self.0.transport.flush().await;
    }
}
