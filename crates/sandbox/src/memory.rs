//! The memory of all processes of a program together. `RLIMIT_DATA` is that of one process, and does not see memory that
//! processes share, so what they have is added up twice a second, also what is on a disk (swap); a program that has more than it may
//! is ended. So is what a program leaves behind.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    os::unix::fs::MetadataExt,
    sync::Arc,
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

/// How often memory is added up.
const INTERVAL: Duration = Duration::from_millis(500);

/// How often processes are ended that were started meanwhile.
const ROUNDS: usize = 16;

/// How long what is left may take to end by itself when the program's sandbox is closed: longer than a guard waits.
const PATIENCE: Duration = Duration::from_secs(4);

/// The processes that began with this one.
#[derive(Clone, Debug)]
pub(crate) struct ProcessTree {
    first: i32,
    /// When the first process began, by which it is told from a later one of the same number.
    began: Option<u64>,
    /// The mounts that they alone have; `None` if they have those of everybody. Open, so that nobody else's get their number.
    mounts: Option<Arc<OwnMounts>>,
}

/// A namespace of mounts.
#[derive(Debug)]
struct OwnMounts {
    number: u64,
    _open: File,
}

impl ProcessTree {
    /// The process, which has its own mounts by now if it will ever have them, and those that it starts.
    pub(crate) fn of(first: i32) -> Self {
        let ours = mounts_of(std::process::id().cast_signed());
        let open = || {
            let open = File::open(mounts_file(first)).ok()?;
            Some(OwnMounts { number: open.metadata().ok()?.ino(), _open: open })
        };
        let mounts = open().filter(|mounts| Some(mounts.number) != ours).map(Arc::new);
        Self { first, began: Relations::of(first).map(|first| first.began), mounts }
    }

    /// Waits on a thread of its own until all of them have ended, and ends those that do not: also a process that has left the
    /// program's group, if it has mounts of its own.
    pub(crate) fn end_left(self) {
        let end = move || {
            let step = PATIENCE / 40;
            for _ in 0..40 {
                if self.members().is_empty() {
                    return;
                }
                wait(step);
            }
            self.kill();
        };
        // Without the thread they go on; the guard ends them.
        let _ = thread::Builder::new().spawn(end);
    }

    fn kill(&self) {
        for _ in 0..ROUNDS {
            let members = self.members();
            if members.is_empty() {
                break;
            }
            for member in members.into_iter().filter_map(Pid::from_raw) {
                // It may have ended by itself.
                let _ = kill_process(member, Signal::KILL);
            }
        }
    }

    /// Waits until they have more memory than `limit`, ends them and returns how much it was. Goes on for ever if they never do.
    pub(crate) async fn exceeds(&self, limit: u64) -> u64 {
        loop {
            tokio::time::sleep(INTERVAL).await;
            let tree = self.clone();
            // Reading `/proc` may take some milliseconds.
            let watched = tokio::task::spawn_blocking(move || tree.end_above(limit)).await;
            if let Ok(Some(taken)) = watched {
                return taken;
            }
        }
    }

    fn end_above(&self, limit: u64) -> Option<u64> {
        let taken = memory(&self.members(), limit);
        if taken <= limit {
            return None;
        }
        self.kill();
        Some(taken)
    }

    /// The processes that are in it now: those with its mounts, those that descend from its first process, and those of its group.
    fn members(&self) -> BTreeSet<i32> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let all: BTreeMap<i32, Relations> =
            numbers.filter_map(|pid| Some((pid, Relations::of(pid)?))).collect();
        // The number of the first process may be somebody else's by now.
        let is_other = all.get(&self.first).is_some_and(|first| Some(first.began) != self.began);
        let is_first = |pid, of: &Relations| pid == self.first || of.group == self.first;
        let is_member = |pid: i32, of: &Relations| {
            !is_other && is_first(pid, of)
                || self.mounts.as_ref().is_some_and(|own| mounts_of(pid) == Some(own.number))
        };
        let mut members: BTreeSet<i32> =
            all.iter().filter(|(pid, of)| is_member(**pid, of)).map(|(pid, _)| *pid).collect();
        loop {
            let children = all.iter().filter(|(_, of)| members.contains(&of.parent));
            let found: Vec<_> = children.map(|(pid, _)| *pid).collect();
            let count = members.len();
            members.extend(found);
            if members.len() == count {
                break;
            }
        }
        members.retain(|pid| all[pid].is_alive);
        members
    }
}

#[expect(clippy::disallowed_methods, reason = "a thread of its own, which serves nobody")]
fn wait(time: Duration) {
    thread::sleep(time);
}

fn mounts_file(pid: i32) -> String {
    format!("/proc/{pid}/ns/mnt")
}

/// The number of a process's namespace of mounts.
fn mounts_of(pid: i32) -> Option<u64> {
    fs::metadata(mounts_file(pid)).ok().map(|mounts| mounts.ino())
}

/// What `/proc/PID/stat` says of a process.
struct Relations {
    parent: i32,
    group: i32,
    is_alive: bool,
    /// In ticks since the system's start.
    began: u64,
}

impl Relations {
    fn of(pid: i32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, in parentheses, may have any character.
        let mut words = text.rsplit_once(") ")?.1.split(' ');
        let state = words.next()?;
        let (parent, group) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        // The 22nd field of all.
        let began = words.nth(16)?.parse().ok()?;
        Some(Self { parent, group, is_alive: !matches!(state, "Z" | "X"), began })
    }
}

/// What these processes have of their own and of what they share, in bytes. Files are not counted: the system can drop them.
fn memory(members: &BTreeSet<i32>, limit: u64) -> u64 {
    let mut shared = BTreeMap::new();
    for member in members {
        let maps = fs::read_to_string(format!("/proc/{member}/maps")).unwrap_or_default();
        shared.extend(maps.lines().filter_map(shared_memory));
    }
    let shared: u64 = shared.values().sum();
    let own = |file: &str, key: &str| -> u64 {
        members.iter().filter_map(|pid| figure(&format!("/proc/{pid}/{file}"), key)).sum()
    };
    // Quickly read, but it counts what a process has in common with its children once for each.
    let most = shared + own("status", "RssAnon:") + own("status", "VmSwap:");
    if most <= limit {
        return most;
    }
    shared + own("smaps_rollup", "Pss_Anon:") + own("smaps_rollup", "SwapPss:")
}

/// A line of `/proc/PID/maps` about memory that processes share, without a file: which, and how large.
fn shared_memory(line: &str) -> Option<(String, u64)> {
    let mut words = line.split_whitespace();
    let (range, rights, offset) = (words.next()?, words.next()?, words.next()?);
    let (_device, inode) = (words.next()?, words.next()?);
    let is_shared = rights.ends_with('s') && words.next()? == "/dev/zero";
    let (start, end) = range.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let size = number(end)?.checked_sub(number(start)?)?;
    // A process may have parts of it in several places.
    is_shared.then(|| (format!("{inode} {offset}"), size))
}

/// A figure of kilobytes, as bytes.
fn figure(file: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    // SB-1: what `RLIMIT_DATA` does not see.
    #[tokio::test]
    async fn all_processes_of_a_program_are_added_up() {
        let scripts = [
            // Shared memory, filled by a child that is gone.
            "import mmap, os\nm = mmap.mmap(-1, 96 << 20)\nif os.fork() == 0:\n  m.write(b'x' * (96 << 20))\n  os._exit(0)\nos.wait()",
            // Many processes, each with a little; they leave their group and their parent.
            "import os, time\nfor _ in range(4):\n  if os.fork() == 0:\n    x = b'x' * (24 << 20)\n    time.sleep(600)\n    os._exit(0)",
        ];
        for script in scripts {
            let script = format!("{script}\nimport time\ntime.sleep(600)");
            let mut child = Command::new("python3");
            child.args(["-c", &script]).stdin(Stdio::null());
            let mut child = child.spawn().unwrap();
            let tree = ProcessTree::of(child.id().cast_signed());
            assert!(tree.exceeds(64 << 20).await > 64 << 20);
            assert!(!child.wait().unwrap().success());
            assert_eq!(tree.members(), BTreeSet::new());
        }
    }

    // SB-1
    #[test]
    fn what_is_within_its_limit_goes_on() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let tree = ProcessTree::of(child.id().cast_signed());
        assert_eq!(tree.end_above(1 << 30), None);
        assert!(tree.members().contains(&child.id().cast_signed()));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn shared_memory_is_told_from_files() {
        let line = "7f00-8f00 rw-s 00000000 00:01 1049   /dev/zero (deleted)";
        assert_eq!(shared_memory(line), Some(("1049 00000000".to_owned(), 0x1000)));
        assert_eq!(shared_memory("7f00-8f00 rw-p 00000000 00:01 1049 /dev/zero (deleted)"), None);
        assert_eq!(shared_memory("7f00-8f00 rw-s 00000000 08:01 12 /srv/file"), None);
        assert_eq!(shared_memory("7f00-8f00 rw-p 00000000 00:00 0"), None);
    }
}
