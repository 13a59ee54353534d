//! The system's keyring, which holds the vault's key.
//!
//! Never opens a dialog and never waits long: a server process has nobody to ask.

#[cfg(target_os = "macos")]
#[path = "keyring/keychain.rs"]
mod system;
#[cfg(not(target_os = "macos"))]
#[path = "keyring/secret_service.rs"]
mod system;

use std::{fmt::Debug, path::Path};

use super::secret::Secret;

/// Something that holds a secret for this user, such as the Secret Service or the Keychain.
pub trait Keyring: Debug + Send + Sync {
    /// Returns the secret; `None` if there is none.
    ///
    /// # Errors
    /// The keyring does not answer, or is locked.
    fn get(&self) -> Result<Option<Secret>, KeyringError>;

    /// Stores the secret, in place of one that is there.
    ///
    /// # Errors
    /// The keyring does not answer, or is locked.
    fn set(&self, secret: &Secret) -> Result<(), KeyringError>;

    /// Removes the secret, if there is one.
    ///
    /// # Errors
    /// The keyring does not answer, or is locked.
    fn remove(&self) -> Result<(), KeyringError>;
}

/// Why a keyring is of no use now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyringError {
    /// This session has no keyring.
    #[error("no keyring answers: {0}")]
    Absent(String),
    /// A person has to unlock it first.
    #[error("the keyring is locked")]
    Locked,
}

/// The keyring of the session that this process belongs to.
#[derive(Debug)]
pub struct SystemKeyring {
    /// The D-Bus session's address; without one, no keyring is looked for.
    #[cfg_attr(target_os = "macos", expect(dead_code, reason = "the Keychain needs no bus"))]
    bus: Option<String>,
    /// Tells apart the vaults of one user.
    vault: String,
}

impl SystemKeyring {
    /// The keyring behind this D-Bus address (`DBUS_SESSION_BUS_ADDRESS`), for the vault in `folder`.
    pub fn new(bus: Option<String>, folder: &Path) -> Self {
        Self { bus, vault: folder.display().to_string() }
    }
}
