//! Ends a server's processes when we are gone, however we went (MC-7).
//!
//! Switchboard starts its own binary again, and that starts the server. The guard shares the server's pipes: when the
//! last write end of stdin closes, because we closed it or because we were killed with -9, the server has had its end
//! of input; what does not leave then is sent SIGTERM and after that SIGKILL, as a process group. A parent-death
//! signal would follow the thread that started the server and would not reach its children.
//!
//! Programs that run for one call read an end of input that means nothing: `controlled.rs` watches a socket instead.

pub(crate) mod controlled;
mod orphans;

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, Write},
    os::unix::{
        fs::MetadataExt,
        process::{CommandExt, ExitStatusExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, ExitStatus},
    sync::mpsc,
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    process::{
        Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
    },
};

/// The argument by which our binary knows that it is to be a guard.
pub const ARGUMENT: &str = "__guard";

/// How long processes have to leave: after the end of their input, and again after SIGTERM.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// The guard's exit code if the command cannot be started, as in shells.
pub const NOT_STARTED: u8 = 127;

/// Stands at the start of a line on stderr that the guard writes for us, before the number of the server's group.
pub const STARTED: &str = "\u{1}switchboard guard: group ";

/// The argument that makes a guard take its command's input, and tell of the command, over a socket that is its stdin.
/// The number of bytes of the input follows it.
pub(crate) const CONTROLLED: &str = "--controlled";

/// The argument, before any other, that makes a guard end all that descends from its command, also what has left its group.
pub(crate) const ADOPTING: &str = "--adopting";

/// How to start a guard: this program, with these arguments before the command and its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessGuard {
    /// The program.
    pub program: PathBuf,
    /// What makes it be a guard.
    pub args: Vec<OsString>,
}

impl ProcessGuard {
    /// The running program as a guard; its `main` has to call [`run`] when its first argument is [`ARGUMENT`].
    ///
    /// # Errors
    /// The path of our own program is unknown.
    pub fn this_program() -> io::Result<Self> {
        let program = std::env::current_exe()?;
        Ok(Self { program, args: vec![ARGUMENT.into()] })
    }

    /// The file to start. An upgrade may have put another program under our name, or none; Linux still has what we run.
    pub(crate) fn file(&self) -> &Path {
        let running = Path::new("/proc/self/exe");
        let is_this_program = self.args.first().is_some_and(|first| first == ARGUMENT);
        let identity = |file: &Path| fs::metadata(file).ok().map(|file| (file.dev(), file.ino()));
        match identity(running) {
            Some(ours) if is_this_program && identity(&self.program) != Some(ours) => running,
            _ => &self.program,
        }
    }
}

/// Runs a command, given with its arguments, in a process group of its own, and outlives it: no process of the group is left
/// when this returns. Returns the command's status, or 128 plus the signal if it was killed.
pub fn run(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let mut first = args.next();
    if first.as_ref().is_some_and(|first| first == ADOPTING) {
        if let Err(error) = orphans::adopt() {
            return refuse(&format!("its processes cannot be watched: {error}"));
        }
        first = args.next();
    }
    let Some(command) = first else {
        return refuse("a guard needs a command to start");
    };
    if command == CONTROLLED {
        return controlled::run(args);
    }
    // The watcher starts first: a program must not run unwatched.
    let (started, group) = mpsc::channel();
    let watcher = thread::Builder::new().spawn(move || end_with_stdin(&group));
    if let Err(error) = watcher {
        return refuse(&cannot_start(&command, &error));
    }
    match Command::new(&command).args(args).process_group(0).spawn() {
        Ok(child) => {
            tell(Pid::from_child(&child));
            ExitCode::from(outlive(child, &started).map_or(1, code))
        }
        Err(error) => refuse(&cannot_start(&command, &error)),
    }
}

/// One line that says which command could not be started and why.
pub(crate) fn cannot_start(command: &OsStr, error: &io::Error) -> String {
    let reason = error.to_string();
    let reason = reason.split(" (os error").next().unwrap_or_default();
    format!("cannot start '{}': {reason}", command.to_string_lossy())
}

fn refuse(reason: &str) -> ExitCode {
    eprintln!("{reason}");
    ExitCode::from(NOT_STARTED)
}

/// Waits for the command and stops the rest of its group.
fn outlive(mut child: Child, started: &mpsc::Sender<Pid>) -> io::Result<ExitStatus> {
    let group = Pid::from_child(&child);
    // The watcher waits for this before it looks at anything, so it cannot be gone.
    let _ = started.send(group);
    orphans::reap_while_running(group);
    let exited = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while waitid(WaitId::Pid(group), exited).err() == Some(Errno::INTR) {}
    // Not yet reaped, the command keeps its number: the signal cannot reach a stranger's group.
    let _ = kill_process_group(group, Signal::TERM);
    let status = child.wait();
    if !left(group, PATIENCE) {
        let _ = kill_process_group(group, Signal::KILL);
        // Being killed takes a moment too.
        left(group, PATIENCE);
    }
    orphans::end();
    status
}

/// Tells Switchboard which group to end should the guard itself be killed, and lets go of stdout, so that Switchboard
/// sees the server close it.
fn tell(group: Pid) {
    // In one write, and on a line of its own whatever the server has written by now; a line that it is in the middle
    // of shows as two.
    let line = format!("\n{STARTED}{}\n", group.as_raw_nonzero());
    let _ = io::stderr().write_all(line.as_bytes());
    if let Ok(nothing) = File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(nothing);
    }
}

/// Stops the group once the other end of our stdin is closed.
#[expect(clippy::disallowed_methods, reason = "a process of its own, which serves nobody")]
fn end_with_stdin(started: &mpsc::Receiver<Pid>) {
    // Empty if the command could not be started.
    let Ok(group) = started.recv() else { return };
    wait_for_hangup();
    thread::sleep(PATIENCE);
    let _ = kill_process_group(group, Signal::TERM);
    thread::sleep(PATIENCE);
    let _ = kill_process_group(group, Signal::KILL);
    orphans::kill();
}

/// Returns when the other end of our stdin is closed; unread data does not matter.
fn wait_for_hangup() {
    let stdin = rustix::stdio::stdin();
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    // No events are requested: a hang-up is always reported, and data does not matter here.
    let mut watched = [PollFd::new(&stdin, PollFlags::empty())];
    loop {
        match poll(&mut watched, None) {
            Ok(_) if watched[0].revents().intersects(gone) => return,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Whether everybody leaves the group within the time.
#[expect(clippy::disallowed_methods, reason = "a process of its own, which serves nobody")]
fn left(group: Pid, patience: Duration) -> bool {
    let step = Duration::from_millis(10);
    for _ in 0..patience.as_millis() / step.as_millis() {
        if test_kill_process_group(group).is_err() {
            return true;
        }
        thread::sleep(step);
    }
    false
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    // MC-7
    #[test]
    fn a_program_that_was_replaced_is_still_its_own_guard() {
        let own = ProcessGuard::this_program().unwrap();
        assert_eq!(own.file(), own.program);
        let replaced = ProcessGuard { program: "/bin/sh".into(), ..own.clone() };
        let removed = ProcessGuard { program: "/nowhere/at/all".into(), ..own };
        let other = ProcessGuard { program: "/bin/sh".into(), args: Vec::new() };
        if cfg!(target_os = "linux") {
            assert_eq!(replaced.file(), Path::new("/proc/self/exe"));
            assert_eq!(removed.file(), Path::new("/proc/self/exe"));
        }
        assert_eq!(other.file(), Path::new("/bin/sh"));
    }
}
