//! A file tree of a program's own, in which only what its rules name is there: no Unix socket of anybody else can be named in it.
//! Landlock tells Unix sockets apart from version 9 on only, and a read-only mount does not keep a program from connecting to one.

use std::{
    env,
    fs::{self, File},
    io,
    os::{fd::AsRawFd, unix::fs::symlink},
    path::{Path, PathBuf},
};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use rustix::{
    fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2},
    process::pivot_root,
};

use crate::{
    files::sockets_below,
    policy::{BoxPolicy, FileAccess, OwnTree},
};

const NONE: Option<&str> = None;

/// How large the folders of the tree itself may be, without what is mounted in it.
const SIZE: &str = "size=16m,mode=755";

/// How many links stand behind each other at most, as in the system.
const MOST_LINKS: usize = 40;

/// The names of what covers what is not to be seen, while the tree is made.
const COVERS: [&str; 2] = [".empty-file", ".empty-folder"];

/// A tree that is not entered yet.
struct TreeBuilder<'a> {
    root: &'a Path,
    /// What is mounted in it from outside, with all that is below.
    mounted: Vec<&'a Path>,
}

/// Moves this process into a tree of the files that the policy names, with a `/proc` of its own. It has to be the first process of a
/// namespace, with mounts of its own.
///
/// # Errors
/// The system does not allow it.
pub(super) fn enter(policy: &BoxPolicy, tree: &OwnTree) -> Result<(), String> {
    let failed = |error: io::Error| format!("its own file tree cannot be made: {error}");
    let here = env::current_dir().map_err(failed)?;
    let builder = TreeBuilder { root: &policy.temp, mounted: mounted(policy) };
    builder.build(policy, tree, &here).map_err(failed)?;
    let proc = builder.inside(Path::new("/proc"));
    mount_proc(&proc)?;
    builder.cover_proc(policy, &proc).map_err(failed)?;
    builder.finish(&here).map_err(failed)
}

/// Mounts a `/proc` in which only the processes of this namespace are.
///
/// # Errors
/// The system does not allow it.
pub(super) fn mount_proc(point: &Path) -> Result<(), String> {
    let plain = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_RDONLY;
    mount(Some("proc"), point, Some("proc"), plain, NONE).map_err(|error| {
        format!(
            "a /proc of its own cannot be mounted (a container hides parts of its own?): {error}"
        )
    })
}

/// The paths of the rules that are not below each other. A folder that may only be listed has nothing of its own.
fn mounted(policy: &BoxPolicy) -> Vec<&Path> {
    let is_file = |access| !matches!(access, FileAccess::List | FileAccess::Connect);
    let rules = policy.files.iter().filter(|rule| is_file(rule.access));
    let mut paths: Vec<_> = rules.map(|rule| rule.path.as_path()).collect();
    paths.retain(|path| !path.starts_with("/proc") && *path != policy.temp);
    paths.sort();
    // What is below a path comes right after it.
    paths.dedup_by(|path, before| path.starts_with(before));
    paths
}

impl TreeBuilder<'_> {
    fn build(&self, policy: &BoxPolicy, tree: &OwnTree, here: &Path) -> io::Result<()> {
        let (links, sockets) = (self.links(tree), sockets_below(&policy.files, &tree.bound));
        let plain = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some("tmpfs"), self.root, Some("tmpfs"), plain, Some(SIZE))?;
        for path in &self.mounted {
            self.bind(path)?;
        }
        let folders = tree.folders.iter().map(PathBuf::as_path);
        for folder in folders.chain([here, &policy.temp, Path::new("/proc")]) {
            self.make_folder(folder)?;
        }
        for (link, target) in links {
            self.make_link(&link, &target)?;
        }
        // What programs share among their processes counts as their temporary files.
        self.make_link(Path::new("/dev/shm"), &policy.temp)?;
        let [file, folder] = COVERS.map(|name| self.root.join(name));
        File::create(&file)?;
        fs::create_dir(folder)?;
        for socket in sockets {
            let point = self.inside(&socket);
            if point.symlink_metadata().is_ok() {
                self.cover(&point)?;
            }
        }
        Ok(())
    }

    /// Where a path is as long as the tree is not entered.
    fn inside(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    fn is_mounted(&self, path: &Path) -> bool {
        self.mounted.iter().any(|mounted| path.starts_with(mounted))
    }

    /// Mounts a file or folder at its path, unless it is gone. None of its folders may have become a link since it was resolved.
    fn bind(&self, path: &Path) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let Ok(source) = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) else {
            return Ok(());
        };
        let point = self.inside(path);
        match FileType::from_raw_mode(fstat(&source)?.st_mode) {
            FileType::Directory => fs::create_dir_all(&point)?,
            _ => {
                fs::create_dir_all(point.parent().unwrap_or(self.root))?;
                File::create(&point)?;
            }
        }
        let source = format!("/proc/self/fd/{}", source.as_raw_fd());
        let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
        Ok(mount(Some(source.as_str()), &point, NONE, flags, NONE)?)
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        match self.is_mounted(path) {
            true => Ok(()),
            false => fs::create_dir_all(self.inside(path)),
        }
    }

    fn make_link(&self, link: &Path, target: &Path) -> io::Result<()> {
        let point = self.inside(link);
        if self.is_mounted(link) || point.symlink_metadata().is_ok() {
            return Ok(());
        }
        fs::create_dir_all(point.parent().unwrap_or(self.root))?;
        symlink(target, point)
    }

    /// The links beside what is mounted, such as `/bin` and `/etc/localtime`, and those on the way to it.
    fn links(&self, tree: &OwnTree) -> Vec<(PathBuf, PathBuf)> {
        let mut folders: Vec<_> =
            self.mounted.iter().flat_map(|path| path.ancestors().skip(1)).collect();
        folders.sort();
        folders.dedup();
        let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok());
        let paths = entries.flatten().flatten().map(|entry| entry.path());
        let mut links: Vec<_> =
            paths.filter_map(|path| Some((path.clone(), fs::read_link(path).ok()?))).collect();
        for name in &tree.names {
            add_links(name, MOST_LINKS, &mut links);
        }
        links
    }

    /// Leaves of what the kernel says in files of its own only what the rules name; the rest is empty.
    fn cover_proc(&self, policy: &BoxPolicy, proc: &Path) -> io::Result<()> {
        let named = |name: &str| {
            policy.files.iter().any(|rule| rule.path.strip_prefix("/proc") == Ok(Path::new(name)))
        };
        for entry in fs::read_dir(proc)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_process = name.parse::<u32>().is_ok();
            if !is_process && !named(&name) && !entry.file_type()?.is_symlink() {
                self.cover(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Puts something empty before a file or folder.
    fn cover(&self, point: &Path) -> io::Result<()> {
        let name = COVERS[usize::from(point.symlink_metadata()?.is_dir())];
        let empty = self.root.join(name);
        Ok(mount(Some(&empty), point, NONE, MsFlags::MS_BIND, NONE)?)
    }

    /// Makes the tree the root of this process, and lets go of what was the root before.
    fn finish(&self, here: &Path) -> io::Result<()> {
        let [file, folder] = COVERS.map(|name| self.root.join(name));
        fs::remove_file(file)?;
        fs::remove_dir(folder)?;
        env::set_current_dir(self.root)?;
        // The root before lies above the new one then, until it is unmounted.
        pivot_root(".", ".")?;
        umount2(".", MntFlags::MNT_DETACH)?;
        env::set_current_dir(here)
    }
}

/// Adds the links that a path leads through.
fn add_links(path: &Path, most: usize, links: &mut Vec<(PathBuf, PathBuf)>) {
    let Some(most) = most.checked_sub(1) else { return };
    let mut here = PathBuf::new();
    for component in path.components() {
        let next = here.join(component);
        if let Ok(target) = fs::read_link(&next) {
            add_links(&here.join(&target), most, links);
            links.push((next.clone(), target));
        }
        match next.canonicalize() {
            Ok(real) => here = real,
            Err(_) => return,
        }
    }
}
