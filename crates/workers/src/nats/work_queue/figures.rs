//! Queue lengths from the streams and consumers.

use std::{collections::BTreeMap, time::Duration};

use async_nats::jetstream::{
    ErrorCode, consumer::Info, context::GetStreamErrorKind, stream::Stream,
};
use futures_util::TryStreamExt;
use switchboard_toolcall::BoxError;
use switchboard_toolcall::time::unix_milliseconds;

use super::NatsQueue;
use crate::jobs::QueueFigures;

/// Returns the queues of all groups, by group. Creates nothing.
pub(super) async fn figures(queue: &NatsQueue) -> Result<Vec<QueueFigures>, BoxError> {
    let Some(jobs) = find(queue, "jobs").await? else { return Ok(Vec::new()) };
    let mut groups: BTreeMap<String, QueueFigures> = BTreeMap::new();
    for (group, calls) in count(queue, &jobs, "job").await? {
        groups.entry(group).or_default().waiting += calls;
    }
    if let Some(dead) = find(queue, "dead").await? {
        for (group, calls) in count(queue, &dead, "dead").await? {
            groups.entry(group).or_default().dead += calls;
        }
    }
    let mut consumers = jobs.consumers();
    while let Some(Info { name, num_ack_pending, num_redelivered, .. }) =
        consumers.try_next().await?
    {
        let figures = groups.entry(name).or_default();
        figures.taken = num_ack_pending as u64;
        figures.redelivered = num_redelivered as u64;
        figures.waiting = figures.waiting.saturating_sub(figures.taken);
    }
    for (group, figures) in &mut groups {
        figures.group.clone_from(group);
        if figures.waiting + figures.taken > 0 {
            figures.oldest = oldest(queue, &jobs, group).await;
        }
    }
    Ok(groups.into_values().collect())
}

async fn find(queue: &NatsQueue, word: &str) -> Result<Option<Stream>, BoxError> {
    match queue.jetstream.get_stream(queue.names.stream(word)).await {
        Ok(stream) => Ok(Some(stream)),
        Err(error) => match error.kind() {
            GetStreamErrorKind::JetStream(reason)
                if reason.error_code() == ErrorCode::STREAM_NOT_FOUND =>
            {
                Ok(None)
            }
            _ => Err(error.into()),
        },
    }
}

/// Returns how many messages of each group are in a stream.
async fn count(
    queue: &NatsQueue,
    stream: &Stream,
    word: &str,
) -> Result<Vec<(String, u64)>, BoxError> {
    let prefix = format!("{}.{word}.", queue.names.prefix());
    let mut found = stream.info_with_subjects(format!("{prefix}>")).await?;
    let mut counts = Vec::new();
    while let Some((subject, count)) = found.try_next().await? {
        let group = subject.strip_prefix(&prefix).and_then(|rest| rest.split('.').next());
        counts.push((group.unwrap_or_default().to_owned(), count as u64));
    }
    Ok(counts)
}

/// Returns the age of a group's oldest message. `None` if it has ended meanwhile.
async fn oldest(queue: &NatsQueue, stream: &Stream, group: &str) -> Option<Duration> {
    let subject = format!("{}.job.{group}.>", queue.names.prefix());
    let first = stream.direct_get_next_for_subject(subject, Some(1)).await.ok()?;
    let since = u64::try_from(first.time.unix_timestamp_nanos() / 1_000_000).unwrap_or(0);
    Some(Duration::from_millis(unix_milliseconds().saturating_sub(since)))
}
