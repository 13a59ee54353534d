//! One group of workers, and what they offer together.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use switchboard_runtime::ServerLink;
use switchboard_toolcall::{BoxFuture, ErrorKind, Tool, ToolError};
use tokio::time::Instant;

use super::{
    GroupDeps,
    members::{GroupMember, Members},
};
use crate::{
    Cluster, Jobs, WorkerTool,
    offer::{OfferedTool, Presence, WorkerOffer},
    replies::Replies,
};

/// A group of workers that share their calls.
pub struct Group {
    name: Arc<str>,
    line: Arc<GroupDeps>,
    members: Mutex<Members>,
    /// The offers that are registered now.
    shown: Mutex<Vec<String>>,
    /// Where the next search for a worker starts, so that calls are spread.
    turn: AtomicUsize,
}

/// A worker whose entry is missing.
pub(super) struct MissingWorker {
    pub(super) worker: String,
    /// Whether it replies when it is asked whether it is there.
    pub(super) notifies: bool,
    pub(super) since: Instant,
}

/// How many workers a group has, and how many calls they run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupTotals {
    /// Its workers.
    pub workers: usize,
    /// How many calls they run at once.
    pub capacity: usize,
    /// How many they run now.
    pub running: usize,
}

impl Group {
    pub(super) fn new(name: Arc<str>, line: Arc<GroupDeps>) -> Self {
        Self {
            name,
            line,
            members: Mutex::default(),
            shown: Mutex::default(),
            turn: AtomicUsize::new(0),
        }
    }

    /// Returns its name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns its workers.
    pub fn workers(&self) -> Vec<Presence> {
        self.lock().values().map(|member| member.presence.clone()).collect()
    }

    /// Returns how many workers it has, and how many calls they run.
    pub fn totals(&self) -> GroupTotals {
        let members = self.lock();
        let mut totals = GroupTotals { workers: members.len(), ..GroupTotals::default() };
        for GroupMember { presence, .. } in members.values() {
            totals.capacity += presence.capacity;
            totals.running += presence.running;
        }
        totals
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

    /// Returns some workers that have this tool, in rotating order, those with free slots first.
    pub(crate) fn workers_with(&self, tool: &str, most: usize) -> Vec<String> {
        let members = self.lock();
        let has =
            |member: &&GroupMember| member.offer.tools.iter().any(|offered| offered.name == tool);
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

    /// Handles a worker's presence. Returns whether the offer changed, `None` if the worker's offer is unknown.
    pub(super) fn notes(&self, presence: &Presence) -> Option<bool> {
        let mut members = self.lock();
        if presence.leaving {
            return Some(members.remove(&presence.worker));
        }
        let member = members.get_mut(&presence.worker)?;
        if member.offer.hash != presence.tools {
            return None;
        }
        member.presence = presence.clone();
        member.missing = None;
        member.heard = Instant::now();
        Some(false)
    }

    /// Adds a worker with its offer.
    pub(super) fn joins(&self, presence: Presence, offer: Arc<WorkerOffer>) {
        let heard = Instant::now();
        self.lock().insert(GroupMember { offer, missing: None, heard, presence });
    }

    /// Removes a worker. Returns whether it was known.
    pub(super) fn leaves(&self, worker: &str) -> bool {
        self.lock().remove(worker)
    }

    /// Notes that a worker is there. Returns whether it is known.
    pub(super) fn hears(&self, worker: &str) -> bool {
        let mut members = self.lock();
        let known = members.get_mut(worker).map(|member| member.heard = Instant::now());
        known.is_some()
    }

    /// Returns the workers whose heartbeats are missing: there was none for `silence`, of which we listened all the time.
    pub(super) fn quiet(&self, listened_since: Instant, silence: Duration) -> Vec<String> {
        let members = self.lock();
        let is_quiet = |member: &&GroupMember| {
            member.presence.notifies && member.heard.max(listened_since).elapsed() >= silence
        };
        members.values().filter(is_quiet).map(|member| member.presence.worker.clone()).collect()
    }

    /// Returns a worker's presence.
    pub(super) fn presence(&self, worker: &str) -> Option<Presence> {
        self.lock().get(worker).map(|member| member.presence.clone())
    }

    /// Notes which workers have an entry. Returns those that have none: with when that was first noticed.
    pub(super) fn missing(&self, is_live: impl Fn(&str) -> bool) -> Vec<MissingWorker> {
        let mut missing = Vec::new();
        for member in self.lock().values_mut() {
            let Presence { worker, notifies, .. } = &member.presence;
            if is_live(worker) {
                member.missing = None;
                continue;
            }
            let since = *member.missing.get_or_insert_with(Instant::now);
            missing.push(MissingWorker { worker: worker.clone(), notifies: *notifies, since });
        }
        missing
    }

    /// Returns the workers that do not say when something changes.
    pub(super) fn silent_workers(&self) -> Vec<String> {
        let members = self.lock();
        let silent = members.values().filter(|member| !member.presence.notifies);
        silent.map(|member| member.presence.worker.clone()).collect()
    }

    /// Returns the offer with this hash, if a worker has it.
    pub(super) fn offer(&self, hash: &str) -> Option<Arc<WorkerOffer>> {
        self.lock().offer(hash)
    }

    /// Returns what the workers offer together, if it differs from what is registered, or `is_forced` is set.
    pub(super) fn offered(
        self: &Arc<Self>,
        separator: &str,
        is_forced: bool,
    ) -> Option<Vec<Arc<dyn Tool>>> {
        let offers = self.lock().offers();
        let hashes: Vec<_> = offers.iter().map(|offer| offer.hash.clone()).collect();
        {
            let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            if *shown == hashes && !is_forced {
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

    /// Returns each tool once, as the newest worker has it, in the order of the oldest.
    fn merged<'a>(&self, offers: &'a [Arc<WorkerOffer>]) -> Vec<&'a OfferedTool> {
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

    fn lock(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns why none of its tools can be called, if so.
    fn away(&self) -> Option<String> {
        if !self.cluster().is_connected() {
            return Some(format!("NATS at {} could not be reached", self.cluster().address()));
        }
        self.lock().is_empty().then(|| format!("group '{}' has no workers", self.name))
    }
}

impl ServerLink for Group {
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
                json!({"state": "failed", "type": "workers", "workers": workers, "error": reason})
            }
        }
    }
}
