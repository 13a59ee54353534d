//! A view of the file system in which everything but what the program may write is read-only. Landlock does not see changes of
//! permissions, owners, times and attributes; a read-only mount refuses them all. Nor does it see that a loader, which may be run,
//! maps a written file as code; a mount without execution refuses that.

use std::{
    collections::BTreeMap,
    env, fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    mount::{MsFlags, mount},
};

use crate::policy::{FileAccess, FileRule};

/// How many paths may be written, or run below those, at most: each is a mount.
const MOST: usize = 64;

/// The options of a mount that have to stay.
const OPTIONS: [(&str, MsFlags); 6] = [
    ("nosuid", MsFlags::MS_NOSUID),
    ("nodev", MsFlags::MS_NODEV),
    ("noexec", MsFlags::MS_NOEXEC),
    ("noatime", MsFlags::MS_NOATIME),
    ("nodiratime", MsFlags::MS_NODIRATIME),
    ("relatime", MsFlags::MS_RELATIME),
];

const NONE: Option<&str> = None;

/// How large the folder for temporary files may grow.
const TEMP: &str = "size=1g,mode=700";

/// Makes everything read-only but the paths that the rules let the program write, and the folder for temporary files one that cannot
/// fill a disk. What may be written cannot be executed, unless a rule says so. This process has to be in a mount namespace of its own.
///
/// # Errors
/// Something stays writable, or executable.
pub(super) fn protect(rules: &[FileRule], temp: &Path) -> io::Result<()> {
    let writable = paths_of(rules, FileAccess::Write);
    let is_below = |path: &Path, folders: &[&Path]| {
        path.ancestors().skip(1).any(|folder| folders.contains(&folder))
    };
    let outermost: Vec<_> =
        writable.iter().copied().filter(|path| !is_below(path, &writable)).collect();
    let run = paths_of(rules, FileAccess::Run);
    // What may be run below them: these are mounts of their own, on which execution stays.
    let mut inner = run.clone();
    inner.retain(|path| is_below(path, &outermost) && !is_below(path, &run) && is_code(path));
    let count = outermost.len() + inner.len();
    if count > MOST {
        let problem = format!(
            "{count} paths may be written, or run below these, and {MOST} can be: allow fewer folders"
        );
        return Err(io::Error::other(problem));
    }
    let here = env::current_dir();
    for path in outermost.iter().chain(&inner) {
        mount(Some(*path), *path, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE)?;
    }
    let is_run = |path: &Path| run.iter().any(|folder| path.starts_with(folder));
    let mut plain = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    plain.set(MsFlags::MS_NOEXEC, !is_run(temp));
    mount(Some("tmpfs"), temp, Some("tmpfs"), plain, Some(TEMP))?;
    for (point, options) in mounts(&fs::read_to_string("/proc/self/mountinfo")?) {
        let more = match outermost.iter().any(|path| point.starts_with(path)) {
            true if is_run(&point) => continue,
            true => MsFlags::MS_NOEXEC,
            false => MsFlags::MS_RDONLY,
        };
        let options = options | MsFlags::MS_REMOUNT | MsFlags::MS_BIND | more;
        match mount(NONE, &point, NONE, options, NONE) {
            // It lies below another mount, where nobody reaches it.
            Ok(()) | Err(Errno::EINVAL | Errno::ENOENT | Errno::EACCES | Errno::ENOTDIR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // Where this process was is still below the mounts as they were.
    here.and_then(env::set_current_dir)
}

fn paths_of(rules: &[FileRule], access: FileAccess) -> Vec<&Path> {
    rules.iter().filter(|rule| rule.access == access).map(|rule| rule.path.as_path()).collect()
}

/// Whether a path is a folder, or a file that is a program. A script that an interpreter reads is none, and stays a file that can be
/// replaced, which a mount cannot.
fn is_code(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.is_dir() || it.permissions().mode() & 0o111 != 0)
}

/// The mounts with their options; of several at one point the topmost.
fn mounts(info: &str) -> BTreeMap<PathBuf, MsFlags> {
    let mount = |line: &str| {
        let mut words = line.split(' ').skip(4);
        let (point, options) = (words.next()?, words.next()?);
        let is_set = |name: &str| options.split(',').any(|option| option == name);
        let mut flags = MsFlags::empty();
        for (name, flag) in OPTIONS {
            flags.set(flag, is_set(name));
        }
        if !flags.intersects(MsFlags::MS_NOATIME | MsFlags::MS_RELATIME) {
            flags |= MsFlags::MS_STRICTATIME;
        }
        Some((PathBuf::from(unescaped(point)), flags))
    };
    info.lines().filter_map(mount).collect()
}

/// A path in which white space and backslashes are octal numbers.
fn unescaped(point: &str) -> String {
    let codes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    codes.iter().fold(point.to_owned(), |point, (code, text)| point.replace(code, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    // SB-1
    #[test]
    fn mounts_keep_their_options() {
        let info = "36 35 98:0 / /a\\040b rw,nosuid,relatime master:1 - ext4 /dev/x rw\n37 35 98:0 / / rw - tmpfs x rw\n";
        let expected = [
            (PathBuf::from("/"), MsFlags::MS_STRICTATIME),
            (PathBuf::from("/a b"), MsFlags::MS_NOSUID | MsFlags::MS_RELATIME),
        ];
        assert_eq!(mounts(info), expected.into());
    }
}
