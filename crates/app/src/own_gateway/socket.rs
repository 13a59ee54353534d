//! Where the socket of a gateway is: `$XDG_RUNTIME_DIR/switchboard/`, named by the config, for its user alone.

use std::{
    fs::{self, DirBuilder, File, Permissions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};
use tokio::net::UnixListener;

use crate::{environment, settings::Loaded};

/// The socket of a gateway that runs; removed when this is dropped.
pub(crate) struct OwnSocket {
    path: PathBuf,
    /// Held while the gateway runs, and released even if it is killed.
    _lock: File,
}

/// What came of listening on the socket.
pub(crate) enum Bound {
    /// There is a socket now.
    Here(UnixListener, OwnSocket),
    /// Another gateway has it.
    Taken(PathBuf),
    /// There is no folder for it: `XDG_RUNTIME_DIR` is not set.
    Nowhere,
}

/// Returns the socket of the gateway that serves this config; `None` if no gateway has made one.
///
/// # Errors
/// The folder, or the socket, is not safe to use.
pub(crate) fn find(loaded: &Loaded) -> Result<Option<PathBuf>, String> {
    let Some(folder) = folder() else { return Ok(None) };
    if !folder.exists() {
        return Ok(None);
    }
    check(&folder)?;
    let socket = folder.join(name(loaded)).with_extension("sock");
    let Ok(metadata) = fs::symlink_metadata(&socket) else { return Ok(None) };
    match metadata.file_type().is_socket() && metadata.uid() == own_user() {
        true => Ok(Some(socket)),
        false => Err(format!("`{}` is not a socket of this user", socket.display())),
    }
}

/// Listens on the socket of this config. One that a killed gateway left is replaced.
///
/// # Errors
/// The folder cannot be created or is not safe to use, or the socket cannot be created.
pub(crate) fn bind(loaded: &Loaded) -> Result<Bound, String> {
    let Some(folder) = folder() else { return Ok(Bound::Nowhere) };
    let failed = |what: &Path, error: io::Error| format!("`{}`: {error}", what.display());
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(failed(&folder, error));
        }
        _ => check(&folder)?,
    }
    let path = folder.join(name(loaded)).with_extension("sock");
    let lock = path.with_extension("lock");
    let options = || File::options().write(true).create(true).truncate(false).open(&lock);
    let held = options().map_err(|error| failed(&lock, error))?;
    match held.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Bound::Taken(path)),
        Err(TryLockError::Error(error)) => return Err(failed(&lock, error)),
    }
    // The process that had the lock has ended, so nobody listens on the socket that it left.
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&path, error)),
        _ => {}
    }
    let listener = UnixListener::bind(&path).map_err(|error| failed(&path, error))?;
    let socket = OwnSocket { path: path.clone(), _lock: held };
    fs::set_permissions(&path, Permissions::from_mode(0o600))
        .map_err(|error| failed(&path, error))?;
    Ok(Bound::Here(listener, socket))
}

/// The sockets of all gateways of this user.
pub(crate) fn all() -> Vec<PathBuf> {
    let Some(folder) = folder().filter(|folder| check(folder).is_ok()) else { return Vec::new() };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_socket = |path: &PathBuf| path.extension().is_some_and(|end| end == "sock");
    entries.map(|entry| entry.path()).filter(is_socket).collect()
}

impl Drop for OwnSocket {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.path);
    }
}

/// The XDG rules say to ignore a path that is not absolute.
fn folder() -> Option<PathBuf> {
    let runtime = environment::path("XDG_RUNTIME_DIR").filter(|folder| folder.is_absolute());
    runtime.map(|folder| folder.join("switchboard"))
}

/// Checks that nobody else can put a socket into the folder, or reach one in it.
fn check(folder: &Path) -> Result<(), String> {
    let shown = folder.display();
    let metadata = fs::symlink_metadata(folder).map_err(|error| format!("`{shown}`: {error}"))?;
    let (user, mode) = (metadata.uid(), metadata.mode() & 0o777);
    if !metadata.is_dir() {
        return Err(format!("`{shown}` is not a folder"));
    }
    if user != own_user() {
        return Err(format!("the folder `{shown}` belongs to user {user}"));
    }
    if mode & 0o077 != 0 {
        return Err(format!(
            "the folder `{shown}` is open to others (mode {mode:o}); it must be 700"
        ));
    }
    Ok(())
}

/// The same config has the same name, wherever it is named from.
fn name(loaded: &Loaded) -> String {
    let Some(file) = &loaded.file else { return "no-config".to_owned() };
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.clone());
    let hash = Sha256::digest(file.as_os_str().as_encoded_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}
