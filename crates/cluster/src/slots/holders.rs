//! The entry that says how many slots of a caller each gateway holds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchboard_toolcall::BoxError;
use switchboard_workers::{
    Bucket, Cluster,
    transport::{KeyValue, KeyValueEntry},
    wire,
};

use crate::{Error, gateways::Gateways};

/// How many times a compare-and-set is tried.
const TRIES: usize = 64;
/// Which part of the free slots is taken at once: one where there are few.
const PART: usize = 8;

/// The entry of one caller.
pub(super) struct SlotHolders {
    key: String,
    /// The entry as it was last seen, so that usually one round trip is enough.
    seen: Option<SlotsRevision>,
    /// How many slots are stored for this gateway; `None` if a change was not confirmed.
    own: Option<usize>,
}

struct SlotsRevision {
    state: SlotsState,
    revision: u64,
}

/// The state that is stored in NATS.
#[derive(Clone, Default, Serialize, Deserialize)]
struct SlotsState {
    /// How many slots each gateway holds, by its id.
    held: BTreeMap<String, usize>,
}

impl SlotHolders {
    pub(super) fn new(key: String) -> Self {
        Self { key, seen: None, own: Some(0) }
    }

    /// Whether so many slots are certainly stored for this gateway.
    pub(super) fn has(&self, held: usize) -> bool {
        self.own == Some(held)
    }

    /// Reads the entry again before it is next changed.
    pub(super) fn forget(&mut self) {
        (self.seen, self.own) = (None, None);
    }

    /// Adds slots to the `base` that this gateway has, as long as all together are no more than `most`. Returns how many.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached.
    pub(super) async fn add(
        &mut self,
        cluster: &Cluster,
        gateways: &Gateways,
        base: usize,
        most: usize,
    ) -> Result<usize, Error> {
        for _ in 0..TRIES {
            let is_remembered = self.seen.is_some();
            let mut state = self.live(cluster, gateways).await?;
            let others: usize = state.held.values().sum();
            let free = most.saturating_sub(others).saturating_sub(base);
            if free == 0 && is_remembered {
                // Others may have given some back.
                self.seen = None;
                continue;
            }
            let added = free.min((free / PART).max(1));
            // What is used although it is too much is stored, too, so that others take no more.
            if added == 0 && self.has(base) {
                return Ok(0);
            }
            put(&mut state, gateways.own(), base + added);
            if self.replace(cluster, gateways, state).await? {
                return Ok(added);
            }
        }
        Err(refused(cluster)("others were always faster".into()))
    }

    /// Stores how many slots this gateway holds.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached.
    pub(super) async fn set(
        &mut self,
        cluster: &Cluster,
        gateways: &Gateways,
        held: usize,
    ) -> Result<(), Error> {
        for _ in 0..TRIES {
            let mut state = self.live(cluster, gateways).await?;
            put(&mut state, gateways.own(), held);
            if self.replace(cluster, gateways, state).await? {
                return Ok(());
            }
        }
        Err(refused(cluster)("others were always faster".into()))
    }

    /// Returns what the other live gateways hold.
    async fn live(&mut self, cluster: &Cluster, gateways: &Gateways) -> Result<SlotsState, Error> {
        if self.seen.is_none() {
            let entry = store(cluster).await?.get(&self.key).await.map_err(refused(cluster))?;
            self.seen = match entry {
                Some(KeyValueEntry { value: Some(value), revision, .. }) => {
                    Some(SlotsRevision { state: wire::read("slots", &value)?, revision })
                }
                _ => None,
            };
            let held = self.seen.as_ref().and_then(|seen| seen.state.held.get(gateways.own()));
            self.own = Some(held.copied().unwrap_or(0));
        }
        let mut state = self.seen.as_ref().map(|seen| seen.state.clone()).unwrap_or_default();
        state.held.retain(|id, _| id != gateways.own() && gateways.is_there(id));
        Ok(state)
    }

    /// Stores the state by compare-and-set; returns whether that succeeded.
    async fn replace(
        &mut self,
        cluster: &Cluster,
        gateways: &Gateways,
        state: SlotsState,
    ) -> Result<bool, Error> {
        let store = store(cluster).await?;
        let value = wire::write(&state)?;
        // If this is dropped meanwhile, the change may be made or not.
        self.own = None;
        let revision = match self.seen.take() {
            Some(seen) => store.update(&self.key, value, seen.revision).await,
            None => store.create(&self.key, value).await,
        };
        let Some(revision) = revision.map_err(refused(cluster))? else { return Ok(false) };
        self.own = Some(state.held.get(gateways.own()).copied().unwrap_or(0));
        self.seen = Some(SlotsRevision { state, revision });
        Ok(true)
    }
}

fn put(state: &mut SlotsState, gateway: &str, held: usize) {
    match held {
        0 => _ = state.held.remove(gateway),
        held => _ = state.held.insert(gateway.to_owned(), held),
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
    move |reason| Error::Refused { address: address.clone(), what: "count requests", reason }
}
