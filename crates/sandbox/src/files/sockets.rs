//! Unix sockets below what a program may use: what it can name, it can connect to.

use std::{fs, path::PathBuf};

#[cfg(target_os = "linux")]
pub(crate) use below::sockets_below;

/// The sockets that the kernel knows, in the network of this process.
const BOUND: &str = "/proc/net/unix";

/// Returns where processes in the network of this one have made sockets.
pub(crate) fn bound_sockets() -> Vec<PathBuf> {
    bound(&fs::read_to_string(BOUND).unwrap_or_default())
}

/// The paths in the kernel's list, each at the end of its line; names that are no absolute paths are left out.
fn bound(list: &str) -> Vec<PathBuf> {
    let path = |line: &str| line.find(" /").map(|at| PathBuf::from(&line[at + 1..]));
    list.lines().filter_map(path).collect()
}

#[cfg(target_os = "linux")]
mod below {
    use std::{
        collections::BTreeSet,
        fs,
        os::unix::fs::FileTypeExt,
        path::{Path, PathBuf},
    };

    use crate::{
        files::system,
        policy::{FileAccess, FileRule},
    };

    /// Returns the sockets below the paths of these rules. The folders of the system's programs, which are large, are not searched: there
    /// only those count that are among `bound`.
    pub(crate) fn sockets_below(rules: &[FileRule], bound: &[PathBuf]) -> Vec<PathBuf> {
        let is_file = |rule: &&FileRule| {
            let of_kernel = ["/proc", "/sys", "/dev"].iter().any(|it| rule.path.starts_with(it));
            !of_kernel && rule.access != FileAccess::List
        };
        let paths: Vec<_> = rules.iter().filter(is_file).map(|rule| rule.path.as_path()).collect();
        let mut found: BTreeSet<_> = bound.iter().filter_map(|it| it.canonicalize().ok()).collect();
        found.retain(|socket| paths.iter().any(|path| socket.starts_with(path)));
        for path in paths.into_iter().filter(|path| !system::has_program(path)) {
            search(path, &mut found);
        }
        found.into_iter().collect()
    }

    /// Adds the sockets at a path and below it. Links lead to what has its own rule, if it is allowed.
    fn search(path: &Path, found: &mut BTreeSet<PathBuf>) {
        let mut left = vec![path.to_owned()];
        while let Some(path) = left.pop() {
            let Ok(kind) = path.symlink_metadata().map(|it| it.file_type()) else { continue };
            if kind.is_socket() {
                found.insert(path);
            } else if kind.is_dir() {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                let kept = entries.filter(|entry| {
                    entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_socket())
                });
                left.extend(kept.map(|entry| entry.path()));
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::{fs::symlink, net::UnixListener};

    use super::*;
    use crate::policy::{FileAccess, FileRule};

    // SB-1
    #[test]
    fn sockets_are_found_below_what_is_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for name in ["read/deep", "closed"] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        let places = ["read/one", "read/deep/two", "closed/three", "four"];
        let _sockets = places.map(|name| UnixListener::bind(base.join(name)).unwrap());
        // One that nobody listens at any more, and ways to others.
        drop(UnixListener::bind(base.join("read/left")).unwrap());
        symlink(base.join("closed"), base.join("read/link")).unwrap();
        fs::write(base.join("read/file"), "").unwrap();
        let rule = |path: PathBuf, access| FileRule { path, access };
        let rules = [
            rule(base.join("read"), FileAccess::Read),
            rule(base.join("four"), FileAccess::Write),
            rule(base.clone(), FileAccess::List),
        ];
        let expected =
            ["four", "read/deep/two", "read/left", "read/one"].map(|name| base.join(name));
        assert_eq!(sockets_below(&rules, &[]), expected);
        // Where nothing is searched, the kernel's list counts; it has other sockets too.
        let known = [base.join("closed/three"), base.join("read/one"), "/nowhere".into()];
        let system = [rule("/usr".into(), FileAccess::Run)];
        assert_eq!(sockets_below(&system, &known), Vec::<PathBuf>::new());
        assert_eq!(sockets_below(&rules, &known), expected);
    }

    // SB-1
    #[test]
    fn the_kernel_knows_sockets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _socket = UnixListener::bind(&path).unwrap();
        assert!(bound_sockets().contains(&path));
    }

    // SB-1
    #[test]
    fn the_kernels_list_is_read() {
        let list = "Num       RefCount Protocol Flags    Type St Inode Path\n\
                    0000000000000000: 00000002 00000000 00010000 0001 01 17 /run/a b\n\
                    0000000000000000: 00000003 00000000 00000000 0001 03 18\n\
                    0000000000000000: 00000002 00000000 00010000 0001 01 19 @/tmp/abstract\n";
        assert_eq!(bound(list), [PathBuf::from("/run/a b")]);
    }
}
