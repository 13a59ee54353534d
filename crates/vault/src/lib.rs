//! The vault: secrets and sign-ins of one user, encrypted in one file.
//!
//! The file is of mode 0600 and sealed with a key of its own. The key is in the system's keyring if one answers when the vault
//! is created, else in a file beside the vault. Several processes may use one vault at once: each change reads, changes and
//! replaces the file under a lock, and a process that is killed leaves the old file or the new one.
//!
//! Everything here blocks; async code calls it from `spawn_blocking`.

mod secret;
mod vault;
mod contents;
mod sealed;
mod key;
mod keyring;
mod files;

pub use files::VaultLock;
pub use key::KeyPlace;
pub use keyring::{Keyring, KeyringError, SystemKeyring};
pub use secret::Secret;
pub use vault::{Error, Vault};
