//! The process's environment, read here and nowhere else.

use std::{
    env::{self, VarError},
    path::PathBuf,
};

use switchboard_runtime::private_files;

/// Returns the variable `name`.
#[expect(clippy::disallowed_methods, reason = "this is where app reads its settings")]
pub(crate) fn variable(name: &str) -> Result<String, VarError> {
    env::var(name)
}

/// Whether the variable `name` holds anything.
pub(crate) fn is_set(name: &str) -> bool {
    env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// The path in the variable `name`, unless that is empty.
pub(crate) fn path(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns the state folder, `$XDG_STATE_HOME/switchboard`; a relative path is ignored, as the XDG rules say. If the folder
/// exists, its permissions are tightened.
pub(crate) fn state_home() -> Option<PathBuf> {
    let named = path("XDG_STATE_HOME").filter(|folder| folder.is_absolute());
    let home = || path("HOME").map(|home| home.join(".local/state"));
    let folder = named.or_else(home).map(|folder| folder.join("switchboard"))?;
    private_files::tighten(&folder);
    Some(folder)
}

/// Returns the name of the user who runs this process, or their number.
pub(crate) fn user() -> String {
    let named = ["USER", "LOGNAME"].iter().find_map(|name| variable(name).ok());
    let number = || format!("uid {}", rustix::process::getuid().as_raw());
    named.filter(|name| !name.is_empty()).unwrap_or_else(number)
}
