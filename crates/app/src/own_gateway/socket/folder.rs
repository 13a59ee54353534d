//! The folder of the sockets: `switchboard` in `$XDG_RUNTIME_DIR`, or in `/run/user/UID`; without either, `run` in the
//! state folder.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::environment;

/// Returns the folder, which need not exist yet; `None` if there is no place for one.
pub(super) fn find() -> Option<PathBuf> {
    let named = environment::path("XDG_RUNTIME_DIR");
    // Sessions set the variable; with `su` or `cron` it is missing, or another user's.
    let usual = || PathBuf::from(format!("/run/user/{}", own_user()));
    let state = || environment::state_home().map(|folder| folder.join("run"));
    choose(named, usual, state, own_user())
}

fn choose(
    named: Option<PathBuf>,
    usual: impl FnOnce() -> PathBuf,
    state: impl FnOnce() -> Option<PathBuf>,
    user: u32,
) -> Option<PathBuf> {
    // The XDG rules say to ignore a path that is not absolute.
    let named = named.filter(|folder| folder.is_absolute() && is_of(folder, user));
    let runtime = named.or_else(|| Some(usual()).filter(|folder| is_of(folder, user)));
    runtime.map(|folder| folder.join("switchboard")).or_else(state)
}

fn is_of(folder: &Path, user: u32) -> bool {
    fs::metadata(folder).is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == user)
}

/// Checks that nobody but `user` can put a socket into the folder, or reach one in it.
///
/// # Errors
/// Somebody else can, or it is a link, or it is not a folder.
pub(super) fn check(folder: &Path, user: u32) -> Result<(), String> {
    let shown = folder.display();
    let metadata = fs::symlink_metadata(folder).map_err(|error| format!("`{shown}`: {error}"))?;
    let (owner, mode) = (metadata.uid(), metadata.mode() & 0o777);
    if metadata.is_symlink() {
        return Err(format!("`{shown}` is a symbolic link; it must be a folder"));
    }
    if !metadata.is_dir() {
        return Err(format!("`{shown}` is not a folder"));
    }
    if owner != user {
        return Err(format!(
            "the folder `{shown}` belongs to user {owner}, and this is user {user}"
        ));
    }
    if mode & 0o077 != 0 {
        return Err(format!(
            "the folder `{shown}` is open to others (mode {mode:o}); it must be 700"
        ));
    }
    Ok(())
}

pub(super) fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn the_folder_is_where_this_user_has_one() {
        let (named, usual) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let state = || Some(PathBuf::from("/state/run"));
        let check = |runtime: Option<&Path>, user| {
            let usual = || usual.path().to_owned();
            choose(runtime.map(Path::to_owned), usual, state, user).unwrap()
        };
        let of_usual = usual.path().join("switchboard");
        assert_eq!(check(Some(named.path()), own_user()), named.path().join("switchboard"));
        assert_eq!(check(None, own_user()), of_usual);
        assert_eq!(check(Some(Path::new("run")), own_user()), of_usual);
        assert_eq!(check(Some(Path::new("/nowhere/at/all")), own_user()), of_usual);
        // Both belong to somebody else.
        assert_eq!(check(Some(named.path()), own_user() + 1), PathBuf::from("/state/run"));
    }

    // GW-2
    #[test]
    fn a_folder_that_others_can_use_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        fs::set_permissions(path, Permissions::from_mode(0o700)).unwrap();
        let refused = |path: &Path, user| check(path, user).unwrap_err();
        assert_eq!(check(path, own_user()), Ok(()));
        let other = refused(path, own_user() + 1);
        assert!(other.contains(&format!("belongs to user {}", own_user())), "{other}");
        fs::set_permissions(path, Permissions::from_mode(0o750)).unwrap();
        assert!(refused(path, own_user()).contains("is open to others (mode 750)"));
        let (link, file) = (path.join("link"), path.join("file"));
        std::os::unix::fs::symlink(path, &link).unwrap();
        fs::write(&file, "").unwrap();
        assert!(refused(&link, own_user()).contains("is a symbolic link"));
        assert!(refused(&file, own_user()).contains("is not a folder"));
        assert!(refused(&path.join("none"), own_user()).contains("No such file"));
    }
}
