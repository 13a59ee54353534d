//! This user's vault, in the state folder.

use std::sync::Arc;

use anyhow::Context;
use switchboard_vault::{SystemKeyring, Vault};

use crate::environment;

/// The kind of entry that `switchboard secret` stores.
pub(crate) const SECRETS: &str = "secret";

/// Returns the vault; nothing is read or created yet.
///
/// # Errors
/// There is no folder for it.
pub(crate) fn open() -> anyhow::Result<Vault> {
    let folder = environment::state_home()
        .context("there is no folder for the vault: neither XDG_STATE_HOME nor HOME is set")?
        .join("vault");
    let bus = environment::variable("DBUS_SESSION_BUS_ADDRESS").ok().filter(|bus| !bus.is_empty());
    let keyring = SystemKeyring::new(bus, &folder);
    Ok(Vault::new(folder, Arc::new(keyring)))
}
