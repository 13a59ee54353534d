//! The streams of the queue, and how the nodes of a cluster agree on the number of partitions.
//!
//! The stream `PREFIX_jobs` says how many there are. If there is one, it is that stream itself, as 0.1.0 made it. If there are
//! several, it is empty, its metadata has their number, and it has no subject of 0.1.0: nodes of that version can store no calls.

use std::{collections::HashMap, time::Duration};

use async_nats::jetstream::stream::{self, DiscardPolicy, RetentionPolicy, StorageType, Stream};

use super::NatsQueue;
use crate::{Error, transport::WorkQueue};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a call may wait for a worker: as long as its state is stored.
const JOBS_MAX_AGE: Duration = Duration::from_secs(7 * DAY.as_secs());
/// How long dead letters are kept.
const DEAD_MAX_AGE: Duration = Duration::from_secs(30 * DAY.as_secs());
/// How long a stream recognises duplicates of a message whose confirmation was lost.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(10 * 60);
/// The metadata with the number of partitions.
const PARTITIONS: &str = "switchboard.partitions";

impl NatsQueue {
    /// Opens the stream that says how many partitions there are, and compares that.
    pub(super) async fn open_first(&self) -> Result<(), Error> {
        let first = self.open(self.config_of_first()).await?;
        self.check(&first)
    }

    /// Returns an error unless there are as many partitions as we have.
    pub(super) fn check(&self, first: &Stream) -> Result<(), Error> {
        let metadata = &first.cached_info().config.metadata;
        let cluster = metadata.get(PARTITIONS).and_then(|number| number.parse().ok()).unwrap_or(1);
        let config = self.names.partitions().number();
        match cluster == config {
            true => Ok(()),
            false => Err(Error::Partitions { config, cluster, stream: self.names.stream("jobs") }),
        }
    }

    /// Opens all streams; creates those that do not exist.
    pub(super) async fn open_all(&self) -> Result<(), Error> {
        self.open_first().await?;
        for partition in self.names.partitions().indices() {
            self.open(self.config_of_jobs(partition)).await?;
        }
        self.open(self.config_of_dead()).await.map(drop)
    }

    /// Returns the stream of a partition's jobs; creates it if it does not exist.
    pub(super) async fn jobs(&self, partition: usize) -> Result<&Stream, Error> {
        let opened = async {
            self.agree().await?;
            let stream = self.open(self.config_of_jobs(partition)).await?;
            self.limit(&stream).await;
            Ok(stream)
        };
        self.jobs[partition].get_or_try_init(|| opened).await
    }

    /// Sets how many jobs are stored, if the stream has another limit: that of an earlier version or config.
    async fn limit(&self, stream: &Stream) {
        let (found, wanted) = (&stream.cached_info().config, self.config_of_jobs(0));
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

    fn config_of_first(&self) -> stream::Config {
        let partitions = self.names.partitions().number();
        if partitions == 1 {
            return self.config_of_jobs(0);
        }
        stream::Config {
            name: self.names.stream("jobs"),
            description: Some(
                "Switchboard: into how many streams durable calls are divided".to_owned(),
            ),
            subjects: vec![format!("{}.jobs", self.names.prefix())],
            metadata: HashMap::from([(PARTITIONS.to_owned(), partitions.to_string())]),
            ..self.config()
        }
    }

    fn config_of_jobs(&self, partition: usize) -> stream::Config {
        stream::Config {
            name: self.names.stream_of_jobs(partition),
            description: Some("Switchboard: durable calls that have not ended".to_owned()),
            subjects: vec![format!("{}.>", self.names.subjects_of_jobs(partition))],
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
}
