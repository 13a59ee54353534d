//! A caller's allowance, shared by all gateways: fills evenly up to the rate's count, and is changed by compare-and-set.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use switchboard_access::Rate;
use switchboard_toolcall::BoxError;
use switchboard_toolcall::time::unix_milliseconds;
use switchboard_workers::{
    Bucket, Cluster,
    transport::{KeyValue, KeyValueEntry},
    wire,
};

use crate::Error;

/// How many times a compare-and-set is tried.
const TRIES: usize = 64;

pub(super) struct Allowance {
    key: String,
    rate: Rate,
    /// The last known state, so that usually one round trip is enough.
    seen: Option<AllowanceRevision>,
}

#[derive(Clone, Copy)]
struct AllowanceRevision {
    state: AllowanceState,
    revision: u64,
}

/// The state that is stored in NATS.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct AllowanceState {
    left: f64,
    /// When that was, in milliseconds since 1970.
    at: u64,
}

pub(super) enum DrawOutcome {
    /// The number that was drawn, at least one.
    Some(u32),
    /// There is nothing left; how long until there is.
    None(Duration),
}

impl Allowance {
    pub(super) fn new(key: String, rate: Rate) -> Self {
        Self { key, rate, seen: None }
    }

    pub(super) fn rate(&self) -> Rate {
        self.rate
    }

    /// Draws up to a number of requests.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached.
    pub(super) async fn draw(
        &mut self,
        cluster: &Cluster,
        wanted: u32,
    ) -> Result<DrawOutcome, Error> {
        let store = store(cluster).await?;
        for _ in 0..TRIES {
            let is_remembered = self.seen.is_some();
            let state = self.filled(store, cluster).await?;
            if state.left < 1.0 {
                if is_remembered {
                    // Other gateways may have returned some.
                    self.seen = None;
                    continue;
                }
                let wait = (1.0 - state.left) / self.rate.per_second();
                return Ok(DrawOutcome::None(Duration::from_secs_f64(wait)));
            }
            let drawn = state.left.floor().min(f64::from(wanted));
            let rest = AllowanceState { left: state.left - drawn, ..state };
            if self.replace(store, cluster, rest).await? {
                return Ok(DrawOutcome::Some(drawn as u32));
            }
        }
        Err(refused(cluster)("others were always faster".into()))
    }

    /// Returns a number of unused requests.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached.
    pub(super) async fn give_back(&mut self, cluster: &Cluster, count: u32) -> Result<(), Error> {
        let store = store(cluster).await?;
        for _ in 0..TRIES {
            let state = self.filled(store, cluster).await?;
            let left = (state.left + f64::from(count)).min(f64::from(self.rate.count()));
            if self.replace(store, cluster, AllowanceState { left, ..state }).await? {
                return Ok(());
            }
        }
        Err(refused(cluster)("others were always faster".into()))
    }

    /// Reads how much is available now.
    async fn filled(
        &mut self,
        store: &dyn KeyValue,
        cluster: &Cluster,
    ) -> Result<AllowanceState, Error> {
        if self.seen.is_none() {
            let entry = store.get(&self.key).await.map_err(refused(cluster))?;
            self.seen = match entry {
                Some(KeyValueEntry { value: Some(value), revision, .. }) => {
                    Some(AllowanceRevision { state: wire::read("an allowance", &value)?, revision })
                }
                _ => None,
            };
        }
        let most = f64::from(self.rate.count());
        let now = unix_milliseconds();
        let Some(AllowanceRevision { state, .. }) = self.seen else {
            return Ok(AllowanceState { left: most, at: now });
        };
        // The clock of another machine may be ahead; time that it counted is not counted twice.
        let at = now.max(state.at);
        let filled = (at - state.at) as f64 / 1000.0 * self.rate.per_second();
        Ok(AllowanceState { left: (state.left + filled).min(most), at })
    }

    /// Stores the rest by compare-and-set; returns whether that succeeded.
    async fn replace(
        &mut self,
        store: &dyn KeyValue,
        cluster: &Cluster,
        state: AllowanceState,
    ) -> Result<bool, Error> {
        let value = wire::write(&state)?;
        let revision = match self.seen.take() {
            Some(AllowanceRevision { revision, .. }) => {
                store.update(&self.key, value, revision).await
            }
            None => store.create(&self.key, value).await,
        };
        let revision = revision.map_err(refused(cluster))?;
        self.seen = revision.map(|revision| AllowanceRevision { state, revision });
        Ok(revision.is_some())
    }
}

async fn store(cluster: &Cluster) -> Result<&dyn KeyValue, Error> {
    match cluster.is_connected() {
        true => Ok(cluster.bucket(Bucket::Rates).await?),
        false => Err(Error::Away { address: cluster.address().to_owned() }),
    }
}

fn refused(cluster: &Cluster) -> impl Fn(BoxError) -> Error {
    let address = cluster.address().to_owned();
    move |reason| Error::Refused { address: address.clone(), what: "count a request", reason }
}
