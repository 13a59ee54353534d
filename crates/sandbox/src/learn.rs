//! Watches a program and says what it would need in a sandbox (SPEC SB-2).
//!
//! Files and direct connections are seen by `strace`, which has to be installed: watching without root and without unsafe code
//! has no other way. Hosts are seen by the proxy, which lets everything through and knows them by name.

mod profile;
mod trace;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    files::{Places, SecretPaths, find_program},
    policy::FileRule,
    refusals::{Refusals, SandboxRefusal},
};

pub use profile::{LearnedProfile, ProfileOwner};

/// The calls that are watched.
const WATCHED: &str = "trace=?open,openat,openat2,?creat,?mkdir,mkdirat,?rename,?renameat,renameat2,?unlink,unlinkat,?rmdir,\
                       ?link,linkat,?symlink,symlinkat,truncate,execve,connect";

/// A program that is watched.
pub(crate) struct Watch {
    /// Where its calls are written, one file for each process, beginning with this name.
    pub(crate) trace: PathBuf,
    /// The port of the proxy that it is led to.
    pub(crate) proxy_port: u16,
    /// Folders that interpreters list without need: where the program runs, and where its script is.
    pub(crate) own_folders: Vec<PathBuf>,
    /// What it may do anyway.
    pub(crate) usual: Vec<FileRule>,
    pub(crate) places: Places,
    pub(crate) secrets: SecretPaths,
    /// What the proxy saw.
    pub(crate) seen: Arc<Refusals>,
}

impl Watch {
    /// Returns what the program did so far, as the settings of a sandbox.
    pub(crate) fn learned(&self) -> LearnedProfile {
        let hosts = self.seen.after(0).into_iter().filter_map(|seen| match seen {
            SandboxRefusal::Connect(host) => Some(host),
            _ => None,
        });
        let events = self.files().unwrap_or_default().into_iter().flat_map(|file| {
            let text = fs::read(file).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            text.lines().filter_map(trace::event).collect::<Vec<_>>()
        });
        profile::make(self, events.collect(), hosts.collect())
    }

    fn files(&self) -> io::Result<Vec<PathBuf>> {
        let folder = self.trace.parent().unwrap_or(Path::new("/"));
        let name = self.trace.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let entries = fs::read_dir(folder)?.flatten();
        let of_trace =
            entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&name));
        Ok(of_trace.map(|entry| entry.path()).collect())
    }
}

/// What stands before a program that is watched.
///
/// # Errors
/// Says what is missing.
pub(crate) fn watcher(search: &[PathBuf], cwd: &Path, trace: &Path) -> Result<Vec<String>, String> {
    let strace = find_program("strace", search, cwd)
        .ok_or("watching it needs `strace`, which is not installed (`apt install strace`)")?;
    let words = ["-ff", "-qq", "-yy", "-s", "4096", "-e", WATCHED, "-e", "signal=none", "-o"];
    let mut words: Vec<_> = words.map(str::to_owned).into();
    words.insert(0, strace.display().to_string());
    words.push(trace.display().to_string());
    words.push("--".to_owned());
    Ok(words)
}
