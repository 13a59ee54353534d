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

/// The queues by group.
type GroupFigures = BTreeMap<String, QueueFigures>;

/// Returns the queues of all groups, by group. Creates nothing.
pub(super) async fn figures(queue: &NatsQueue) -> Result<Vec<QueueFigures>, BoxError> {
    let names = &queue.names;
    let Some(first) = find(queue, names.stream("jobs")).await? else { return Ok(Vec::new()) };
    queue.check(&first)?;
    let mut groups = GroupFigures::new();
    for partition in names.partitions().indices() {
        let jobs = find(queue, names.stream_of_jobs(partition)).await?;
        if let Some(jobs) = jobs {
            add(&jobs, &names.subjects_of_jobs(partition), &mut groups).await?;
        }
    }
    if let Some(dead) = find(queue, names.stream("dead")).await? {
        for (group, calls) in count(&dead, &format!("{}.dead", names.prefix())).await? {
            groups.entry(group).or_default().dead += calls;
        }
    }
    for (group, figures) in &mut groups {
        figures.group.clone_from(group);
    }
    Ok(groups.into_values().collect())
}

async fn find(queue: &NatsQueue, name: String) -> Result<Option<Stream>, BoxError> {
    match queue.jetstream.get_stream(name).await {
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

/// Adds the queues of the groups in one partition, whose subjects begin so.
async fn add(jobs: &Stream, subjects: &str, groups: &mut GroupFigures) -> Result<(), BoxError> {
    let counts = count(jobs, subjects).await?;
    let found: Vec<_> = counts.keys().cloned().collect();
    for (group, calls) in counts {
        groups.entry(group).or_default().waiting += calls;
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
    for group in found {
        let oldest = oldest(jobs, format!("{subjects}.{group}.>")).await;
        groups.entry(group).or_default().oldest = oldest;
    }
    Ok(())
}

/// Returns how many messages of each group are in a stream whose subjects begin so.
async fn count(stream: &Stream, subjects: &str) -> Result<BTreeMap<String, u64>, BoxError> {
    let mut found = stream.info_with_subjects(format!("{subjects}.>")).await?;
    let mut counts = BTreeMap::new();
    while let Some((subject, count)) = found.try_next().await? {
        let group = subject.strip_prefix(subjects).and_then(|rest| rest.split('.').nth(1));
        *counts.entry(group.unwrap_or_default().to_owned()).or_default() += count as u64;
    }
    Ok(counts)
}

/// Returns the age of the oldest message of these subjects. `None` if it has ended meanwhile.
async fn oldest(stream: &Stream, subjects: String) -> Option<Duration> {
    let first = stream.direct_get_next_for_subject(subjects, Some(1)).await.ok()?;
    let since = u64::try_from(first.time.unix_timestamp_nanos() / 1_000_000).unwrap_or(0);
    Some(Duration::from_millis(unix_milliseconds().saturating_sub(since)))
}
