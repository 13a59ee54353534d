//! Sign-ins that all gateways use: each is one entry of a bucket, encrypted, with the lock of the gateway that changes it now.
//!
//! The lock and the sign-in are in one entry, so that a gateway that has lost the lock can no longer write. A lock that nobody frees
//! lapses after a time that is longer than any renewal, measured by the clock of the one that waits.

mod lock;

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use jiff::{Timestamp, ToSpan};
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use switchboard_oauth::{
    CredentialLock, CredentialStore, Error as OauthError, Secret, SharedPages, StoreFuture,
};
use switchboard_workers::{Bucket, Cluster, wire};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{Error, mirror::Mirror, seal::ValueSeal, sign_in_pages};
use lock::TakenLock;

/// How long the start waits for NATS.
const START: Duration = Duration::from_secs(5);
/// How often old entries are removed.
const SWEEP: Duration = Duration::from_secs(60 * 60);
/// How many days it is remembered that somebody has signed out, so that no older entry takes its place.
const REMEMBERED_DAYS: i64 = 30;

/// The sign-ins of a cluster to servers and APIs.
pub struct ClusterCredentials {
    shared: Arc<SharedCredentials>,
    /// The background tasks; aborted when dropped.
    _tasks: JoinSet<()>,
}

/// The state that the store of sign-ins shares with its locks.
pub(crate) struct SharedCredentials {
    pub(crate) mirror: Arc<Mirror>,
    pub(crate) seal: ValueSeal,
    started: Instant,
    /// For each entry the revision that was looked at last, and the version that it has.
    versions: Mutex<HashMap<String, (u64, u64)>>,
}

/// A stored sign-in.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct CredentialEntry {
    /// A [`SealedCredential`], encrypted; `None` if nobody is signed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<String>,
    /// The random text of the lock's holder; `None` if the entry is not locked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lock: Option<String>,
    /// When it was written.
    at: Timestamp,
}

/// The encrypted part of an entry.
#[derive(Serialize, Deserialize)]
struct SealedCredential {
    name: String,
    value: Secret,
}

impl ClusterCredentials {
    /// Follows the sign-ins of a cluster; `None` if it has no key, without which nothing can be encrypted.
    pub fn start(cluster: &Cluster) -> Option<Arc<Self>> {
        let seal = ValueSeal::new(cluster.signer(), "sign-ins")?;
        let mirror = Mirror::new(cluster, Bucket::Credentials);
        let (started, versions) = (Instant::now(), Mutex::default());
        let shared = Arc::new(SharedCredentials { mirror, seal, started, versions });
        let mut tasks = JoinSet::new();
        tasks.spawn(shared.mirror.clone().follow());
        tasks.spawn(sweep(shared.clone()));
        Some(Arc::new(Self { shared, _tasks: tasks }))
    }

    /// Returns the pages that any gateway of the cluster serves.
    pub fn pages(&self) -> Arc<dyn SharedPages> {
        self.shared.clone()
    }
}

impl std::fmt::Debug for ClusterCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterCredentials").finish_non_exhaustive()
    }
}

impl CredentialStore for ClusterCredentials {
    fn names(&self) -> StoreFuture<'_, Vec<String>> {
        Box::pin(async move {
            self.shared.known().await.map_err(OauthError::store)?;
            let all = self.shared.mirror.all::<CredentialEntry>("in.");
            let names = all.iter().filter_map(|(place, entry)| self.shared.opened(place, entry));
            Ok(names.map(|credential| credential.name).collect())
        })
    }

    fn get<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Secret>> {
        Box::pin(async move { self.shared.get(name).await.map_err(OauthError::store) })
    }

    fn lock<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Box<dyn CredentialLock>> {
        Box::pin(async move {
            let taken = TakenLock::take(&self.shared, name).await.map_err(OauthError::store)?;
            Ok(Box::new(taken) as Box<dyn CredentialLock>)
        })
    }

    fn version(&self, name: &str) -> u64 {
        self.shared.version(&place(name))
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.shared.mirror.changes())
    }
}

impl SharedCredentials {
    /// Waits until the bucket was read, for a moment after the start.
    pub(crate) async fn known(&self) -> Result<(), Error> {
        self.mirror.known(START.saturating_sub(self.started.elapsed())).await
    }

    async fn get(&self, name: &str) -> Result<Option<Secret>, Error> {
        self.known().await?;
        let place = place(name);
        let Some(value) = self.mirror.latest(&place).await? else { return Ok(None) };
        let opened = self.opened(&place, &read(Some(&value))?);
        Ok(opened.filter(|credential| credential.name == name).map(|credential| credential.value))
    }

    /// Decrypts an entry; `None` if nobody is signed in, or it cannot be decrypted: then a new sign-in replaces it.
    fn opened(&self, place: &str, entry: &CredentialEntry) -> Option<SealedCredential> {
        let opened = self.seal.open(place, entry.sealed.as_deref()?);
        opened.inspect_err(|error| tracing::warn!(%error, place, "a sign-in is not used")).ok()
    }

    fn sealed(&self, name: &str, value: Secret) -> Result<String, Error> {
        self.seal.seal(&place(name), &SealedCredential { name: name.to_owned(), value })
    }

    /// Returns a number that changes with the encrypted sign-in, not with its lock.
    fn version(&self, place: &str) -> u64 {
        let revision = self.mirror.revision(place);
        if revision == 0 {
            return 0;
        }
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, version)) = versions.get(place).filter(|(seen, _)| *seen == revision) {
            return *version;
        }
        let entry: Option<CredentialEntry> = self.mirror.get(place);
        let version = entry.and_then(|entry| entry.sealed).map_or(0, |sealed| {
            let mut hasher = DefaultHasher::new();
            sealed.hash(&mut hasher);
            hasher.finish().max(1)
        });
        versions.insert(place.to_owned(), (revision, version));
        version
    }
}

/// Removes what has been signed out for long, and old pages.
async fn sweep(shared: Arc<SharedCredentials>) {
    loop {
        sleep(SWEEP).await;
        let now = Timestamp::now();
        let end = now.checked_sub((24 * REMEMBERED_DAYS).hours()).unwrap_or(now);
        let all = shared.mirror.all::<CredentialEntry>("in.");
        let old = all.into_iter().filter(|(_, entry)| entry.sealed.is_none() && entry.at < end);
        let old = old.map(|(place, _)| place).chain(sign_in_pages::expired(&shared, now));
        for place in old.collect::<Vec<_>>() {
            if let Err(error) = shared.mirror.erase(&place).await {
                tracing::debug!(error = &error as &dyn std::error::Error, "nothing is swept now");
            }
        }
    }
}

/// Where a sign-in is: names have who is signed in where, which keys do not tell.
fn place(name: &str) -> String {
    format!("in.{}", hashed(name))
}

pub(crate) fn hashed(name: &str) -> String {
    let digest = digest(&SHA256, name.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(value: Option<&Bytes>) -> Result<CredentialEntry, Error> {
    match value {
        Some(value) => Ok(wire::read("a sign-in", value)?),
        None => Ok(CredentialEntry { sealed: None, lock: None, at: Timestamp::now() }),
    }
}
