//! A guard for a program that runs for one call (TK-1).
//!
//! Its stdin is one end of a socket. Over it come the bytes that the program reads, and when the other end is closed,
//! because the call was cancelled or we were killed, the program's group is ended. Over it go lines that say which
//! group was started, what could not be, and which signal ended the program; stdout and stderr are the program's alone.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read},
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{ChildStdin, Command, ExitCode, Stdio},
    sync::mpsc,
    thread,
};

use rustix::process::{Pid, Signal, kill_process_group};

use super::{NOT_STARTED, PATIENCE, cannot_start, code, orphans, outlive, wait_for_hangup};

/// Begins the line that says which process group was started.
pub(crate) const GROUP: &str = "group ";

/// Begins the line that says why the program could not be started.
pub(crate) const REFUSED: &str = "refused ";

/// Begins the line that says which signal ended the program.
pub(crate) const SIGNAL: &str = "signal ";

pub(super) fn run(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let length = args.next().and_then(|length| length.to_str()?.parse().ok());
    let (Some(length), Some(program)) = (length, args.next()) else {
        return refuse("a controlled guard needs a number of bytes and a program");
    };
    // The watcher starts first: a program must not run unwatched.
    let (started, group) = mpsc::channel();
    let watcher = thread::Builder::new().spawn(move || end_with_socket(&group));
    if let Err(error) = watcher {
        return refuse(&cannot_start(&program, &error));
    }
    let stdin = if length == 0 { Stdio::null() } else { Stdio::piped() };
    match Command::new(&program).args(args).stdin(stdin).process_group(0).spawn() {
        Ok(mut child) => {
            say(GROUP, &Pid::from_child(&child).as_raw_nonzero().to_string());
            let_go_of_output();
            let input = child.stdin.take().map(|stdin| move || feed(stdin, length));
            // A program whose input cannot be brought reads its end.
            let _ = input.map(|feed| thread::Builder::new().spawn(feed));
            let status = outlive(child, &started);
            if let Some(signal) = status.as_ref().ok().and_then(|status| status.signal()) {
                say(SIGNAL, &signal.to_string());
            }
            ExitCode::from(status.map_or(1, code))
        }
        Err(error) => refuse(&cannot_start(&program, &error)),
    }
}

fn refuse(reason: &str) -> ExitCode {
    say(REFUSED, reason);
    ExitCode::from(NOT_STARTED)
}

/// Writes a line to the socket; there may be no reader.
fn say(what: &str, more: &str) {
    let line = format!("{what}{more}\n");
    let _ = rustix::io::write(rustix::stdio::stdin(), line.as_bytes());
}

/// Lets go of stdout and stderr, so that Switchboard sees the program close them.
fn let_go_of_output() {
    if let Ok(nothing) = File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&nothing);
        let _ = rustix::stdio::dup2_stderr(nothing);
    }
}

/// Brings the program its input, and closes it.
fn feed(mut program: ChildStdin, length: u64) {
    // A program may end without having read all of it.
    let _ = io::copy(&mut io::stdin().lock().take(length), &mut program);
}

/// Ends the group once the other end of the socket is closed.
#[expect(clippy::disallowed_methods, reason = "a process of its own, which serves nobody")]
fn end_with_socket(started: &mpsc::Receiver<Pid>) {
    // Nothing comes if the program could not be started.
    let Ok(group) = started.recv() else { return };
    wait_for_hangup();
    let _ = kill_process_group(group, Signal::TERM);
    thread::sleep(PATIENCE);
    let _ = kill_process_group(group, Signal::KILL);
    orphans::kill();
}
