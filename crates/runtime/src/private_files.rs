//! Files and folders that only their owner may use: everything in the state folder (SPEC RC-3).
//!
//! They are created as 0600 and 0700 regardless of the umask. If one exists with wider permissions, they are tightened
//! on its next use.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

use tracing::warn;

/// The permissions of a file.
const FILE: u32 = 0o600;
/// The permissions of a folder.
const FOLDER: u32 = 0o700;
/// The permissions of everybody but the owner.
const OTHERS: u32 = 0o077;
/// The sticky bit. A folder that has it is shared on purpose, as `/tmp` is.
const STICKY: u32 = 0o1000;

/// Creates a folder and its missing parents, and removes the permissions of others.
///
/// # Errors
/// The folder cannot be created, or something else has its name.
pub fn create_dir(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(folder)?;
    tighten(folder);
    Ok(())
}

/// Removes the permissions of others. Leaves the path as it is if it is missing, shared on purpose (sticky), or belongs
/// to another user, which is logged.
pub fn tighten(path: &Path) {
    let Ok(metadata) = fs::metadata(path) else { return };
    let mode = metadata.mode() & 0o7777;
    if mode & OTHERS == 0 || mode & STICKY != 0 {
        return;
    }
    let narrow = if metadata.is_dir() { FOLDER } else { FILE };
    if let Err(cause) = fs::set_permissions(path, Permissions::from_mode(narrow)) {
        warn!(%cause, "others may use `{}` (mode {mode:04o}), and that cannot be changed", path.display());
    }
}

/// Opens a file, created as 0600, and removes the permissions of others from an existing one.
///
/// # Errors
/// The file cannot be opened.
pub fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.mode(FILE).open(path)?;
    if file.metadata()?.mode() & OTHERS != 0
        && let Err(cause) = file.set_permissions(Permissions::from_mode(FILE))
    {
        warn!(%cause, "others may use `{}`, and that cannot be changed", path.display());
    }
    Ok(file)
}

/// Creates or truncates a file, and opens it for writing.
///
/// # Errors
/// The file cannot be opened.
pub fn create(path: &Path) -> io::Result<File> {
    open(File::options().write(true).create(true).truncate(true), path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    // RC-3
    #[test]
    fn what_is_there_is_tightened_and_what_is_shared_stays() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("deep/state");
        create_dir(&folder).unwrap();
        assert_eq!((mode(&folder), mode(folder.parent().unwrap())), (0o700, 0o700));
        set(&folder, 0o755);
        create_dir(&folder).unwrap();
        assert_eq!(mode(&folder), 0o700);
        set(&folder, 0o1777);
        create_dir(&folder).unwrap();
        assert_eq!(mode(&folder), 0o1777);
        tighten(&place.path().join("missing"));

        let file = folder.join("lock");
        fs::write(&file, "kept").unwrap();
        set(&file, 0o644);
        open(File::options().read(true), &file).unwrap();
        assert_eq!((mode(&file), fs::read_to_string(&file).unwrap().as_str()), (0o600, "kept"));
        create(&file).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "");
    }

    // RC-3: a link to a folder stands for that folder; a file in the place of a folder is an error.
    #[test]
    fn a_link_is_followed_and_a_file_is_no_folder() {
        let place = tempfile::tempdir().unwrap();
        let (target, link) = (place.path().join("target"), place.path().join("link"));
        fs::create_dir(&target).unwrap();
        set(&target, 0o755);
        std::os::unix::fs::symlink(&target, &link).unwrap();
        create_dir(&link).unwrap();
        assert_eq!(mode(&target), 0o700);
        let file = place.path().join("file");
        create(&file).unwrap();
        assert_eq!(create_dir(&file).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }
}
