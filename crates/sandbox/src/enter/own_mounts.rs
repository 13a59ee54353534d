//! A view of the file system in which everything but what the program may write is read-only. Landlock does not see changes of
//! permissions, owners, times and attributes; a read-only mount refuses them all.

use std::{
    collections::BTreeMap,
    env, fs, io,
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    mount::{MsFlags, mount},
};

/// How many paths may be written at most: each is a mount.
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

/// Makes everything read-only but these paths, and the folder for temporary files one that cannot fill a disk. This process has
/// to be in a mount namespace of its own.
///
/// # Errors
/// Something stays writable.
pub(super) fn protect(writable: &[&Path], temp: &Path) -> io::Result<()> {
    let is_below_other =
        |path: &Path| path.ancestors().skip(1).any(|folder| writable.contains(&folder));
    let outermost: Vec<_> = writable.iter().filter(|path| !is_below_other(path)).collect();
    if outermost.len() > MOST {
        let count = outermost.len();
        let problem =
            format!("{count} paths may be written, and {MOST} can be: allow fewer folders");
        return Err(io::Error::other(problem));
    }
    let here = env::current_dir();
    for path in &outermost {
        mount(Some(**path), **path, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE)?;
    }
    let plain = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), temp, Some("tmpfs"), plain, Some(TEMP))?;
    for (point, options) in mounts(&fs::read_to_string("/proc/self/mountinfo")?) {
        if outermost.iter().any(|path| point.starts_with(path)) {
            continue;
        }
        let options = options | MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
        match mount(NONE, &point, NONE, options, NONE) {
            // It lies below another mount, where nobody reaches it.
            Ok(()) | Err(Errno::EINVAL | Errno::ENOENT | Errno::EACCES | Errno::ENOTDIR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // Where this process was is still below the mounts as they were.
    here.and_then(env::set_current_dir)
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
