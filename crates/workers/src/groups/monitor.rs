//! Notices workers that die. Two of the gateways that use the same groups hear the heartbeats of their workers; `role.rs`
//! decides which two. A worker that is silent is asked whether it is there. If it is not, all gateways get the message that
//! it would have sent if it had left, and its entry is removed.

mod beats;
mod role;

use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use switchboard_toolcall::{BoxError, time::unix_milliseconds};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tokio_util::task::AbortOnDropHandle;

use super::{
    GroupsInner,
    discovery::{show, without_reply},
};
use crate::{
    Cluster, Error, Purpose,
    names::Bucket,
    offer::Presence,
    transport::{ClusterMessage, KeyValue},
    wire::{self, WorkerNotice},
};
use role::{CLAIMED, MonitorRole};

/// How often silent workers are looked for.
const CHECKED: Duration = Duration::from_millis(250);

/// How long a worker may be silent before it is asked: a heartbeat, and what it may be late. With the time to ask it is less
/// than five seconds.
const SILENCE: Duration = Duration::from_millis(3_300);

/// How long after a worker has left its entry is erased: until then gateways of 0.1.0 can see that it has.
const ERASED: Duration = Duration::from_secs(2);

/// How many entries are erased at once.
const ERASED_AT_ONCE: usize = 32;

/// How often workers are told whether somebody watches their entries, if that does not change.
const SAID_AGAIN: Duration = Duration::from_secs(20);

/// The pause before NATS is tried again.
const AGAIN: Duration = Duration::from_millis(300);

/// What a monitor says to gateways that use the same groups.
#[derive(Serialize, Deserialize)]
struct MonitorClaim {
    /// The gateway.
    monitor: String,
}

/// Monitors, if it is this gateway's turn, until dropped.
pub(super) async fn run(shared: Arc<GroupsInner>) {
    loop {
        if shared.line.cluster.is_connected()
            && let Err(error) = take_part(&shared).await
        {
            tracing::debug!("workers are not monitored: {error}");
        }
        sleep(AGAIN).await;
    }
}

/// Takes part in the choice of monitors until the connection changes.
async fn take_part(shared: &Arc<GroupsInner>) -> Result<(), Error> {
    let cluster = &shared.line.cluster;
    let mut connected = cluster.connections();
    connected.borrow_and_update();
    let subject = cluster.names().monitors(cluster.groups().name());
    let mut claims = cluster.subscribe(subject.clone(), None).await.map_err(refused())?;
    let entries = cluster.bucket(Bucket::Workers).await?;
    let mut monitor = Monitor {
        shared,
        entries,
        subject,
        role: MonitorRole::new(),
        beats: None,
        watched: None,
        claimed: None,
    };
    let mut checked = interval(CHECKED);
    checked.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            claim = claims.next() => match claim {
                Some(claim) => monitor.hear(&claim),
                None => return Ok(()),
            },
            _ = checked.tick() => monitor.check().await?,
            _ = connected.changed() => return Ok(()),
        }
    }
}

fn refused() -> impl FnOnce(BoxError) -> Error {
    Error::refused("let us hear heartbeats of workers")
}

struct Monitor<'a> {
    shared: &'a Arc<GroupsInner>,
    entries: &'a dyn KeyValue,
    /// Where monitors say that they are.
    subject: String,
    role: MonitorRole,
    /// Hears the heartbeats while this gateway is a monitor.
    beats: Option<AbortOnDropHandle<()>>,
    /// Whether somebody watches the entries, as workers were last told, and when that was.
    watched: Option<(bool, Instant)>,
    /// When we last said that we are a monitor.
    claimed: Option<Instant>,
}

impl Monitor<'_> {
    /// Handles what a monitor says, perhaps we ourselves.
    fn hear(&mut self, claim: &ClusterMessage) {
        let signer = self.shared.line.cluster.signer();
        let place = [claim.subject.as_str()];
        let opened =
            signer.open_fresh(Purpose::Notice, &place, &claim.payload, unix_milliseconds());
        match opened {
            Ok(opened) => match wire::read::<MonitorClaim>("a monitor's claim", &opened.body) {
                Ok(claim) => self.role.hear(claim.monitor),
                Err(error) => tracing::debug!("{error}"),
            },
            Err(error) => signer.refused(Purpose::Notice, &claim.subject, &error),
        }
    }

    /// Does what is due.
    async fn check(&mut self) -> Result<(), Error> {
        let departed = self.departed();
        if !self.role.decide() {
            (self.beats, self.watched, self.claimed) = (None, None, None);
            return Ok(());
        }
        if self.beats.is_none() {
            let beats = beats::hear(self.shared.clone()).await?;
            self.beats = Some(AbortOnDropHandle::new(tokio::spawn(beats)));
        }
        if self.claimed.is_none_or(|at| at.elapsed() >= CLAIMED) {
            self.claim().await?;
            self.tell_watched().await?;
        }
        if let Some(since) = self.role.listened_since() {
            self.remove_silent(since).await?;
        }
        self.erase(departed).await
    }

    async fn claim(&mut self) -> Result<(), Error> {
        self.claimed = Some(Instant::now());
        let cluster = &self.shared.line.cluster;
        let claim = MonitorClaim { monitor: self.role.id().to_owned() };
        let claim = cluster.signer().write(Purpose::Notice, &[&self.subject], &claim)?;
        cluster.publish(self.subject.clone(), None, claim).await.map_err(refused())
    }

    /// Tells workers whether somebody watches their entries: otherwise they renew them rarely.
    async fn tell_watched(&mut self) -> Result<(), Error> {
        let is_watched = self.entries.watchers().await.map_err(refused())? > 0;
        let is_told = |(told, at): (bool, Instant)| told == is_watched && at.elapsed() < SAID_AGAIN;
        if self.watched.is_some_and(is_told) {
            return Ok(());
        }
        self.watched = Some((is_watched, Instant::now()));
        let cluster = &self.shared.line.cluster;
        let groups: Vec<_> = self.shared.groups().values().cloned().collect();
        for group in groups {
            let subject = cluster.names().group(group.name());
            tell(cluster, subject, &WorkerNotice::Watched(is_watched)).await?;
        }
        Ok(())
    }

    /// Asks the workers that are silent whether they are there, and removes those that are not everywhere.
    async fn remove_silent(&self, listened_since: Instant) -> Result<(), Error> {
        let groups: Vec<_> = self.shared.groups().values().cloned().collect();
        let mut silent = Vec::new();
        for group in groups {
            let quiet = group.quiet(listened_since, SILENCE);
            silent.extend(quiet.into_iter().map(|worker| (group.clone(), worker)));
        }
        if silent.is_empty() {
            return Ok(());
        }
        let cluster = &self.shared.line.cluster;
        let mut groups = BTreeSet::new();
        for (group, worker) in without_reply(cluster, silent).await {
            let Some(presence) = group.presence(&worker) else { continue };
            tracing::warn!("worker {worker} of group '{}' stopped responding", group.name());
            group.leaves(&worker);
            groups.insert(group.name().to_string());
            let subject = cluster.names().presence(group.name());
            let presence = Presence { leaving: true, ..presence };
            let notice = cluster.signer().write(Purpose::Notice, &[&subject], &presence)?;
            cluster.publish(subject, None, notice).await.map_err(refused())?;
        }
        for group in groups {
            show(self.shared, self.shared.group(&group)).await;
        }
        Ok(())
    }

    /// Takes the keys of workers that have left or died long enough ago.
    fn departed(&self) -> Vec<String> {
        let mut departed = self.shared.departed.lock().unwrap_or_else(PoisonError::into_inner);
        departed.extract_if(.., |(at, _)| at.elapsed() >= ERASED).map(|(_, key)| key).collect()
    }

    /// Erases the entries of workers that have left or died, unless they have come back.
    async fn erase(&self, mut keys: Vec<String>) -> Result<(), Error> {
        let groups = self.shared.groups().clone();
        keys.retain(|key| {
            let (group, worker) = key.split_once('.').unwrap_or_default();
            groups.get(group).is_none_or(|group| group.presence(worker).is_none())
        });
        let erase = async |key: String| self.entries.erase(&key).await;
        let mut erased = stream::iter(keys).map(erase).buffer_unordered(ERASED_AT_ONCE);
        while let Some(done) = erased.next().await {
            done.map_err(refused())?;
        }
        Ok(())
    }
}

/// Sends a notice to one worker, or to all of a group.
async fn tell(cluster: &Cluster, subject: String, notice: &WorkerNotice) -> Result<(), Error> {
    let notice = cluster.signer().write(Purpose::Notice, &[&subject], notice)?;
    cluster.publish(subject, None, notice).await.map_err(refused())
}
