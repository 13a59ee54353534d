//! Watches a program and says what it would need in a sandbox (SPEC SB-2).
//!
//! Files and direct connections are seen by `strace`, which has to be installed: watching without root and without unsafe code
//! has no other way. Hosts are seen by the proxy, which lets everything through and knows them by name.

mod learned_settings;
mod trace;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::PoisonError,
};

use crate::{
    files::{SandboxPlaces, SecretPaths, find_program},
    policy::FileRule,
    proxy::SeenHosts,
};

pub use learned_settings::{LearnedProfile, ProfileOwner};

/// The system calls that `strace` reports.
const WATCHED: &str = "trace=?open,openat,openat2,?creat,?mkdir,mkdirat,?rename,?renameat,renameat2,?unlink,unlinkat,?rmdir,\
                       ?link,linkat,?symlink,symlinkat,truncate,execve,connect,bind";

/// A program that runs under `strace`.
pub(crate) struct StraceRun {
    /// The prefix of the files that `strace` writes, one for each process.
    pub(crate) trace: PathBuf,
    /// The port of the proxy that the program is told to use.
    pub(crate) proxy_port: u16,
    /// The working directory and the folder of the script, which interpreters list although they need not.
    pub(crate) own_folders: Vec<PathBuf>,
    /// The rules that every sandbox has.
    pub(crate) usual: Vec<FileRule>,
    pub(crate) places: SandboxPlaces,
    pub(crate) secrets: SecretPaths,
    /// The connections that the proxy recorded.
    pub(crate) seen: SeenHosts,
}

impl StraceRun {
    /// Returns the sandbox settings that allow what the program did so far.
    pub(crate) fn learned(&self) -> LearnedProfile {
        let hosts = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let events = self.files().unwrap_or_default().into_iter().flat_map(|file| {
            let text = fs::read(file).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            text.lines().flat_map(trace::events).collect::<Vec<_>>()
        });
        learned_settings::make(self, events.collect(), hosts.into_iter().collect())
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

/// Returns the command line that runs a program under `strace`, up to the program itself.
///
/// # Errors
/// `strace` is not installed.
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
