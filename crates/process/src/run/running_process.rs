//! A program that runs, with or without a guard before it.

use std::{
    os::{fd::OwnedFd, unix::net::UnixStream as BlockingSocket, unix::process::ExitStatusExt},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    process::{Child, ChildStderr, ChildStdin, ChildStdout},
    runtime::Handle,
    time::{sleep, timeout},
};

use super::ProcessEnd;
use crate::{
    ProcessGroup, Program, StartError,
    group::Signal,
    guard::{
        CONTROLLED, PATIENCE,
        controlled::{GROUP, REFUSED, SIGNAL},
    },
};

/// More than a guard ever says, in bytes.
const MOST_SAID: u64 = 64 * 1024;

/// The program's outputs.
pub(super) struct ProcessPipes {
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

/// The program, or the guard before it; ends with this.
pub(super) struct RunningProcess {
    /// Taken when it has ended.
    child: Option<Child>,
    group: ProcessGroup,
    link: GuardLink,
}

/// How the program gets its input.
enum GuardLink {
    /// Through its guard, which ends the program as soon as this is closed.
    Guard(UnixStream),
    /// From us, if it gets any.
    Pipe(Option<ChildStdin>),
}

impl RunningProcess {
    /// Starts the program; `input` is the number of bytes that it gets on stdin.
    pub(super) fn start(
        program: &Program,
        input: usize,
    ) -> Result<(Self, ProcessPipes), StartError> {
        let group = ProcessGroup::default();
        let (mut child, link) = match program.guard {
            Some(_) => {
                let (ours, theirs) = socket().map_err(|error| {
                    StartError::Command(format!("no socket for '{}': {error}", program.command))
                })?;
                let theirs = Stdio::from(OwnedFd::from(theirs));
                let child = program.spawn_with(&[CONTROLLED, &input.to_string()], theirs)?;
                (child, GuardLink::Guard(ours))
            }
            None => {
                let stdin = if input == 0 { Stdio::null() } else { Stdio::piped() };
                let mut child = program.spawn_with(&[], stdin)?;
                group.led_by(&child);
                let stdin = child.stdin.take();
                (child, GuardLink::Pipe(stdin))
            }
        };
        let pipes = child.stdout.take().zip(child.stderr.take());
        let running = Self { child: Some(child), group, link };
        match pipes {
            Some((stdout, stderr)) => Ok((running, ProcessPipes { stdout, stderr })),
            // Both were asked for.
            None => Err(StartError::Command(format!("no pipes to '{}'", program.command))),
        }
    }

    /// Writes the input, waits for the program's end, and stops the rest of its group.
    pub(super) async fn end(&mut self, input: &[u8]) -> ProcessEnd {
        let Some(child) = &mut self.child else { return ProcessEnd::Unguarded };
        let ending = match &mut self.link {
            GuardLink::Guard(socket) => {
                let (mut from, mut to) = socket.split();
                let mut said = Vec::new();
                let mut hear = (&mut from).take(MOST_SAID);
                // The program may end without having read all of its input: neither end of the socket minds.
                let (_, _, status) =
                    tokio::join!(to.write_all(input), hear.read_to_end(&mut said), child.wait());
                guarded(status.ok(), &String::from_utf8_lossy(&said), &self.group)
            }
            GuardLink::Pipe(stdin) => {
                let stdin = stdin.take();
                let feed = async {
                    if let Some(mut stdin) = stdin {
                        let _ = stdin.write_all(input).await;
                    }
                    std::future::pending::<()>().await;
                };
                let status = tokio::select! {
                    status = child.wait() => status,
                    () = feed => return ProcessEnd::Unguarded,
                };
                end_group(&self.group).await;
                status.map_or(ProcessEnd::Unguarded, plain)
            }
        };
        self.child = None;
        ending
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        // A guard sees the socket close.
        let (Some(mut child), GuardLink::Pipe(_)) = (self.child.take(), &self.link) else { return };
        let group = std::mem::take(&mut self.group);
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(async move {
                group.signal(Signal::TERM);
                let _ = timeout(PATIENCE, child.wait()).await;
                end_group(&group).await;
                let _ = child.wait().await;
            })),
            // There is no time left to be kind.
            Err(_) => group.signal(Signal::KILL),
        }
    }
}

fn socket() -> std::io::Result<(UnixStream, BlockingSocket)> {
    let (ours, theirs) = BlockingSocket::pair()?;
    ours.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, theirs))
}

/// Returns how a program ended, by the guard's status and its report.
fn guarded(status: Option<ExitStatus>, said: &str, group: &ProcessGroup) -> ProcessEnd {
    let after = |what| said.lines().find_map(|line| line.strip_prefix(what));
    let Some(code) = status.and_then(|status| status.code()) else {
        // The guard was killed, so nothing watches the program any more.
        group.learn(after(GROUP).unwrap_or_default().as_bytes());
        group.signal(Signal::KILL);
        return ProcessEnd::Unguarded;
    };
    match (after(REFUSED), after(SIGNAL).and_then(|signal| signal.parse().ok())) {
        (Some(reason), _) => ProcessEnd::Refused(reason.to_owned()),
        (None, Some(signal)) => ProcessEnd::Killed(signal),
        (None, None) => ProcessEnd::Exited(code),
    }
}

fn plain(status: ExitStatus) -> ProcessEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => ProcessEnd::Exited(code),
        (None, signal) => ProcessEnd::Killed(signal.unwrap_or_default()),
    }
}

/// Stops the rest of the group.
async fn end_group(group: &ProcessGroup) {
    if group.is_empty() {
        return;
    }
    group.signal(Signal::TERM);
    let left = async {
        while !group.is_empty() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    let _ = timeout(PATIENCE, left).await;
    group.signal(Signal::KILL);
}
