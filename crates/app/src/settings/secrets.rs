//! `secrets.env`: values for `${VAR}` that are neither in the config nor in the environment.
//!
//! One file per user, beside the user's own config, of mode 0600. The environment has precedence. It is never read from
//! the folder of a config that was only found: trust in a config does not extend to another file.

use std::{
    collections::BTreeMap, env::VarError, fs, io::ErrorKind, os::unix::fs::PermissionsExt,
    path::PathBuf,
};

use anyhow::{Context, bail};

use switchboard_runtime::redact;

use super::{find, imported_config::env_file, missing::LookupError, substitute::SECRET};
use crate::{environment, vault};

const FILE_NAME: &str = "secrets.env";

/// The user's secrets, by the names of their variables.
#[derive(Default)]
pub(crate) struct Secrets(BTreeMap<String, String>);

impl Secrets {
    /// Returns the variable from the environment, or else from the file; `secret:NAME` from the vault.
    pub(super) fn variable(&self, name: &str) -> Result<String, LookupError> {
        if let Some(name) = name.strip_prefix(SECRET) {
            return of_vault(name);
        }
        match environment::variable(name) {
            Err(VarError::NotPresent) => self.0.get(name).cloned().ok_or(LookupError::NotPresent),
            found => found.map_err(LookupError::from),
        }
    }
}

/// Returns a secret of the vault, and redacts it in logs and records from now on.
fn of_vault(name: &str) -> Result<String, LookupError> {
    let secret = vault::open().and_then(|vault| Ok(vault.get(vault::SECRETS, name)?));
    match secret {
        Ok(Some(secret)) => {
            redact::remember(secret.expose());
            Ok(secret.expose().to_owned())
        }
        Ok(None) => Err(LookupError::NotPresent),
        Err(error) => Err(LookupError::Vault(format!("{error:#}"))),
    }
}

/// Reads the user's secrets; returns none if there is no file.
///
/// # Errors
/// The file cannot be read, or others may read it.
pub(super) fn load() -> anyhow::Result<Secrets> {
    let Some(file) = path() else { return Ok(Secrets::default()) };
    let shown = file.display();
    let text = match fs::read_to_string(&file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Secrets::default()),
        read => read.with_context(|| format!("failed to read `{shown}`"))?,
    };
    let mode = fs::metadata(&file).map(|there| there.permissions().mode()).unwrap_or(0);
    if mode & 0o077 != 0 {
        bail!(
            "others may read `{shown}` (mode {:03o}); `chmod 600 {shown}` makes it yours alone",
            mode & 0o777
        );
    }
    Ok(Secrets(env_file::variables(&text).into_iter().collect()))
}

/// Returns the path of the user's file, whether or not it exists. `None` if there is no home folder.
fn path() -> Option<PathBuf> {
    find::own_folder().map(|folder| folder.join(FILE_NAME))
}
