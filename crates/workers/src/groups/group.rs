//! One group of workers: who is there, and what they offer together.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::{Value, json};
use switchboard_runtime::Link;
use switchboard_toolcall::{BoxFuture, ErrorKind, Tool, ToolError};
use tokio::time::Instant;

use super::Line;
use crate::{
    Cluster, Jobs, WorkerTool,
    offer::{LAPSES, Offer, OfferedTool, Presence},
    replies::Replies,
};

/// A group of workers that share their calls.
pub struct Group {
    name: Arc<str>,
    line: Arc<Line>,
    /// By their ids, which sort by age.
    members: Mutex<BTreeMap<String, Member>>,
    /// The offers that are shown now.
    shown: Mutex<Vec<String>>,
    /// Where the next search for a worker begins, so that not all begin with the same one.
    turn: AtomicUsize,
}

struct Member {
    presence: Presence,
    offer: Arc<Offer>,
    seen: Instant,
}

impl Group {
    pub(super) fn new(name: Arc<str>, line: Arc<Line>) -> Self {
        Self {
            name,
            line,
            members: Mutex::default(),
            shown: Mutex::default(),
            turn: AtomicUsize::new(0),
        }
    }

    /// Its name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Its workers that are there.
    pub fn workers(&self) -> Vec<Presence> {
        self.lock().values().map(|member| member.presence.clone()).collect()
    }

    pub(crate) fn cluster(&self) -> &Cluster {
        &self.line.cluster
    }

    pub(crate) fn jobs(&self) -> &Jobs {
        &self.line.jobs
    }

    pub(crate) fn replies(&self) -> &Replies {
        &self.line.replies
    }

    /// Some workers that have this tool, each time in another order, those with room first.
    pub(crate) fn workers_with(&self, tool: &str, most: usize) -> Vec<String> {
        let members = self.lock();
        let has = |member: &&Member| member.offer.tools.iter().any(|offered| offered.name == tool);
        let mut found: Vec<_> =
            members.values().filter(has).map(|member| &member.presence).collect();
        if found.is_empty() {
            return Vec::new();
        }
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % found.len();
        found.rotate_left(turn);
        found.sort_by_key(|worker| worker.running >= worker.capacity);
        found.into_iter().take(most).map(|worker| worker.worker.clone()).collect()
    }

    /// Notes that a worker is there, and says whether that changes what is offered. None: what it offers is not known.
    pub(super) fn notes(&self, presence: &Presence) -> Option<bool> {
        let mut members = self.lock();
        if presence.leaving {
            return Some(members.remove(&presence.worker).is_some());
        }
        let member = members.get_mut(&presence.worker)?;
        if member.offer.hash != presence.tools {
            return None;
        }
        member.presence = presence.clone();
        member.seen = Instant::now();
        Some(false)
    }

    /// Notes what a worker offers.
    pub(super) fn joins(&self, presence: Presence, offer: Arc<Offer>) {
        let member = Member { offer, seen: Instant::now(), presence };
        self.lock().insert(member.presence.worker.clone(), member);
    }

    /// Notes that a worker is gone, and says whether it was there.
    pub(super) fn leaves(&self, worker: &str) -> bool {
        self.lock().remove(worker).is_some()
    }

    /// Whether somebody has not been heard of for too long.
    pub(super) fn has_lapsed(&self) -> bool {
        self.lock().values().any(|member| member.seen.elapsed() >= LAPSES)
    }

    /// Lets go of workers that have not been heard of for too long, and says whether there were any.
    pub(super) fn lapse(&self) -> bool {
        let mut members = self.lock();
        let before = members.len();
        members.retain(|_, member| {
            let is_there = member.seen.elapsed() < LAPSES;
            if !is_there {
                let (worker, group) = (&member.presence.worker, &self.name);
                tracing::warn!("worker {worker} of group '{group}' is gone without a word");
            }
            is_there
        });
        members.len() < before
    }

    /// Counts all workers as heard of: nobody could be.
    pub(super) fn excuse(&self) {
        for member in self.lock().values_mut() {
            member.seen = Instant::now();
        }
    }

    /// The offers that are known, by their hashes.
    pub(super) fn offers(&self) -> Vec<Arc<Offer>> {
        self.lock().values().map(|member| member.offer.clone()).collect()
    }

    /// What the workers offer together, where that is not what is shown already (or has to be shown `anew`).
    pub(super) fn offered(
        self: &Arc<Self>,
        separator: &str,
        anew: bool,
    ) -> Option<Vec<Arc<dyn Tool>>> {
        let mut offers: Vec<Arc<Offer>> = Vec::new();
        for offer in self.offers() {
            // Of workers that offer the same, the newest counts.
            offers.retain(|known| known.hash != offer.hash);
            offers.push(offer);
        }
        let hashes: Vec<_> = offers.iter().map(|offer| offer.hash.clone()).collect();
        {
            let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            if *shown == hashes && !anew {
                return None;
            }
            *shown = hashes;
        }
        let tools = self.merged(&offers).into_iter().map(|tool| {
            let name = format!("{}{separator}{}", self.name, tool.name);
            let spec = tool.spec(&self.name, name);
            Arc::new(WorkerTool::new(spec, &tool.name, self.clone())) as Arc<dyn Tool>
        });
        Some(tools.collect())
    }

    /// Each tool once, as the newest worker has it, in the order of the oldest.
    fn merged<'a>(&self, offers: &'a [Arc<Offer>]) -> Vec<&'a OfferedTool> {
        let mut tools: Vec<&OfferedTool> = Vec::new();
        for tool in offers.iter().flat_map(|offer| &offer.tools) {
            match tools.iter_mut().find(|known| known.name == tool.name) {
                None => tools.push(tool),
                Some(known) => {
                    if *known != tool {
                        let (name, group) = (&tool.name, &self.name);
                        tracing::warn!(
                            "workers of group '{group}' differ about '{name}'; it is taken as the newest has it"
                        );
                    }
                    *known = tool;
                }
            }
        }
        tools
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Member>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why none of its tools can be called.
    fn away(&self) -> Option<String> {
        if !self.cluster().is_connected() {
            return Some(format!("NATS at {} could not be reached", self.cluster().address()));
        }
        self.lock().is_empty().then(|| format!("group '{}' has no workers", self.name))
    }
}

impl Link for Group {
    fn ready(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        let away = self.away();
        let outcome = away.map_or(Ok(()), |reason| {
            let text = format!("Tools of '{}' are unavailable: {reason}", self.name);
            Err(ToolError::new(ErrorKind::Unavailable, text))
        });
        Box::pin(std::future::ready(outcome))
    }

    fn status(&self) -> Value {
        let workers: Vec<_> = self
            .workers()
            .into_iter()
            .map(|worker| {
                json!({
                    "id": worker.worker,
                    "running": worker.running,
                    "capacity": worker.capacity,
                    "version": worker.version,
                    "started": worker.started,
                })
            })
            .collect();
        match self.away() {
            None => json!({"state": "ready", "type": "workers", "workers": workers}),
            Some(reason) => {
                json!({"state": "given_up", "type": "workers", "workers": workers, "error": reason})
            }
        }
    }
}
