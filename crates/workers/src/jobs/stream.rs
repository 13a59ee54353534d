//! The streams: calls that wait, and dead letters; and a group's place in the first.

use std::time::Duration;

use async_nats::jetstream::{
    consumer::{AckPolicy, PullConsumer, pull},
    stream::{self, RetentionPolicy, StorageType, Stream},
};
use tokio::sync::OnceCell;

use super::Jobs;
use crate::{Error, names::token};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a call may wait for a worker: as long as its state is kept.
const JOBS_MAX_AGE: Duration = Duration::from_secs(7 * DAY.as_secs());
/// How long dead letters lie.
const DEAD_MAX_AGE: Duration = Duration::from_secs(30 * DAY.as_secs());
/// How long the stream knows what it was given: who gets no answer may give it again.
const SAME_WITHIN: Duration = Duration::from_secs(10 * 60);

/// The streams, as soon as they were needed.
#[derive(Default)]
pub(crate) struct Streams {
    jobs: OnceCell<Stream>,
    dead: OnceCell<Stream>,
}

impl Jobs {
    /// Where calls wait, made where it is not there yet.
    pub(crate) async fn waiting(&self) -> Result<&Stream, Error> {
        self.0.streams.jobs.get_or_try_init(|| self.open(self.stream_of_jobs())).await
    }

    /// Where dead letters lie, made where it is not there yet.
    pub(crate) async fn dead_letters(&self) -> Result<&Stream, Error> {
        self.0.streams.dead.get_or_try_init(|| self.open(self.stream_of_dead())).await
    }

    /// Makes both again, where the servers have lost them.
    pub(crate) async fn reopen(&self) -> Result<(), Error> {
        self.open(self.stream_of_jobs()).await?;
        self.open(self.stream_of_dead()).await.map(drop)
    }

    fn stream_of_jobs(&self) -> stream::Config {
        let names = self.cluster().names();
        stream::Config {
            name: names.stream("jobs"),
            description: Some("Switchboard: durable calls that have not ended".to_owned()),
            subjects: vec![format!("{}.job.>", names.prefix())],
            retention: RetentionPolicy::WorkQueue,
            max_age: JOBS_MAX_AGE,
            ..self.kept()
        }
    }

    fn stream_of_dead(&self) -> stream::Config {
        let names = self.cluster().names();
        stream::Config {
            name: names.stream("dead"),
            description: Some("Switchboard: durable calls that were given up".to_owned()),
            subjects: vec![format!("{}.dead.>", names.prefix())],
            retention: RetentionPolicy::Limits,
            max_age: DEAD_MAX_AGE,
            ..self.kept()
        }
    }

    fn kept(&self) -> stream::Config {
        stream::Config {
            storage: StorageType::File,
            num_replicas: self.cluster().replicas(),
            duplicate_window: SAME_WITHIN,
            allow_direct: true,
            ..stream::Config::default()
        }
    }

    async fn open(&self, config: stream::Config) -> Result<Stream, Error> {
        let name = config.name.clone();
        let refused = Error::refused(format!("open the stream `{name}`"));
        match self.cluster().jetstream().create_stream(config).await {
            Ok(stream) => Ok(stream),
            // It may be there with other settings, which somebody chose.
            Err(error) => match self.cluster().jetstream().get_stream(name).await {
                Ok(stream) => Ok(stream),
                Err(_) => Err(refused(error.into())),
            },
        }
    }

    /// A group's place in the queue, which all its workers share.
    pub(crate) async fn consumer(&self, group: &str) -> Result<PullConsumer, Error> {
        let config = pull::Config {
            durable_name: Some(token(group)),
            ack_policy: AckPolicy::Explicit,
            ack_wait: self.config().lost_after.0,
            // Calls are counted by attempts that were begun; a delivery that nobody took up is none.
            max_deliver: -1,
            // Those that wait for their next attempt count as well, and must not hold up others.
            max_ack_pending: -1,
            filter_subject: self.cluster().names().jobs_of(group),
            ..pull::Config::default()
        };
        let made = self.waiting().await?.create_consumer(config).await;
        made.map_err(|error| {
            Error::refused(format!("open the queue of the group `{group}`"))(error.into())
        })
    }
}
