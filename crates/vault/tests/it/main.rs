//! The vault from outside: files, permissions, damage, rotation, and several processes at once.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]
#![expect(clippy::disallowed_methods, reason = "processes live in real time")]

mod fake_keyring;
mod files;
mod processes;

use std::{path::Path, sync::Arc};

use fake_keyring::FakeKeyring;
use switchboard_vault::Vault;

/// A vault without a keyring.
fn vault(folder: &Path) -> Vault {
    Vault::new(folder.to_owned(), Arc::new(FakeKeyring::absent()))
}
