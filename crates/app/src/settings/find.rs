//! Which config file is used.

use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::environment;

/// Returns the file that `--config` names, else the first of the usual places that has one.
///
/// # Errors
/// A file that was named is not there.
pub(super) fn config_file(flag: Option<&Path>) -> anyhow::Result<Option<PathBuf>> {
    if let Some(file) = flag {
        if !file.exists() {
            bail!("there is no config file `{}`, which --config names", file.display());
        }
        return Ok(Some(file.to_owned()));
    }
    if let Some(file) = environment::path("SWITCHBOARD_CONFIG") {
        if !file.exists() {
            let file = file.display();
            bail!("there is no config file `{file}`, which $SWITCHBOARD_CONFIG names");
        }
        return Ok(Some(file));
    }
    let here = Some(PathBuf::from("switchboard.toml"));
    let home = config_home().map(|folder| folder.join("switchboard/switchboard.toml"));
    Ok([here, home].into_iter().flatten().find(|file| file.exists()))
}

fn config_home() -> Option<PathBuf> {
    // The XDG rules say to ignore a path that is not absolute.
    let named = environment::path("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute());
    named.or_else(|| environment::path("HOME").map(|home| home.join(".config")))
}
