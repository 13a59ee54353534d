//! The queue of durable calls: a stream of jobs with a consumer for each group, and a stream of dead letters.

mod figures;

use std::{error::Error as _, time::Duration};

use async_nats::jetstream::{
    self, AckKind, ErrorCode,
    consumer::{AckPolicy, PullConsumer, pull},
    context::{PublishError, PublishErrorKind},
    message::PublishMessage,
    stream::{self, DiscardPolicy, RetentionPolicy, StorageType, Stream},
};
use bytes::Bytes;
use futures_util::StreamExt;
use switchboard_toolcall::BoxError;
use tokio::{sync::OnceCell, time::timeout};

use crate::{
    ClusterNames, Error,
    jobs::QueueFigures,
    names::token,
    transport::{Ack, Acks, Consumer, Delivery, QueueFull, TransportFuture, WorkQueue},
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a call may wait for a worker: as long as its state is stored.
const JOBS_MAX_AGE: Duration = Duration::from_secs(7 * DAY.as_secs());
/// How long dead letters are kept.
const DEAD_MAX_AGE: Duration = Duration::from_secs(30 * DAY.as_secs());
/// How long a stream recognises duplicates of a message whose confirmation was lost.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(10 * 60);
/// How much longer than a pull's own timeout its response may take.
const SLACK: Duration = Duration::from_secs(3);

pub(super) struct NatsQueue {
    jetstream: jetstream::Context,
    names: ClusterNames,
    replicas: usize,
    /// How many jobs of one subject are stored.
    max_queued: u32,
    jobs: OnceCell<Stream>,
}

impl NatsQueue {
    pub(super) fn new(
        jetstream: jetstream::Context,
        names: ClusterNames,
        replicas: usize,
        max_queued: u32,
    ) -> Self {
        Self { jetstream, names, replicas, max_queued, jobs: OnceCell::new() }
    }

    /// Returns the stream of jobs; creates it if it does not exist.
    async fn jobs(&self) -> Result<&Stream, Error> {
        let opened = async {
            let stream = self.open(self.config_of_jobs()).await?;
            self.limit(&stream).await;
            Ok(stream)
        };
        self.jobs.get_or_try_init(|| opened).await
    }

    /// Sets how many jobs are stored, if the stream has another limit: that of an earlier version or config.
    async fn limit(&self, stream: &Stream) {
        let (found, wanted) = (&stream.cached_info().config, self.config_of_jobs());
        if found.max_messages_per_subject == wanted.max_messages_per_subject {
            return;
        }
        let changed = stream::Config {
            max_messages_per_subject: wanted.max_messages_per_subject,
            discard: wanted.discard,
            discard_new_per_subject: wanted.discard_new_per_subject,
            ..found.clone()
        };
        if let Err(error) = self.jetstream.update_stream(changed).await {
            tracing::warn!("the queue of calls keeps its limit: {error}");
        }
    }

    fn config_of_jobs(&self) -> stream::Config {
        stream::Config {
            name: self.names.stream("jobs"),
            description: Some("Switchboard: durable calls that have not ended".to_owned()),
            subjects: vec![format!("{}.job.>", self.names.prefix())],
            retention: RetentionPolicy::WorkQueue,
            max_age: JOBS_MAX_AGE,
            max_messages_per_subject: self.max_queued.max(1).into(),
            discard: DiscardPolicy::New,
            discard_new_per_subject: true,
            ..self.config()
        }
    }

    fn config_of_dead(&self) -> stream::Config {
        stream::Config {
            name: self.names.stream("dead"),
            description: Some("Switchboard: durable calls that failed".to_owned()),
            subjects: vec![format!("{}.dead.>", self.names.prefix())],
            retention: RetentionPolicy::Limits,
            max_age: DEAD_MAX_AGE,
            ..self.config()
        }
    }

    fn config(&self) -> stream::Config {
        stream::Config {
            storage: StorageType::File,
            num_replicas: self.replicas,
            duplicate_window: DUPLICATE_WINDOW,
            allow_direct: true,
            ..stream::Config::default()
        }
    }

    async fn open(&self, config: stream::Config) -> Result<Stream, Error> {
        let name = config.name.clone();
        let refused = Error::refused(format!("open the stream `{name}`"));
        // Creates it only if it is not there, since that goes through the leader of all streams.
        match self.jetstream.get_or_create_stream(config).await {
            Ok(stream) => Ok(stream),
            // Somebody else may have created it meanwhile, with other settings.
            Err(error) => match self.jetstream.get_stream(name).await {
                Ok(stream) => Ok(stream),
                Err(_) => Err(refused(error.into())),
            },
        }
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
    fn publish<'a>(
        &'a self,
        subject: &'a str,
        id: &'a str,
        payload: Bytes,
    ) -> TransportFuture<'a, u64> {
        Box::pin(async move {
            match self.publish_once(subject, id, payload.clone()).await {
                // It was never created, or the servers have lost it.
                Err(error) if error.kind() == PublishErrorKind::StreamNotFound => {
                    self.open(self.config_of_jobs()).await?;
                    self.open(self.config_of_dead()).await?;
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
            let stream = self.jobs().await?;
            let found = stream.get_or_create_consumer(&token(group), config.clone()).await?;
            // The worker that started last decides. Writing it anew without need would cost all servers a vote.
            let consumer = match found.cached_info().config.ack_wait == ack_wait {
                true => found,
                false => stream.create_consumer(config).await?,
            };
            Ok(Box::new(NatsConsumer(consumer)) as Box<dyn Consumer>)
        })
    }

    fn delete(&self, number: u64) -> TransportFuture<'_, ()> {
        Box::pin(async move { Ok(self.jobs().await?.delete_message(number).await.map(drop)?) })
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
