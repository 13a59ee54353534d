//! Processes of a program's own: a PID namespace, in which a `/proc` shows nobody else, and which ends with its first process.
//!
//! Who asks for such a namespace stays outside, so three processes of ours follow each other: one makes the namespaces and waits,
//! so that Switchboard's guard has somebody to wait for; the first one in the namespace confines itself, starts the program and
//! reaps orphans; the third becomes the program.

use std::{
    ffi::OsString,
    fs::File,
    io,
    os::unix::process::ExitStatusExt,
    process::{Child, Command, ExitCode},
};

use nix::sys::signal::SigSet;
use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitOptions, set_parent_process_death_signal, wait},
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout},
    thread::{CapabilitySet, capabilities, configure_capability_in_ambient_set, set_capabilities},
};

use super::{
    ARGUMENT, NOT_STARTED, ProcessScope, own_network, own_network::NamespaceSet, own_tree,
};

/// The argument that asks for processes of the program's own; what follows is the same as without.
pub(crate) const OWN_PROCESSES: &str = "--own-processes";

/// The argument of the first process of a namespace.
pub(super) const FIRST: &str = "--first";

/// Makes the namespaces and waits for what runs in them. Where that is not possible, the program is started without, if its
/// policy allows that.
pub(super) fn start(args: Vec<OsString>) -> ExitCode {
    if let Err(reason) = own_network::enter(NamespaceSet::Processes) {
        return match super::is_probe(args.first()) {
            true => super::probed(Err(reason)),
            false => super::become_program(args, &ProcessScope::Refused(reason)),
        };
    }
    match spawn_first(args) {
        Ok(mut first) => {
            let_go_of_output();
            let status = first.wait().ok();
            let code = status.and_then(|it| it.code().or(it.signal().map(|signal| 128 + signal)));
            exit_code(code)
        }
        Err(error) => {
            eprintln!("its processes cannot be its own: {error}");
            ExitCode::from(NOT_STARTED)
        }
    }
}

/// Starts the first process of the namespace.
fn spawn_first(args: Vec<OsString>) -> io::Result<Child> {
    keep_mount_rights()?;
    // The program is in the same group, and is told by the same signal: this process has to outlive it.
    SigSet::all().thread_block()?;
    Command::new("/proc/self/exe").arg(ARGUMENT).arg(FIRST).args(args).spawn()
}

/// Lets the next program of this process mount, also if the user is not root within the namespace: rights are lost otherwise.
fn keep_mount_rights() -> io::Result<()> {
    let mut sets = capabilities(None)?;
    sets.inheritable |= CapabilitySet::SYS_ADMIN;
    set_capabilities(None, sets)?;
    Ok(configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true)?)
}

/// Goes on as the first process of a namespace.
pub(super) fn go_on(args: Vec<OsString>) -> ExitCode {
    let prepared = || -> io::Result<()> {
        // Nothing in the namespace outlives it.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        Ok(SigSet::all().thread_unblock()?)
    };
    if let Err(error) = prepared() {
        eprintln!("its processes cannot be its own: {error}");
        return ExitCode::from(NOT_STARTED);
    }
    match super::is_probe(args.first()) {
        true => super::probed(own_tree::mount_proc("/proc".as_ref())),
        false => super::become_program(args, &ProcessScope::Own),
    }
}

/// Starts the program, reaps all that it leaves behind, and returns its exit code; then the namespace ends.
///
/// # Errors
/// The program cannot be started.
pub(super) fn supervise(command: &mut Command) -> io::Result<ExitCode> {
    let program = Pid::from_child(&command.spawn()?);
    let_go_of_output();
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if ended == program => {
                let signal = status.terminating_signal().map(|signal| 128 + signal);
                return Ok(exit_code(status.exit_status().or(signal)));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Lets go of what belongs to the program, so that Switchboard sees it close its pipes.
fn let_go_of_output() {
    if let Ok(nothing) = File::options().read(true).write(true).open("/dev/null") {
        let _ = dup2_stdin(&nothing);
        let _ = dup2_stdout(&nothing);
        let _ = dup2_stderr(&nothing);
    }
}

fn exit_code(code: Option<i32>) -> ExitCode {
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
