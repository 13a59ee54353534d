//! Finds the config file that is used, and whether it was named or only found.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::bail;

use crate::environment;

/// The name of a config that is found without being named.
pub(crate) const FILE_NAME: &str = "switchboard.toml";

/// The config file that is used.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    /// Whether it was only found in the current folder. False if a flag, a variable or the user's own settings name it.
    pub(super) is_found: bool,
}

/// Returns the file that `--config` names, else the first of the usual places that has one.
///
/// # Errors
/// The file that was named does not exist.
pub(super) fn config_file(flag: Option<&Path>) -> anyhow::Result<Option<ConfigFile>> {
    let named = |path: PathBuf| Ok(Some(ConfigFile { path, is_found: false }));
    if let Some(file) = flag {
        if !file.exists() {
            bail!("there is no config file `{}`, which --config names", file.display());
        }
        return named(file.to_owned());
    }
    if let Some(file) = environment::path("SWITCHBOARD_CONFIG") {
        if !file.exists() {
            let file = file.display();
            bail!("there is no config file `{file}`, which $SWITCHBOARD_CONFIG names");
        }
        return named(file);
    }
    let here = PathBuf::from(FILE_NAME);
    let own = own_config().filter(|file| file.exists());
    if !here.exists() {
        return Ok(own.map(|path| ConfigFile { path, is_found: false }));
    }
    // If the current folder holds the user's own config, that config needs no trust.
    let is_own = own.is_some_and(|own| is_same(&here, &own));
    Ok(Some(ConfigFile { path: here, is_found: !is_own }))
}

/// Whether both are the same file of the same folder. A link to the user's own config counts as another file: its
/// programs may be looked for in the current folder.
fn is_same(one: &Path, other: &Path) -> bool {
    let folder = |file: &Path| match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => fs::canonicalize(folder).ok(),
        _ => fs::canonicalize(".").ok(),
    };
    folder(one).is_some_and(|one| folder(other) == Some(one))
        && one.file_name() == other.file_name()
}

/// The user's own config, whether it is there or not.
pub(crate) fn own_config() -> Option<PathBuf> {
    own_folder().map(|folder| folder.join(FILE_NAME))
}

/// The folder of the user's own config.
pub(super) fn own_folder() -> Option<PathBuf> {
    config_home().map(|folder| folder.join("switchboard"))
}

fn config_home() -> Option<PathBuf> {
    // The XDG rules say to ignore a path that is not absolute.
    let named = environment::path("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute());
    named.or_else(|| environment::path("HOME").map(|home| home.join(".config")))
}
