//! Hears the heartbeats of workers.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::{StreamExt, stream::select_all};
use tokio::time::Instant;

use super::{GroupsInner, refused, tell};
use crate::{Error, transport::ClusterMessage, wire::WorkerNotice};

/// How long a worker that nobody knows may take to say what it is, before it is asked to.
const UNKNOWN: Duration = Duration::from_secs(2);

/// How long after that it is asked again.
const ASKED_AGAIN: Duration = Duration::from_secs(30);

/// How many unknown workers are remembered.
const REMEMBERED: usize = 10_000;

/// Subscribes to the heartbeats of the workers of this gateway's groups. Returns the work of hearing them.
pub(super) async fn hear(
    shared: Arc<GroupsInner>,
) -> Result<impl Future<Output = ()> + Send, Error> {
    let cluster = &shared.line.cluster;
    let mut subscribed = Vec::new();
    for subject in cluster.groups().beats(cluster.names()) {
        subscribed.push(cluster.subscribe(subject, None).await.map_err(refused())?);
    }
    let mut beats = select_all(subscribed);
    Ok(async move {
        let mut unknown = UnknownWorkers::default();
        while let Some(beat) = beats.next().await {
            if let Some(worker) = unknown.hear(&shared, &beat) {
                let cluster = &shared.line.cluster;
                let subject = cluster.names().worker(&worker);
                if let Err(error) = tell(cluster, subject, &WorkerNotice::Announce).await {
                    tracing::debug!("worker {worker} is not asked what it is: {error}");
                }
            }
        }
    })
}

/// The workers that send heartbeats and are not known, with when they are asked what they are: one that was paused for so
/// long that it was taken for dead, or whose messages were lost.
#[derive(Default)]
struct UnknownWorkers(HashMap<String, Instant>);

impl UnknownWorkers {
    /// Handles a heartbeat. Returns the worker if it has to be asked what it is.
    fn hear(&mut self, shared: &GroupsInner, beat: &ClusterMessage) -> Option<String> {
        let group = beat.subject.rsplit('.').next()?;
        let worker = std::str::from_utf8(&beat.payload).ok()?;
        let found = shared.groups().get(group).cloned();
        if found.is_some_and(|group| group.hears(worker)) {
            if !self.0.is_empty() {
                self.0.remove(worker);
            }
            return None;
        }
        if !*shared.looked.borrow() || !shared.line.cluster.groups().has(group) {
            return None;
        }
        if self.0.len() >= REMEMBERED {
            self.0.clear();
        }
        let now = Instant::now();
        let asked_at = self.0.entry(worker.to_owned()).or_insert(now + UNKNOWN);
        (now >= *asked_at).then(|| {
            *asked_at = now + ASKED_AGAIN;
            worker.to_owned()
        })
    }
}
