//! Where sign-ins are kept: in the vault of this machine, or in what the gateways of a cluster share.

use std::{fmt, sync::Arc};

use switchboard_toolcall::{BoxError, BoxFuture};
use switchboard_vault::{Secret, Vault, VaultLock};
use tokio::{sync::watch, task::spawn_blocking};

use super::error::Error;

/// The kind of sign-ins in the vault.
const KIND: &str = "oauth";

/// What becomes of an operation of a [`CredentialStore`].
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// Keeps sign-ins as texts, by name. Whoever changes one has its [`lock`](Self::lock), so that of all processes that share
/// the store only one at a time uses a refresh token.
pub trait CredentialStore: fmt::Debug + Send + Sync {
    /// Returns the names of all sign-ins.
    fn names(&self) -> StoreFuture<'_, Vec<String>>;

    /// Returns a sign-in; `None` if there is none.
    fn get<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Secret>>;

    /// Waits until nobody else has the lock of this sign-in, and takes it.
    fn lock<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Box<dyn CredentialLock>>;

    /// Returns a number that changes with the sign-in, as far as that is known here without asking anybody; 0 if there is
    /// none, or if the store does not know. Must not block: every request asks.
    fn version(&self, name: &str) -> u64 {
        let _ = name;
        0
    }

    /// Returns what is notified when [`version`](Self::version)s may have changed; `None` if they never do.
    fn changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }
}

/// The lock of one sign-in. It ends when it is dropped; [`release`](Self::release) waits for that.
pub trait CredentialLock: Send + Sync {
    /// Returns the sign-in; `None` if there is none.
    fn get(&self) -> StoreFuture<'_, Option<Secret>>;

    /// Replaces the sign-in.
    fn set(&self, value: Secret) -> StoreFuture<'_, ()>;

    /// Removes the sign-in.
    fn remove(&self) -> StoreFuture<'_, ()>;

    /// Whether nobody else can have taken the lock over before a request that begins now has ended. Asked right before a
    /// refresh token is used.
    fn is_safe(&self) -> bool;

    /// Lets others have the lock.
    fn release(self: Box<Self>) -> BoxFuture<'static, ()>;
}

impl Error {
    /// The store of sign-ins cannot be used, for this reason.
    pub fn store(reason: impl Into<BoxError>) -> Self {
        Self::Store(reason.into())
    }
}

/// The sign-ins of this machine, in the vault. Processes that share it wait for each other.
#[derive(Clone, Debug)]
pub struct VaultCredentials(Vault);

impl VaultCredentials {
    /// Keeps sign-ins in this vault.
    pub fn new(vault: Vault) -> Arc<Self> {
        Arc::new(Self(vault))
    }
}

impl CredentialStore for VaultCredentials {
    fn names(&self) -> StoreFuture<'_, Vec<String>> {
        Box::pin(blocking(&self.0, |vault| vault.names(KIND)))
    }

    fn get<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Secret>> {
        let name = name.to_owned();
        Box::pin(blocking(&self.0, move |vault| vault.get(KIND, &name)))
    }

    fn lock<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Box<dyn CredentialLock>> {
        let own = name.to_owned();
        Box::pin(async move {
            let held = blocking(&self.0, move |vault| vault.lock(&own)).await?;
            let lock = LockedInVault { vault: self.0.clone(), name: name.to_owned(), _held: held };
            Ok(Box::new(lock) as Box<dyn CredentialLock>)
        })
    }
}

/// The lock of a sign-in in the vault, which the system frees if the process dies.
struct LockedInVault {
    vault: Vault,
    name: String,
    _held: VaultLock,
}

impl CredentialLock for LockedInVault {
    fn get(&self) -> StoreFuture<'_, Option<Secret>> {
        let name = self.name.clone();
        Box::pin(blocking(&self.vault, move |vault| vault.get(KIND, &name)))
    }

    fn set(&self, value: Secret) -> StoreFuture<'_, ()> {
        let name = self.name.clone();
        Box::pin(blocking(&self.vault, move |vault| vault.set(KIND, &name, value)))
    }

    fn remove(&self) -> StoreFuture<'_, ()> {
        let name = self.name.clone();
        Box::pin(blocking(&self.vault, move |vault| vault.remove(KIND, &name).map(drop)))
    }

    fn is_safe(&self) -> bool {
        true
    }

    fn release(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Does something with the vault beside the serving threads.
async fn blocking<T: Send + 'static>(
    vault: &Vault,
    work: impl FnOnce(&Vault) -> Result<T, switchboard_vault::Error> + Send + 'static,
) -> Result<T, Error> {
    let vault = vault.clone();
    let done = spawn_blocking(move || work(&vault)).await;
    Ok(done.map_err(|error| Error::store(format!("the vault's task failed: {error}")))??)
}
