//! The queue of durable calls: streams of jobs with a consumer for each group, and a stream of dead letters.

mod figures;
mod streams;

use std::{error::Error as _, time::Duration};

use async_nats::jetstream::{
    self, AckKind, ErrorCode,
    consumer::{AckPolicy, PullConsumer, pull},
    context::{PublishError, PublishErrorKind},
    message::PublishMessage,
    stream::Stream,
};
use bytes::Bytes;
use futures_util::StreamExt;
use switchboard_toolcall::{BoxError, BoxFuture};
use tokio::{sync::OnceCell, time::timeout};

use crate::{
    ClusterNames, Error,
    jobs::QueueFigures,
    names::token,
    transport::{Ack, Acks, Consumer, Delivery, QueueFull, TransportFuture, WorkQueue},
};

/// How much longer than a pull's own timeout its response may take.
const SLACK: Duration = Duration::from_secs(3);

pub(super) struct NatsQueue {
    jetstream: jetstream::Context,
    names: ClusterNames,
    replicas: usize,
    /// How many jobs of one subject are stored.
    max_queued: u32,
    /// Set once the cluster is known to have as many partitions as we have.
    agreed: OnceCell<()>,
    /// The stream of each partition.
    jobs: Vec<OnceCell<Stream>>,
}

impl NatsQueue {
    pub(super) fn new(
        jetstream: jetstream::Context,
        names: ClusterNames,
        replicas: usize,
        max_queued: u32,
    ) -> Self {
        let jobs = names.partitions().indices().map(|_| OnceCell::new()).collect();
        Self { jetstream, names, replicas, max_queued, agreed: OnceCell::new(), jobs }
    }

    async fn publish_once(
        &self,
        subject: &str,
        id: &str,
        payload: Bytes,
    ) -> Result<u64, PublishError> {
        let message = PublishMessage::build().message_id(id).payload(payload);
        let confirmed = self.jetstream.send_publish(subject.to_owned(), message).await?;
        Ok(confirmed.await?.sequence)
    }
}

impl WorkQueue for NatsQueue {
    fn agree(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { self.agreed.get_or_try_init(|| self.open_first()).await.copied() })
    }

    fn publish<'a>(
        &'a self,
        subject: &'a str,
        id: &'a str,
        payload: Bytes,
    ) -> TransportFuture<'a, u64> {
        Box::pin(async move {
            self.agree().await?;
            match self.publish_once(subject, id, payload.clone()).await {
                // It was never created, or the servers have lost it.
                Err(error) if error.kind() == PublishErrorKind::StreamNotFound => {
                    self.open_all().await?;
                    Ok(self.publish_once(subject, id, payload).await?)
                }
                Err(error) if is_full(&error) => Err(QueueFull.into()),
                published => Ok(published?),
            }
        })
    }

    fn consumer<'a>(
        &'a self,
        group: &'a str,
        ack_wait: Duration,
    ) -> TransportFuture<'a, Box<dyn Consumer>> {
        Box::pin(async move {
            let config = pull::Config {
                durable_name: Some(token(group)),
                ack_policy: AckPolicy::Explicit,
                ack_wait,
                // Attempts are counted in the state; a delivery alone is not an attempt.
                max_deliver: -1,
                // Jobs that wait for their next attempt count too, and must not block others.
                max_ack_pending: -1,
                filter_subject: self.names.jobs_of(group),
                ..pull::Config::default()
            };
            let stream = self.jobs(self.names.partition_of_jobs(group)).await?;
            let found = stream.get_or_create_consumer(&token(group), config.clone()).await?;
            // The worker that started last decides. Writing it anew without need would cost all servers a vote.
            let consumer = match found.cached_info().config.ack_wait == ack_wait {
                true => found,
                false => stream.create_consumer(config).await?,
            };
            Ok(Box::new(NatsConsumer(consumer)) as Box<dyn Consumer>)
        })
    }

    fn delete<'a>(&'a self, group: &'a str, number: u64) -> TransportFuture<'a, ()> {
        Box::pin(async move {
            let stream = self.jobs(self.names.partition_of_jobs(group)).await?;
            Ok(stream.delete_message(number).await.map(drop)?)
        })
    }

    fn figures(&self) -> TransportFuture<'_, Vec<QueueFigures>> {
        Box::pin(figures::figures(self))
    }
}

/// Returns whether the stream has as many messages of the subject as it may have.
fn is_full(error: &PublishError) -> bool {
    let reason = error.source().and_then(|source| source.downcast_ref::<jetstream::Error>());
    // The code is that of all reasons why a message is not stored.
    reason.is_some_and(|reason| {
        reason.error_code() == ErrorCode::STREAM_STORE_FAILED
            && reason.to_string().contains("maximum messages per subject")
    })
}

struct NatsConsumer(PullConsumer);

impl NatsConsumer {
    async fn pull(&self, wait: Duration) -> Result<Option<Delivery>, BoxError> {
        let mut batch = self.0.batch().max_messages(1).expires(wait).messages().await?;
        let Some(message) = batch.next().await.transpose()? else { return Ok(None) };
        let info = message.info()?;
        let published_ms = info.published.unix_timestamp_nanos() / 1_000_000;
        Ok(Some(Delivery {
            subject: message.subject.to_string(),
            payload: message.payload.clone(),
            number: info.stream_sequence,
            delivered: u64::try_from(info.delivered).unwrap_or(1),
            published_ms: u64::try_from(published_ms).unwrap_or_default(),
            acks: Box::new(NatsAcks(message)),
        }))
    }
}

impl Consumer for NatsConsumer {
    fn next(&mut self, wait: Duration) -> TransportFuture<'_, Option<Delivery>> {
        Box::pin(async move {
            match timeout(wait + SLACK, self.pull(wait)).await {
                Ok(delivery) => delivery,
                // The servers were unreachable or restarted, and lost the request.
                Err(_) => Ok(None),
            }
        })
    }
}

struct NatsAcks(jetstream::Message);

impl Acks for NatsAcks {
    fn ack(&self, ack: Ack) -> TransportFuture<'_, ()> {
        let kind = match ack {
            Ack::Done => return Box::pin(self.0.double_ack()),
            Ack::Retry(Duration::ZERO) => AckKind::Nak(None),
            Ack::Retry(pause) => AckKind::Nak(Some(pause)),
            Ack::Progress => AckKind::Progress,
            Ack::Discard => AckKind::Term,
        };
        Box::pin(self.0.ack_with(kind))
    }
}
