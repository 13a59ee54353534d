//! Calls of all nodes as they end.

use std::{
    collections::{HashSet, VecDeque},
    time::Duration,
};

use async_nats::jetstream::consumer::{DeliverPolicy, pull};
use futures_util::StreamExt;
use switchboard_audit::{CallDetail, CallStage, Record};
use switchboard_toolcall::CallId;
use switchboard_workers::{Cluster, Error};
use tokio::time::sleep;
use tracing::{info, warn};

use super::{
    open, subjects,
    window::{ordered, seen},
};

/// How long to wait if NATS is away, or the stream does not exist yet.
const PAUSE: Duration = Duration::from_secs(1);
/// How many calls are remembered, so that duplicates are shown once.
const REMEMBERED: usize = 10_000;

/// Follows the records of all nodes.
pub struct ClusterFollower {
    cluster: Cluster,
    /// The stages that are of interest.
    stages: Vec<CallStage>,
    messages: Option<pull::Ordered>,
    /// The sequence of the next message.
    next: u64,
    is_well: bool,
    known: HashSet<(CallId, CallStage)>,
    in_order: VecDeque<(CallId, CallStage)>,
}

impl ClusterFollower {
    pub(super) async fn new(cluster: Cluster, stages: &[CallStage]) -> Result<Self, Error> {
        let stream = open(&cluster).await?;
        let next = stream.map_or(1, |stream| stream.cached_info().state.last_sequence + 1);
        let mut follow = Self {
            cluster,
            stages: stages.to_vec(),
            messages: None,
            next,
            is_well: true,
            known: HashSet::new(),
            in_order: VecDeque::new(),
        };
        follow.begin().await?;
        Ok(follow)
    }

    /// Continues to read where it stopped; does nothing if the stream does not exist yet.
    async fn begin(&mut self) -> Result<(), Error> {
        let Some(stream) = open(&self.cluster).await? else { return Ok(()) };
        let from = DeliverPolicy::ByStartSequence { start_sequence: self.next };
        let wanted = self.stages.iter().map(|stage| subjects(&self.cluster, *stage));
        self.messages = Some(ordered(&stream, from, wanted.collect()).await?);
        Ok(())
    }

    /// Waits for the next call that ends, on any node.
    ///
    /// # Cancel safety
    /// Nothing is lost: a call that was not returned is returned next time.
    pub async fn next(&mut self) -> Record {
        self.next_update().await.1.record
    }

    /// Waits for the next call at one of the stages, on any node.
    ///
    /// # Cancel safety
    /// As [`next`](Self::next).
    pub(super) async fn next_update(&mut self) -> (CallStage, CallDetail) {
        loop {
            let Some(messages) = &mut self.messages else {
                sleep(PAUSE).await;
                let begun = self.begin().await;
                self.tell(begun.as_ref().err().map(|error| error as _));
                continue;
            };
            match messages.next().await {
                Some(Ok(message)) => {
                    let Ok((seen, _)) = seen(&message) else { continue };
                    self.next = seen.sequence + 1;
                    let Some(update) = seen
                        .received_update
                        .filter(|update| self.is_new((update.id, update.stage)))
                    else {
                        continue;
                    };
                    if let Some(detail) = update.detail() {
                        return (update.stage, detail);
                    }
                }
                Some(Err(error)) => {
                    self.messages = None;
                    self.tell(Some(&error));
                }
                None => self.messages = None,
            }
        }
    }

    fn is_new(&mut self, one: (CallId, CallStage)) -> bool {
        if !self.known.insert(one) {
            return false;
        }
        self.in_order.push_back(one);
        if self.in_order.len() > REMEMBERED
            && let Some(oldest) = self.in_order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }

    /// Logs once that the stream cannot be read, and once that it can again.
    fn tell(&mut self, error: Option<&dyn std::error::Error>) {
        match error {
            Some(cause) if self.is_well => {
                warn!(%cause, "the records of the cluster cannot be read; trying again");
            }
            None if !self.is_well => info!("the records of the cluster can be read again"),
            _ => {}
        }
        self.is_well = error.is_none();
    }
}
