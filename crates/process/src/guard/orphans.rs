//! Processes that leave the group of a confined program (SB-1): a program that is orphaned, with a session of its own, would outlive its
//! sandbox. The guard of such a program becomes the parent of orphans, so that all that descends from it is found and ended.

use std::io;

#[cfg(not(target_os = "linux"))]
use rustix::process::Pid;

/// Makes this process the parent of all orphans among its descendants, and reaps those that end, for as long as it lives.
///
/// # Errors
/// The system cannot do that.
#[cfg(target_os = "linux")]
pub(super) fn adopt() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Does nothing: this system confines no programs.
#[cfg(not(target_os = "linux"))]
pub(super) fn adopt() -> io::Result<()> {
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn reap_while_running(_: Pid) {}

#[cfg(not(target_os = "linux"))]
pub(super) fn kill() {}

#[cfg(not(target_os = "linux"))]
pub(super) fn end() {}

#[cfg(target_os = "linux")]
pub(super) use linux::{end, kill, reap_while_running};

#[cfg(target_os = "linux")]
mod linux {
    use std::{collections::BTreeMap, fs, thread, time::Duration};

    use rustix::{
        io::Errno,
        process::{
            Pid, Signal, WaitId, WaitIdOptions, WaitOptions, child_subreaper, getpid, kill_process,
            waitid, waitpid,
        },
    };

    /// How often processes are ended that were started meanwhile.
    const ROUNDS: usize = 1000;

    /// How long a round of ending, or of reaping, waits for the next.
    const STEP: Duration = Duration::from_millis(2);

    /// What `/proc/PID/stat` says of a process.
    struct Relations {
        parent: i32,
        is_zombie: bool,
    }

    fn is_adopting() -> bool {
        child_subreaper().is_ok_and(|adopting| adopting.is_some())
    }

    /// Reaps orphans that end before the command, on a thread of its own: they count as processes until then.
    pub(in crate::guard) fn reap_while_running(command: Pid) {
        if is_adopting() {
            // Without the thread they stay until the guard ends.
            let _ = thread::Builder::new().spawn(move || reap(command));
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a process of its own, which serves nobody")]
    fn reap(command: Pid) {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        loop {
            match waitid(WaitId::All, ended) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            let orphans = zombies(command);
            if orphans.is_empty() {
                // The command itself has ended, which `outlive` waits for.
                return;
            }
            for orphan in orphans {
                let _ = waitpid(Some(orphan), WaitOptions::NOHANG);
            }
            thread::sleep(STEP);
        }
    }

    /// The children of this process that have ended, but for the command.
    fn zombies(command: Pid) -> Vec<Pid> {
        let own = getpid().as_raw_nonzero().get();
        let all = processes();
        let ended = all.iter().filter(|(_, of)| of.parent == own && of.is_zombie);
        ended.filter_map(|(pid, _)| Pid::from_raw(*pid)).filter(|pid| *pid != command).collect()
    }

    /// Kills all that descends from this process, once, if it is the parent of orphans.
    pub(in crate::guard) fn kill() {
        if is_adopting() {
            for descendant in descendants() {
                // It may have ended by itself.
                let _ = kill_process(descendant, Signal::KILL);
            }
        }
    }

    /// Kills all that descends from this process until nothing is left, if it is the parent of orphans.
    #[expect(clippy::disallowed_methods, reason = "a process of its own, which serves nobody")]
    pub(in crate::guard) fn end() {
        if !is_adopting() {
            return;
        }
        for _ in 0..ROUNDS {
            match waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
                // One was reaped.
                Ok(Some(_)) | Err(Errno::INTR) => {}
                // There is no child, hence no descendant.
                Err(_) => return,
                Ok(None) => {
                    kill();
                    thread::sleep(STEP);
                }
            }
        }
    }

    /// All that descends from this process and runs.
    fn descendants() -> Vec<Pid> {
        let all = processes();
        let own = getpid().as_raw_nonzero().get();
        let mut found = vec![own];
        let mut next = 0;
        while let Some(parent) = found.get(next).copied() {
            found.extend(all.iter().filter(|(_, of)| of.parent == parent).map(|(pid, _)| *pid));
            next += 1;
        }
        let running = found.into_iter().skip(1).filter(|pid| !all[pid].is_zombie);
        running.filter_map(Pid::from_raw).collect()
    }

    fn processes() -> BTreeMap<i32, Relations> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.filter_map(|pid| Some((pid, relations(pid)?))).collect()
    }

    fn relations(pid: i32) -> Option<Relations> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, in parentheses, may have any character.
        let mut words = text.rsplit_once(") ")?.1.split(' ');
        let is_zombie = matches!(words.next()?, "Z" | "X");
        Some(Relations { parent: words.next()?.parse().ok()?, is_zombie })
    }
}
