//! The vault's files: private, replaced as a whole, locked against other processes.

use std::{
    fs::{self, DirBuilder, File, Permissions},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use zeroize::Zeroizing;

/// No vault is larger.
const MAX_BYTES: u64 = 64 << 20;

/// Holds a lock that other processes respect, until it is dropped.
#[derive(Debug)]
pub struct VaultLock {
    _file: File,
}

/// Waits for the lock on the file at `path`, which is created if it is missing.
pub(super) fn lock(path: &Path) -> io::Result<VaultLock> {
    let file = File::options().create(true).append(true).mode(0o600).open(path)?;
    file.lock()?;
    Ok(VaultLock { _file: file })
}

/// Creates a folder that only its owner may use.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    if fs::metadata(folder)?.mode() & 0o077 != 0 {
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Reads a file whole; returns `None` if there is none.
///
/// # Errors
/// It cannot be read, is too large, or others may use it (`PermissionDenied`, with what to do).
pub(super) fn read(path: &Path) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let metadata = file.metadata()?;
    let mode = metadata.mode() & 0o777;
    if mode & 0o077 != 0 {
        let shown = path.display();
        let text = format!(
            "others may use it (mode {mode:03o}); `chmod 600 {shown}` makes it yours alone"
        );
        return Err(io::Error::new(ErrorKind::PermissionDenied, text));
    }
    if metadata.len() > MAX_BYTES {
        return Err(io::Error::new(ErrorKind::FileTooLarge, "it is too large"));
    }
    let length = usize::try_from(metadata.len()).unwrap_or_default();
    let mut bytes = Zeroizing::new(Vec::with_capacity(length + 1));
    (&mut file).take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Replaces a file as a whole: whoever reads it, or is killed meanwhile, finds the old one or the new one. Only one
/// process at a time may write, which the lock sees to.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = with_ending(path, "new");
    // What a killed process left may have been opened by somebody else.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    path.with_file_name(name)
}
