//! How long the queues are: for metrics and people.

use std::{collections::BTreeMap, time::Duration};

use async_nats::jetstream::{consumer::Info, stream::Stream};
use futures_util::TryStreamExt;

use super::Jobs;
use crate::{Error, clock::now_ms, names::token};

/// The queue of one group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// The group, as subjects name it: letters, digits, `-` and `_` as they are, others as `=XX`.
    pub group: String,
    /// How many calls wait for a worker: those that nobody has begun.
    pub waiting: u64,
    /// How many calls are with a worker, or wait for their next attempt.
    pub taken: u64,
    /// How long the oldest call that has not ended has been in the queue.
    pub oldest: Option<Duration>,
    /// How many of the calls that are taken were delivered more than once.
    pub redelivered: u64,
    /// How many dead letters lie there.
    pub dead: u64,
}

impl Jobs {
    /// The queues of all groups that have one, by group. Asks the servers a few questions for each group.
    ///
    /// # Errors
    /// The servers cannot be reached.
    pub async fn figures(&self) -> Result<Vec<Figures>, Error> {
        let stream = self.waiting().await?;
        let mut groups: BTreeMap<String, Figures> = BTreeMap::new();
        for (group, calls) in self.count(stream, "job").await? {
            groups.entry(group).or_default().waiting += calls;
        }
        for (group, calls) in self.count(self.dead_letters().await?, "dead").await? {
            groups.entry(group).or_default().dead += calls;
        }
        let refused = |error| Error::refused("tell of the queues")(error);
        let mut consumers = stream.consumers();
        while let Some(info) = consumers.try_next().await.map_err(|error| refused(error.into()))? {
            let Info { name, num_ack_pending, num_redelivered, .. } = info;
            let figures = groups.entry(name).or_default();
            figures.taken = num_ack_pending as u64;
            figures.redelivered = num_redelivered as u64;
            figures.waiting = figures.waiting.saturating_sub(figures.taken);
        }
        for (group, figures) in &mut groups {
            figures.group.clone_from(group);
            if figures.waiting + figures.taken > 0 {
                figures.oldest = self.oldest(stream, group).await?;
            }
        }
        Ok(groups.into_values().collect())
    }

    /// How many messages of each group are in a stream.
    async fn count(&self, stream: &Stream, word: &str) -> Result<Vec<(String, u64)>, Error> {
        let refused = |error| Error::refused("tell how many calls there are")(error);
        let prefix = format!("{}.{word}.", self.cluster().names().prefix());
        let found = stream.info_with_subjects(format!("{prefix}>")).await;
        let mut found = found.map_err(|error| refused(error.into()))?;
        let mut counts = Vec::new();
        while let Some((subject, count)) =
            found.try_next().await.map_err(|error| refused(error.into()))?
        {
            let group = subject.strip_prefix(&prefix).and_then(|rest| rest.split('.').next());
            counts.push((group.unwrap_or_default().to_owned(), count as u64));
        }
        Ok(counts)
    }

    /// How long the oldest message of a group has been there.
    async fn oldest(&self, stream: &Stream, group: &str) -> Result<Option<Duration>, Error> {
        let subject = format!("{}.job.{group}.>", self.cluster().names().prefix());
        // It may have ended in the meantime.
        let Ok(first) = stream.direct_get_next_for_subject(subject, Some(1)).await else {
            return Ok(None);
        };
        let since = u64::try_from(first.time.unix_timestamp_nanos() / 1_000_000).unwrap_or(0);
        Ok(Some(Duration::from_millis(now_ms().saturating_sub(since))))
    }
}

impl Figures {
    /// Whether these are of this group.
    pub fn is_of(&self, group: &str) -> bool {
        self.group == token(group)
    }
}
