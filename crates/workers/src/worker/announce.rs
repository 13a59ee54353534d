//! Renews the worker's presence and offer, and withdraws them.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::time::{Instant, sleep, timeout};
use ulid::Ulid;

use super::WorkerInner;
use crate::{
    Error, Purpose,
    names::Bucket,
    offer::{BEAT, Presence, WorkerOffer},
    wire,
};

/// How often the offer is renewed: it expires after days.
const OFFERED_AGAIN: Duration = Duration::from_secs(6 * 60 * 60);

/// How often the entry is renewed; a random part of it is added.
const RENEWED: Duration = Duration::from_secs(20);

/// How often it is renewed if somebody watches it: gateways of 0.1.0 miss a worker after eight seconds.
const RENEWED_IF_WATCHED: Duration = Duration::from_secs(5);

/// How often gateways get a change: NATS may lose a message if a gateway is slow.
const REPEATS: usize = 3;

/// How often gateways get the number of running calls, if that changes.
const LOAD_SAID_AGAIN: Duration = Duration::from_secs(15);

/// How long NATS may take to confirm: longer than the client waits for the reply to one request, so that what it has opened meanwhile stays.
const HEARD: Duration = Duration::from_secs(6);

/// The pause before a failed announcement is repeated; doubles with each further failure.
const SOON: Duration = Duration::from_millis(500);

/// The longest such pause: thousands of workers that start at once would keep the servers busy with their repetitions.
const LATER: Duration = Duration::from_secs(8);

/// Renews until dropped.
pub(super) async fn run(shared: Arc<WorkerInner>) {
    let mut connected = shared.cluster.connections();
    let mut said = Announcer::new();
    loop {
        connected.borrow_and_update();
        if shared.announces_again.swap(false, Ordering::AcqRel) {
            said.forget();
        }
        let told = timeout(HEARD, said.say(&shared)).await;
        let pause = match told {
            Ok(Ok(())) => BEAT,
            Ok(Err(error)) => said.unheard(&shared, &error).await,
            Err(_) => said.pause(),
        };
        tokio::select! {
            () = shared.bell.notified() => {}
            // The servers may have lost everything.
            _ = connected.changed() => said.forget(),
            () = sleep(pause) => {}
        }
    }
}

/// Withdraws the presence.
pub(super) async fn withdraw(shared: &WorkerInner) {
    // An idle worker may end before it has said that it is leaving.
    if let Err(error) = notify(shared, &shared.presence(&shared.offer())).await {
        tracing::debug!("gateways are not told that a worker leaves: {error}");
    }
    let key = shared.cluster.names().member(&shared.group, &shared.id);
    for bucket in [Bucket::Workers, Bucket::Tools] {
        if let Ok(store) = shared.cluster.bucket(bucket).await {
            // Otherwise it expires.
            _ = store.remove(&key).await;
        }
    }
}

/// What was announced.
struct Announcer {
    offer: Option<(String, Instant)>,
    /// The hash of the offer and whether the worker leaves, as of its entry, and when that was written.
    entry: Option<((String, bool), Instant)>,
    /// How often the entry is renewed if nobody watches it: not all workers at once.
    renewed: Duration,
    /// How many announcements have failed since the last one that did not.
    failures: u32,
    /// How many tools were logged as offered; `None` while NATS is unreachable.
    told: Option<usize>,
    notices: PresenceNotices,
}

/// Decides when gateways get a message: not with each heartbeat.
#[derive(Default)]
struct PresenceNotices {
    /// The hash of the offer, and whether the worker leaves, as of the last message.
    said: Option<(String, bool)>,
    /// How often that is still repeated: a message may get lost.
    repeats: usize,
    /// How many calls ran as of the last message, and when that was.
    load: Option<(usize, Instant)>,
}

impl PresenceNotices {
    /// Returns whether gateways have to know this now.
    fn is_due(&mut self, presence: &Presence) -> bool {
        let says = (presence.tools.clone(), presence.leaving);
        if self.said.as_ref() != Some(&says) {
            self.said = Some(says);
            self.repeats = REPEATS;
        }
        let is_new_load = self.load.is_none_or(|(running, at)| {
            running != presence.running && at.elapsed() >= LOAD_SAID_AGAIN
        });
        if self.repeats == 0 && !is_new_load {
            return false;
        }
        self.repeats = self.repeats.saturating_sub(1);
        if is_new_load {
            self.load = Some((presence.running, Instant::now()));
        }
        true
    }
}

impl Announcer {
    fn new() -> Self {
        Self {
            offer: None,
            entry: None,
            renewed: RENEWED + random_part_of(RENEWED) / 2,
            failures: 0,
            told: None,
            notices: PresenceNotices::default(),
        }
    }

    /// Forgets what was announced, so that it is announced again.
    fn forget(&mut self) {
        (self.offer, self.entry) = (None, None);
        self.notices = PresenceNotices::default();
    }

    /// Returns whether the entry has to be written.
    fn is_due(&self, shared: &WorkerInner, says: &(String, bool)) -> bool {
        let renewed = if shared.is_watched() { RENEWED_IF_WATCHED } else { self.renewed };
        let is_renewed =
            |(said, at): &((String, bool), Instant)| said == says && at.elapsed() < renewed;
        !self.entry.as_ref().is_some_and(is_renewed)
    }

    async fn say(&mut self, shared: &WorkerInner) -> Result<(), Error> {
        let offer = shared.offer();
        let key = shared.cluster.names().member(&shared.group, &shared.id);
        let is_said =
            |(hash, at): &(String, Instant)| *hash == offer.hash && at.elapsed() < OFFERED_AGAIN;
        if !self.offer.as_ref().is_some_and(is_said) {
            offer_tools(shared, &key, &offer).await?;
            self.offer = Some((offer.hash.clone(), Instant::now()));
        }
        let presence = shared.presence(&offer);
        let says = (presence.tools.clone(), presence.leaving);
        if self.is_due(shared, &says) {
            write_entry(shared, &key, &presence).await?;
            self.entry = Some((says, Instant::now()));
        }
        if self.notices.is_due(&presence) {
            notify(shared, &presence).await?;
        }
        self.failures = 0;
        let (tools, group) = (offer.tools.len(), &shared.group);
        if self.told.replace(tools) != Some(tools) {
            tracing::info!("{tools} tools are offered to group '{group}' as worker {}", shared.id);
        }
        Ok(())
    }

    /// Logs the failure once, and creates the buckets again, which the servers may have lost.
    async fn unheard(&mut self, shared: &WorkerInner, error: &Error) -> Duration {
        if self.told.take().is_some() {
            tracing::warn!("worker {} cannot say that it is there: {error}", shared.id);
        } else {
            tracing::debug!("worker {} cannot say that it is there: {error}", shared.id);
        }
        self.forget();
        for bucket in [Bucket::Tools, Bucket::Workers] {
            _ = timeout(HEARD, shared.cluster.renew(bucket)).await;
        }
        self.pause()
    }

    /// Returns how long to wait after a failure: longer after each, and not the same for all workers.
    fn pause(&mut self) -> Duration {
        let most = SOON.saturating_mul(1 << self.failures.min(10)).min(LATER);
        self.failures += 1;
        most / 2 + random_part_of(most / 2)
    }
}

/// Returns a random part of `whole`.
fn random_part_of(whole: Duration) -> Duration {
    let part = u32::try_from(Ulid::generate().random() % 1_000).unwrap_or_default();
    whole * part / 1_000
}

/// Sends the presence to all gateways.
async fn notify(shared: &WorkerInner, presence: &Presence) -> Result<(), Error> {
    let subject = shared.cluster.names().presence(&shared.group);
    let notice = shared.cluster.signer().write(Purpose::Notice, &[&subject], presence)?;
    let refused = Error::refused("tell gateways of a worker");
    shared.cluster.publish(subject, None, notice).await.map_err(refused)
}

async fn write_entry(shared: &WorkerInner, key: &str, presence: &Presence) -> Result<(), Error> {
    let signer = shared.cluster.signer();
    let entry = signer.write(Purpose::Entry(Bucket::Workers), &[key], presence)?;
    let store = shared.cluster.bucket(Bucket::Workers).await?;
    let refused = Error::refused("hear that a worker is there");
    store.put(key, entry).await.map(drop).map_err(refused)
}

async fn offer_tools(shared: &WorkerInner, key: &str, offer: &WorkerOffer) -> Result<(), Error> {
    let mut bytes = wire::write(offer)?;
    if shared.cluster.is_large(bytes.len()) {
        let place = shared.cluster.lay_down(&bytes).await?;
        bytes = wire::write(&wire::LargeObjectRef { large: place })?;
    }
    let bytes = shared.cluster.signer().sign(Purpose::Entry(Bucket::Tools), &[key], &bytes);
    let store = shared.cluster.bucket(Bucket::Tools).await?;
    let refused = Error::refused("hear what a worker offers");
    store.put(key, bytes).await.map(drop).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_after_each_failure() {
        let mut said = Announcer::new();
        let pauses: Vec<_> = (0..40).map(|_| said.pause()).collect();
        for (number, pause) in pauses.iter().enumerate() {
            let most = LATER.min(SOON * 2_u32.pow(u32::try_from(number.min(10)).unwrap()));
            assert!((most / 2..=most).contains(pause), "{number}: {pause:?}");
        }
        assert!(pauses[10..].iter().any(|pause| *pause != pauses[10]), "all alike: {pauses:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn gateways_get_changes_and_not_every_heartbeat() {
        let mut presence = Presence {
            group: "gpu".to_owned(),
            worker: "1".to_owned(),
            tools: "a".to_owned(),
            capacity: 4,
            running: 0,
            leaving: false,
            notifies: true,
            version: "0".to_owned(),
            started: 0,
        };
        let mut notices = PresenceNotices::default();
        let sent = |notices: &mut PresenceNotices, presence: &Presence| {
            (0..100).filter(|_| notices.is_due(presence)).count()
        };
        assert_eq!(sent(&mut notices, &presence), REPEATS);
        presence.tools = "b".to_owned();
        assert_eq!(sent(&mut notices, &presence), REPEATS);
        presence.running = 4;
        assert_eq!(sent(&mut notices, &presence), 0);
        tokio::time::advance(LOAD_SAID_AGAIN).await;
        assert_eq!(sent(&mut notices, &presence), 1);
        presence.leaving = true;
        assert!(notices.is_due(&presence));
    }
}
