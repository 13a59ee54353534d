//! Where the socket of a gateway is: a folder of this user alone, in which sockets are named by the config.
//!
//! A gateway holds the lock beside its socket while it runs; the system releases it even if the gateway is killed. The
//! lock's file says which process holds it.

mod folder;

use std::{
    fs::{self, File, Permissions, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use switchboard_runtime::private_files;
use tokio::net::UnixListener;

use crate::settings::LoadedConfig;
use folder::own_user;

/// A gateway of this user that runs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct RunningGateway {
    pub(crate) pid: u32,
    /// The address on which the gateway listens, with its scheme.
    pub(crate) address: String,
}

/// The result of trying to become the gateway of a config.
pub(crate) enum SocketClaim {
    /// This process is, until this is dropped.
    Ours(SocketLock),
    /// Another process is; `None` if it does not listen yet.
    Taken(Option<RunningGateway>),
}

/// The right to be the gateway of a config.
pub(crate) struct SocketLock {
    socket: PathBuf,
    /// Locked while this is open.
    file: File,
}

/// The socket of a gateway that runs; removed when this is dropped.
pub(crate) struct OwnSocket(SocketLock);

/// Returns the socket of the gateway that serves this config; `None` if no gateway has made one.
///
/// # Errors
/// The folder, or the socket, is not safe to use.
pub(crate) fn find(loaded: &LoadedConfig) -> Result<Option<PathBuf>, String> {
    let Some(folder) = folder::find().filter(|folder| fs::symlink_metadata(folder).is_ok()) else {
        return Ok(None);
    };
    folder::check(&folder, own_user())?;
    let socket = folder.join(name(loaded)).with_extension("sock");
    let Ok(metadata) = fs::symlink_metadata(&socket) else { return Ok(None) };
    match metadata.file_type().is_socket() && metadata.uid() == own_user() {
        true => Ok(Some(socket)),
        false => Err(format!("`{}` is not a socket of this user", socket.display())),
    }
}

/// Tries to become the gateway of this config.
///
/// # Errors
/// There is no folder for the socket, or it is not safe to use.
pub(crate) fn claim(loaded: &LoadedConfig) -> Result<SocketClaim, String> {
    let folder = folder::find().ok_or("set XDG_RUNTIME_DIR, XDG_STATE_HOME or HOME")?;
    // Only if nothing is there: a link to a folder must not be tightened, because it is not used.
    if fs::symlink_metadata(&folder).is_err() {
        private_files::create_dir(&folder).map_err(|error| failed(&folder, error))?;
    }
    folder::check(&folder, own_user())?;
    let socket = folder.join(name(loaded)).with_extension("sock");
    let path = socket.with_extension("lock");
    let mut file = open_lock(&path).map_err(|error| failed(&path, error))?;
    match file.try_lock() {
        Ok(()) => {
            // The old content was written by a gateway that has ended.
            file.set_len(0).map_err(|error| failed(&path, error))?;
            Ok(SocketClaim::Ours(SocketLock { socket, file }))
        }
        Err(TryLockError::WouldBlock) => Ok(SocketClaim::Taken(read_holder(&mut file))),
        Err(TryLockError::Error(error)) => Err(failed(&path, error)),
    }
}

/// All gateways of this user that run and listen.
pub(crate) fn running() -> Vec<RunningGateway> {
    let folder = folder::find().filter(|folder| folder::check(folder, own_user()).is_ok());
    let entries = folder.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten();
    let locks = entries.flatten().map(|entry| entry.path());
    let locks = locks.filter(|path| path.extension().is_some_and(|end| end == "lock"));
    let holder = |path: PathBuf| {
        let mut file = open_lock(&path).ok()?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => read_holder(&mut file),
            // No process holds it.
            _ => None,
        }
    };
    locks.filter_map(holder).collect()
}

impl SocketLock {
    /// Writes who holds the lock, and listens on the socket. Replaces a socket that a killed gateway left.
    ///
    /// # Errors
    /// The socket cannot be created.
    pub(crate) fn listen(
        mut self,
        running: &RunningGateway,
    ) -> Result<(UnixListener, OwnSocket), String> {
        let text = serde_json::to_string(running).unwrap_or_default();
        let written = self.file.rewind().and_then(|()| self.file.write_all(text.as_bytes()));
        let path = self.socket.clone();
        written.map_err(|error| failed(&path.with_extension("lock"), error))?;
        // The process that had the lock has ended, so nobody listens on the socket that it left.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed(&path, error));
            }
            _ => {}
        }
        let listener = UnixListener::bind(&path).map_err(|error| failed(&path, error))?;
        let socket = OwnSocket(self);
        fs::set_permissions(&path, Permissions::from_mode(0o600))
            .map_err(|error| failed(&path, error))?;
        Ok((listener, socket))
    }
}

impl Drop for OwnSocket {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0.socket);
    }
}

/// Checks that the process that listens on a socket is one of this user.
///
/// # Errors
/// The process at the other end is another user's, or its user cannot be determined.
pub(crate) fn check_peer(user: io::Result<u32>) -> io::Result<()> {
    match user? {
        user if user == own_user() => Ok(()),
        other => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("user {other} listens on the socket"),
        )),
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false).custom_flags(flags);
    private_files::open(&mut options, path)
}

/// Returns `None` if the holder has not written who it is yet.
fn read_holder(file: &mut File) -> Option<RunningGateway> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn failed(what: &Path, error: io::Error) -> String {
    format!("`{}`: {error}", what.display())
}

/// Returns the socket's name, which is the same for a config however its path is written.
fn name(loaded: &LoadedConfig) -> String {
    let Some(file) = &loaded.file else { return "no-config".to_owned() };
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.clone());
    let hash = Sha256::digest(file.as_os_str().as_encoded_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // GW-2
    #[test]
    fn only_a_process_of_this_user_is_talked_to() {
        assert!(check_peer(Ok(own_user())).is_ok());
        let other = check_peer(Ok(own_user() + 1)).unwrap_err().to_string();
        assert_eq!(other, format!("user {} listens on the socket", own_user() + 1));
        assert!(check_peer(Err(io::ErrorKind::NotConnected.into())).is_err());
    }

    #[test]
    fn a_lock_that_is_a_link_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let (target, lock) = (folder.path().join("target"), folder.path().join("x.lock"));
        fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, &lock).unwrap();
        assert!(open_lock(&lock).is_err());
        assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
    }
}
