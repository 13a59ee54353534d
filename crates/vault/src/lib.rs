//! The vault: secrets and sign-ins of one user, encrypted in one file.
//!
//! The file is of mode 0600 and sealed with a key of its own. The key is in the system's keyring if one answers when the vault
//! is created, else in a file beside the vault. Several processes may use one vault at once: each change reads, changes and
//! replaces the file under a lock, and a process that is killed leaves the old file or the new one.
//!
//! Everything here blocks; async code calls it from `spawn_blocking`.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use switchboard_vault::{KeyPlace, Secret, SystemKeyring, Vault};
//!
//! # let temporary = tempfile::tempdir()?;
//! # let folder = temporary.path().join("vault");
//! // With the address of a D-Bus session, the key would be in the keyring that answers there.
//! let keyring = SystemKeyring::new(None, &folder);
//! let vault = Vault::new(folder, Arc::new(keyring));
//! vault.set("secret", "github", Secret::from("made-up".to_owned()))?;
//! assert_eq!(vault.get("secret", "github")?.unwrap().expose(), "made-up");
//! assert_eq!(vault.key_place()?, Some(KeyPlace::File));
//! # Ok(())
//! # }
//! ```

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
