//! The job queue in memory: a job is stored once for each id, delivered to one worker of its group at a time, and
//! redelivered unless it is acknowledged in time.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use bytes::Bytes;
use switchboard_toolcall::{BoxFuture, time::unix_milliseconds};
use tokio::time::{Instant, sleep_until};

use super::{MemoryOperation, MemoryServers, MemoryServersState, messages::matches};
use crate::{
    ClusterNames, Error,
    jobs::QueueFigures,
    transport::{Ack, Acks, Consumer, Delivery, QueueFull, TransportFuture, WorkQueue},
};

/// How long duplicates are recognised.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(10 * 60);

/// The jobs, or the dead letters, of one prefix.
#[derive(Default)]
pub(super) struct MemoryQueueState {
    last: u64,
    messages: BTreeMap<u64, StoredJob>,
    /// The sequence number of each id, and when it was assigned.
    ids: HashMap<String, (u64, Instant)>,
}

struct StoredJob {
    subject: String,
    payload: Bytes,
    published_ms: u64,
    published: Instant,
    delivered: u64,
    /// When it is redelivered; `None` if it was never delivered, or immediately.
    due: Option<Instant>,
}

impl MemoryQueueState {
    /// Stores a job, unless `most` of its subject are stored.
    fn publish(
        &mut self,
        subject: &str,
        id: &str,
        payload: Bytes,
        most: usize,
    ) -> Result<u64, QueueFull> {
        self.ids.retain(|_, (_, at)| at.elapsed() < DUPLICATE_WINDOW);
        if let Some((number, _)) = self.ids.get(id) {
            return Ok(*number);
        }
        if self.messages.values().filter(|job| job.subject == subject).count() >= most {
            return Err(QueueFull);
        }
        self.last += 1;
        self.ids.insert(id.to_owned(), (self.last, Instant::now()));
        let stored = StoredJob {
            subject: subject.to_owned(),
            payload,
            published_ms: unix_milliseconds(),
            published: Instant::now(),
            delivered: 0,
            due: None,
        };
        self.messages.insert(self.last, stored);
        Ok(self.last)
    }

    /// Delivers the next job of these subjects, or returns when one will be redelivered.
    fn deliver(&mut self, subjects: &str, ack_wait: Duration) -> Result<FoundJob, Option<Instant>> {
        let now = Instant::now();
        let mut found = self.messages.iter_mut().filter(|(_, job)| matches(subjects, &job.subject));
        let ready = found.find(|(_, job)| job.due.is_none_or(|due| due <= now));
        let Some((number, job)) = ready else {
            let waiting = self.messages.values().filter(|job| matches(subjects, &job.subject));
            return Err(waiting.filter_map(|job| job.due).min());
        };
        job.delivered += 1;
        job.due = Some(now + ack_wait);
        Ok(FoundJob {
            number: *number,
            subject: job.subject.clone(),
            payload: job.payload.clone(),
            delivered: job.delivered,
            published_ms: job.published_ms,
        })
    }

    fn ack(&mut self, number: u64, ack: Ack, ack_wait: Duration) {
        let Some(job) = self.messages.get_mut(&number) else { return };
        match ack {
            Ack::Done | Ack::Discard => _ = self.messages.remove(&number),
            Ack::Progress => job.due = Some(Instant::now() + ack_wait),
            // Also for an earlier delivery: NATS does not distinguish them.
            Ack::Retry(pause) => job.due = Some(Instant::now() + pause),
        }
    }
}

struct FoundJob {
    number: u64,
    subject: String,
    payload: Bytes,
    delivered: u64,
    published_ms: u64,
}

pub(super) struct MemoryQueue {
    servers: MemoryServers,
    names: ClusterNames,
    /// How many jobs of one subject are stored.
    max_queued: usize,
}

impl MemoryQueue {
    pub(super) fn new(servers: MemoryServers, names: ClusterNames, max_queued: u32) -> Self {
        Self {
            servers,
            names,
            max_queued: usize::try_from(max_queued.max(1)).unwrap_or(usize::MAX),
        }
    }

    /// Returns the name of the stream of jobs with this subject. `None`: it is one of dead letters.
    fn stream_of_jobs(&self, subject: &str) -> Option<String> {
        let has_it = |partition: &usize| {
            matches(&format!("{}.>", self.names.subjects_of_jobs(*partition)), subject)
        };
        let partition = self.names.partitions().indices().find(has_it)?;
        Some(self.names.stream_of_jobs(partition))
    }

    /// Returns the stream of a group's jobs.
    fn stream_of_group(&self, group: &str) -> String {
        self.names.stream_of_jobs(self.names.partition_of_jobs(group))
    }
}

impl WorkQueue for MemoryQueue {
    fn agree(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async {
            self.servers.online().await;
            let config = self.names.partitions().number();
            let mut state = self.servers.lock();
            let prefix = self.names.prefix().to_owned();
            let cluster = *state.partitions.entry(prefix).or_insert(config);
            let stream = self.names.stream("jobs");
            match cluster == config {
                true => Ok(()),
                false => Err(Error::Partitions { config, cluster, stream }),
            }
        })
    }

    fn publish<'a>(
        &'a self,
        subject: &'a str,
        id: &'a str,
        payload: Bytes,
    ) -> TransportFuture<'a, u64> {
        let (stream, most) = match self.stream_of_jobs(subject) {
            Some(stream) => (stream, self.max_queued),
            None => (self.names.stream("dead"), usize::MAX),
        };
        Box::pin(async move {
            self.agree().await?;
            let stored = self.servers.perform(MemoryOperation::Enqueue, |state| {
                state.queues.entry(stream).or_default().publish(subject, id, payload, most)
            });
            let stored = stored.await.and_then(|stored| Ok(stored?));
            self.servers.0.jobs_changed.notify_waiters();
            stored
        })
    }

    fn consumer<'a>(
        &'a self,
        group: &'a str,
        ack_wait: Duration,
    ) -> TransportFuture<'a, Box<dyn Consumer>> {
        Box::pin(async move {
            self.agree().await?;
            Ok(Box::new(MemoryConsumer {
                servers: self.servers.clone(),
                stream: self.stream_of_group(group),
                subjects: self.names.jobs_of(group),
                ack_wait,
            }) as Box<dyn Consumer>)
        })
    }

    fn delete<'a>(&'a self, group: &'a str, number: u64) -> TransportFuture<'a, ()> {
        let stream = self.stream_of_group(group);
        Box::pin(self.servers.perform(MemoryOperation::Write, move |state| {
            state.queues.entry(stream).or_default().messages.remove(&number);
        }))
    }

    fn figures(&self) -> TransportFuture<'_, Vec<QueueFigures>> {
        Box::pin(async {
            self.agree().await?;
            let work = |state: &mut MemoryServersState| figures(state, &self.names);
            self.servers.perform(MemoryOperation::Read, work).await
        })
    }
}

fn figures(state: &MemoryServersState, names: &ClusterNames) -> Vec<QueueFigures> {
    let mut groups: BTreeMap<String, QueueFigures> = BTreeMap::new();
    let now = Instant::now();
    let jobs = names.partitions().indices().map(|partition| {
        (names.stream_of_jobs(partition), names.subjects_of_jobs(partition), false)
    });
    let dead = (names.stream("dead"), format!("{}.dead", names.prefix()), true);
    for (stream, subjects, is_dead) in jobs.chain([dead]) {
        let queue = state.queues.get(&stream);
        for job in queue.into_iter().flat_map(|queue| queue.messages.values()) {
            let group = job.subject.strip_prefix(&subjects).and_then(|rest| rest.split('.').nth(1));
            let group = group.unwrap_or_default();
            let figures = groups.entry(group.to_owned()).or_default();
            group.clone_into(&mut figures.group);
            match job.delivered {
                _ if is_dead => figures.dead += 1,
                0 => figures.waiting += 1,
                delivered => {
                    figures.taken += 1;
                    figures.redelivered += u64::from(delivered > 1);
                }
            }
            if !is_dead {
                figures.oldest = figures.oldest.max(Some(now - job.published));
            }
        }
    }
    groups.into_values().collect()
}

struct MemoryConsumer {
    servers: MemoryServers,
    stream: String,
    subjects: String,
    ack_wait: Duration,
}

impl MemoryConsumer {
    fn deliver(&self) -> Result<FoundJob, Option<Instant>> {
        let mut state = self.servers.lock();
        let queue = state.queues.entry(self.stream.clone()).or_default();
        queue.deliver(&self.subjects, self.ack_wait)
    }
}

impl Consumer for MemoryConsumer {
    fn next(&mut self, wait: Duration) -> TransportFuture<'_, Option<Delivery>> {
        Box::pin(async move {
            let end = Instant::now() + wait;
            loop {
                self.servers.online().await;
                let changed = self.servers.0.jobs_changed.notified();
                let due = match self.deliver() {
                    Ok(found) => return Ok(Some(self.delivery(found))),
                    Err(due) => due.unwrap_or(end).min(end),
                };
                if Instant::now() >= end {
                    return Ok(None);
                }
                tokio::select! {
                    () = changed => {}
                    () = sleep_until(due) => {}
                }
            }
        })
    }
}

impl MemoryConsumer {
    fn delivery(&self, found: FoundJob) -> Delivery {
        let FoundJob { number, subject, payload, delivered, published_ms } = found;
        let acks = MemoryAcks {
            servers: self.servers.clone(),
            stream: self.stream.clone(),
            ack_wait: self.ack_wait,
            number,
        };
        Delivery { subject, payload, number, delivered, published_ms, acks: Box::new(acks) }
    }
}

struct MemoryAcks {
    servers: MemoryServers,
    stream: String,
    ack_wait: Duration,
    number: u64,
}

impl Acks for MemoryAcks {
    fn ack(&self, ack: Ack) -> TransportFuture<'_, ()> {
        Box::pin(async move {
            let acked = self.servers.perform(MemoryOperation::Ack(ack), |state| {
                let queue = state.queues.entry(self.stream.clone()).or_default();
                queue.ack(self.number, ack, self.ack_wait);
            });
            let acked = acked.await;
            self.servers.0.jobs_changed.notify_waiters();
            acked
        })
    }
}
