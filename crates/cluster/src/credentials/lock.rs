//! The lock of one sign-in among all processes of a cluster.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use switchboard_oauth::{CredentialLock, Error as OauthError, Secret, StoreFuture};
use switchboard_toolcall::BoxFuture;
use tokio::{
    runtime::Handle,
    time::{Instant, sleep, timeout},
};
use ulid::Ulid;

use super::{CredentialEntry, SharedCredentials, place, read};
use crate::Error;

/// After how long a lock that nobody frees may be taken over. A renewal begins within [`SAFE`], and has two requests of at most
/// 15 s each.
const LAPSE: Duration = Duration::from_secs(40);
/// How long after it was taken a renewal may begin.
const SAFE: Duration = Duration::from_secs(5);
/// How long new tokens are tried to be stored while NATS is away: they are lost with this process.
const STORE: Duration = Duration::from_secs(60);
/// How long freeing a lock may take.
const FREE: Duration = Duration::from_secs(2);
/// How long to wait before NATS is asked again, unless a change is noticed earlier.
const PAUSE: Duration = Duration::from_millis(500);
/// The shortest wait between two tries.
const SHORT: Duration = Duration::from_millis(20);

/// A lock that this process has.
pub(super) struct TakenLock {
    shared: Arc<SharedCredentials>,
    name: String,
    id: String,
    since: Instant,
    is_free: AtomicBool,
}

impl TakenLock {
    /// Waits until nobody has the lock of this sign-in, and takes it.
    pub(super) async fn take(shared: &Arc<SharedCredentials>, name: &str) -> Result<Self, Error> {
        shared.known().await?;
        let (place, id) = (place(name), Ulid::generate().to_string());
        let mut changes = shared.mirror.changes();
        let mut holder: Option<(String, Instant)> = None;
        loop {
            let since = Instant::now();
            let lapsed = holder.as_ref().filter(|(_, seen)| seen.elapsed() >= LAPSE);
            let decide = |value: Option<&_>| {
                let entry = read(value)?;
                let other = entry.lock.clone();
                if let Some(other) = other
                    && lapsed.is_none_or(|(lapsed, _)| *lapsed != other)
                {
                    return Ok((None, Some(other)));
                }
                let (lock, at) = (Some(id.clone()), Timestamp::now());
                Ok((Some(CredentialEntry { lock, at, ..entry }), None))
            };
            let Some(other) = shared.mirror.swap(&place, decide).await? else {
                let (shared, name) = (shared.clone(), name.to_owned());
                return Ok(Self { shared, name, id, since, is_free: AtomicBool::new(false) });
            };
            if holder.as_ref().is_none_or(|(known, _)| *known != other) {
                holder = Some((other, Instant::now()));
            }
            sleep(SHORT).await;
            changes.mark_unchanged();
            // Either may be first; a closed channel never reports a change.
            _ = timeout(PAUSE, changes.changed()).await;
        }
    }

    /// Writes the sign-in, if the lock is still ours.
    async fn write(&self, sealed: Option<&String>) -> Result<(), Error> {
        let decide = |value: Option<&_>| {
            let entry = read(value)?;
            if entry.lock.as_ref() != Some(&self.id) {
                return Err(Error::LockLost);
            }
            let new = CredentialEntry { sealed: sealed.cloned(), at: Timestamp::now(), ..entry };
            Ok((Some(new), ()))
        };
        loop {
            match self.shared.mirror.swap(&place(&self.name), decide).await {
                Err(error @ (Error::LockLost | Error::Cluster(_))) => return Err(error),
                Err(error) if self.since.elapsed() > STORE => return Err(error),
                Err(error) => {
                    tracing::debug!(%error, "a sign-in is not stored yet");
                    sleep(PAUSE).await;
                }
                Ok(()) => return Ok(()),
            }
        }
    }
}

impl CredentialLock for TakenLock {
    fn get(&self) -> StoreFuture<'_, Option<Secret>> {
        Box::pin(async move { self.shared.get(&self.name).await.map_err(OauthError::store) })
    }

    fn set(&self, value: Secret) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let sealed = self.shared.sealed(&self.name, value).map_err(OauthError::store)?;
            self.write(Some(&sealed)).await.map_err(OauthError::store)
        })
    }

    fn remove(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move { self.write(None).await.map_err(OauthError::store) })
    }

    fn is_safe(&self) -> bool {
        self.since.elapsed() < SAFE
    }

    fn release(self: Box<Self>) -> BoxFuture<'static, ()> {
        self.is_free.store(true, Ordering::Release);
        let (shared, name, id) = (self.shared.clone(), self.name.clone(), self.id.clone());
        Box::pin(free(shared, name, id))
    }
}

impl Drop for TakenLock {
    /// Frees the lock of work that was dropped.
    fn drop(&mut self) {
        if self.is_free.load(Ordering::Acquire) {
            return;
        }
        if let Ok(runtime) = Handle::try_current() {
            let (shared, name, id) = (self.shared.clone(), self.name.clone(), self.id.clone());
            runtime.spawn(free(shared, name, id));
        }
    }
}

/// Frees a lock, unless somebody else has it by now. If NATS is away, it lapses.
async fn free(shared: Arc<SharedCredentials>, name: String, id: String) {
    let decide = |value: Option<&_>| {
        let entry = read(value)?;
        let is_ours = entry.lock.as_ref() == Some(&id);
        let freed = CredentialEntry { lock: None, at: Timestamp::now(), ..entry };
        Ok((is_ours.then_some(freed), ()))
    };
    match timeout(FREE, shared.mirror.swap(&place(&name), decide)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::debug!(error = &error as &dyn std::error::Error, "a lock is not freed");
        }
        Err(_) => tracing::debug!("a lock is not freed in time"),
    }
}
