//! Renews the worker's presence and offer, and withdraws them.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep, timeout};

use super::WorkerInner;
use crate::{
    Error, Purpose,
    names::Bucket,
    offer::{RENEWED, WorkerOffer},
    wire,
};

/// How often the offer is renewed: it expires after days.
const OFFERED_AGAIN: Duration = Duration::from_secs(6 * 60 * 60);

/// How long NATS may take to confirm.
const HEARD: Duration = Duration::from_secs(3);

/// The pause before a failed announcement is repeated.
const SOON: Duration = Duration::from_millis(500);

/// Renews until dropped.
pub(super) async fn run(shared: Arc<WorkerInner>) {
    let mut connected = shared.cluster.connections();
    let mut said = Announcer::default();
    loop {
        connected.borrow_and_update();
        let told = timeout(HEARD, said.say(&shared)).await;
        let pause = match told {
            Ok(Ok(())) => RENEWED,
            Ok(Err(error)) => said.unheard(&shared, &error).await,
            Err(_) => SOON,
        };
        tokio::select! {
            () = shared.bell.notified() => {}
            // The servers may have lost everything.
            _ = connected.changed() => said.offer = None,
            () = sleep(pause) => {}
        }
    }
}

/// Withdraws the presence.
pub(super) async fn withdraw(shared: &WorkerInner) {
    let key = shared.cluster.names().member(&shared.group, &shared.id);
    for bucket in [Bucket::Workers, Bucket::Tools] {
        if let Ok(store) = shared.cluster.bucket(bucket).await {
            // Otherwise it expires.
            _ = store.remove(&key).await;
        }
    }
}

/// What was announced.
#[derive(Default)]
struct Announcer {
    offer: Option<(String, Instant)>,
    /// How many tools were logged as offered; `None` while NATS is unreachable.
    told: Option<usize>,
}

impl Announcer {
    async fn say(&mut self, shared: &WorkerInner) -> Result<(), Error> {
        let offer = shared.offer();
        let key = shared.cluster.names().member(&shared.group, &shared.id);
        let is_said =
            |(hash, at): &(String, Instant)| *hash == offer.hash && at.elapsed() < OFFERED_AGAIN;
        if !self.offer.as_ref().is_some_and(is_said) {
            offer_tools(shared, &key, &offer).await?;
            self.offer = Some((offer.hash.clone(), Instant::now()));
        }
        let (signer, presence) = (shared.cluster.signer(), shared.presence(&offer));
        let presence = signer.write(Purpose::Entry(Bucket::Workers), &[&key], &presence)?;
        let store = shared.cluster.bucket(Bucket::Workers).await?;
        let refused = Error::refused("hear that a worker is there");
        store.put(&key, presence).await.map_err(refused)?;
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
        self.offer = None;
        for bucket in [Bucket::Tools, Bucket::Workers] {
            _ = timeout(HEARD, shared.cluster.renew(bucket)).await;
        }
        SOON
    }
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
