//! The NATS connection: subjects, buckets and streams.

mod health;
mod key_value;
mod objects;
mod options;
mod work_queue;

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use async_nats::{Client, StatusCode, Subscriber, connection::State, jetstream};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use switchboard_toolcall::BoxFuture;
use tokio::sync::{OnceCell, watch};

use crate::{
    Bucket, ClusterNames, Config, Error,
    transport::{
        ClusterMessage, ClusterTransport, KeyValue, Objects, Subscription, TransportFuture,
        WorkQueue,
    },
};
use health::ConnectionHealth;
pub(crate) use health::hint;
use key_value::NatsBucket;
use objects::NatsObjects;
pub use options::warnings;
use work_queue::NatsQueue;

/// A connection to NATS.
pub struct NatsTransport {
    client: Client,
    jetstream: jetstream::Context,
    address: String,
    names: ClusterNames,
    replicas: usize,
    /// The partitions of each bucket.
    buckets: [Vec<OnceCell<NatsBucket>>; Bucket::ALL.len()],
    queue: NatsQueue,
    objects: NatsObjects,
    health: ConnectionHealth,
}

impl NatsTransport {
    pub(crate) async fn connect(config: &Config, names: &ClusterNames) -> Result<Self, Error> {
        let addresses = options::addresses(config)?;
        let address = options::without_credentials(&addresses);
        let unreachable = |reason: async_nats::ConnectError| Error::Unreachable {
            address: address.clone(),
            reason: reason.into(),
        };
        let options = options::options(config).await?.custom_inbox_prefix(names.inbox());
        let health = ConnectionHealth::default();
        let (heard, shown) = (health.clone(), address.clone());
        let options = options.event_callback(move |event| {
            heard.hear(&shown, &event);
            std::future::ready(())
        });
        let client =
            options.retry_on_initial_connect().connect(addresses).await.map_err(unreachable)?;
        let jetstream = match options::domain(config)? {
            Some(domain) => jetstream::with_domain(client.clone(), domain),
            None => jetstream::new(client.clone()),
        };
        let (names, replicas) = (names.clone(), config.replicas);
        Ok(Self {
            queue: NatsQueue::new(
                jetstream.clone(),
                names.clone(),
                replicas,
                config.jobs.max_queued,
            ),
            objects: NatsObjects::new(jetstream.clone(), names.stream("large"), replicas),
            jetstream,
            client,
            address,
            replicas,
            buckets: Bucket::ALL
                .map(|bucket| names.bucket_names(bucket).iter().map(|_| OnceCell::new()).collect()),
            names,
            health,
        })
    }

    /// Returns the client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the JetStream context, for streams and buckets.
    pub fn jetstream(&self) -> &jetstream::Context {
        &self.jetstream
    }

    async fn open(&self, bucket: Bucket, partition: usize) -> Result<NatsBucket, Error> {
        let name = self.names.bucket_names(bucket).swap_remove(partition);
        key_value::open(&self.jetstream, name, bucket, self.replicas).await
    }
}

impl ClusterTransport for NatsTransport {
    fn address(&self) -> &str {
        &self.address
    }

    fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    fn connections(&self) -> watch::Receiver<u64> {
        self.health.connected()
    }

    fn problem(&self) -> Option<String> {
        self.health.problem()
    }

    fn max_payload(&self) -> usize {
        self.client.max_payload()
    }

    fn publish(
        &self,
        subject: String,
        reply: Option<String>,
        payload: Bytes,
    ) -> TransportFuture<'_, ()> {
        Box::pin(async move {
            match reply {
                Some(reply) => self.client.publish_with_reply(subject, reply, payload).await?,
                None => self.client.publish(subject, payload).await?,
            }
            Ok(())
        })
    }

    fn subscribe(
        &self,
        subject: String,
        queue: Option<String>,
    ) -> TransportFuture<'_, Box<dyn Subscription>> {
        Box::pin(async move {
            let messages = match queue {
                Some(queue) => self.client.queue_subscribe(subject, queue).await?,
                None => self.client.subscribe(subject).await?,
            };
            Ok(Box::new(NatsSubscription(messages)) as Box<dyn Subscription>)
        })
    }

    fn flush(&self) -> BoxFuture<'_, ()> {
        // Fails only if the connection is closed.
        Box::pin(async { _ = self.client.flush().await })
    }

    fn bucket(
        &self,
        bucket: Bucket,
        partition: usize,
    ) -> BoxFuture<'_, Result<&dyn KeyValue, Error>> {
        Box::pin(async move {
            let cell = &self.buckets[bucket.number()][partition];
            let store = cell.get_or_try_init(|| self.open(bucket, partition)).await?;
            Ok(store as &dyn KeyValue)
        })
    }

    fn renew(&self, bucket: Bucket) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            for (partition, cell) in self.buckets[bucket.number()].iter().enumerate() {
                match cell.initialized() {
                    true => self.open(bucket, partition).await.map(drop)?,
                    false => self.bucket(bucket, partition).await.map(drop)?,
                }
            }
            Ok(())
        })
    }

    fn queue(&self) -> &dyn WorkQueue {
        &self.queue
    }

    fn objects(&self) -> &dyn Objects {
        &self.objects
    }

    fn nats(&self) -> Option<&NatsTransport> {
        Some(self)
    }
}

struct NatsSubscription(Subscriber);

impl Stream for NatsSubscription {
    type Item = ClusterMessage;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ClusterMessage>> {
        self.0.poll_next_unpin(cx).map(|message| message.map(ClusterMessage::from))
    }
}

impl Subscription for NatsSubscription {
    fn drain(&mut self) -> TransportFuture<'_, ()> {
        Box::pin(async { Ok(self.0.drain().await?) })
    }
}

impl From<async_nats::Message> for ClusterMessage {
    fn from(message: async_nats::Message) -> Self {
        Self {
            no_responders: message.status == Some(StatusCode::NO_RESPONDERS),
            subject: message.subject.into_string(),
            reply: message.reply.map(async_nats::Subject::into_string),
            payload: message.payload,
        }
    }
}
