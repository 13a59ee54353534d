//! Says that we are there and what we offer, again and again, and takes it back.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep, timeout};

use super::Shared;
use crate::{
    Error, Purpose,
    names::Bucket,
    offer::{Offer, RENEWED},
    wire,
};

/// How often what we offer is said again: it lapses after days.
const OFFERED_AGAIN: Duration = Duration::from_secs(6 * 60 * 60);

/// How long NATS may take to hear it.
const HEARD: Duration = Duration::from_secs(3);

/// How long we wait until we say it again when it was not heard.
const SOON: Duration = Duration::from_millis(500);

/// Says it until dropped.
pub(super) async fn run(shared: Arc<Shared>) {
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
            // The servers may have forgotten everything.
            _ = connected.changed() => said.offer = None,
            () = sleep(pause) => {}
        }
    }
}

/// Takes back what we said.
pub(super) async fn withdraw(shared: &Shared) {
    let key = shared.cluster.names().member(&shared.group, &shared.id);
    for bucket in [Bucket::Workers, Bucket::Tools] {
        if let Ok(store) = shared.cluster.bucket(bucket).await {
            // What stays lapses.
            _ = store.remove(&key).await;
        }
    }
}

/// What was heard of us.
#[derive(Default)]
struct Announcer {
    offer: Option<(String, Instant)>,
    /// How many tools people were told of; none, while nobody hears us.
    told: Option<usize>,
}

impl Announcer {
    async fn say(&mut self, shared: &Shared) -> Result<(), Error> {
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

    /// Says that nobody heard us, once, and makes the buckets anew, which the servers may have lost.
    async fn unheard(&mut self, shared: &Shared, error: &Error) -> Duration {
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

async fn offer_tools(shared: &Shared, key: &str, offer: &Offer) -> Result<(), Error> {
    let mut bytes = wire::write(offer)?;
    if shared.cluster.is_large(bytes.len()) {
        let place = shared.cluster.lay_down(&bytes).await?;
        bytes = wire::write(&wire::LargeObject { large: place })?;
    }
    let bytes = shared.cluster.signer().sign(Purpose::Entry(Bucket::Tools), &[key], &bytes);
    let store = shared.cluster.bucket(Bucket::Tools).await?;
    let refused = Error::refused("hear what a worker offers");
    store.put(key, bytes).await.map(drop).map_err(refused)
}
