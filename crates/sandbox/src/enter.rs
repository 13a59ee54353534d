//! The process that confines itself, and then becomes the program.
//!
//! Switchboard's guard starts our own binary again with [`ARGUMENT`]. It fetches its policy from a socket, which it gives the
//! socket of the proxy in return, gives up what it does not need, and executes the program. What cannot be confined is said
//! on stderr, as for a program that is not there.

mod files;
mod limits;
mod network;
mod own_mounts;
mod own_network;
mod privileges;
mod syscalls;
mod task_group;

use std::{
    ffi::OsString,
    fs,
    io::{self, Read},
    mem::MaybeUninit,
    net::TcpListener,
    os::{fd::AsFd, unix::net::UnixStream, unix::process::CommandExt},
    path::Path,
    process::{Command, ExitCode},
};

use rustix::{
    io::IoSlice,
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg},
};

use crate::policy::{BoxPolicy, BoxReport};

pub(crate) use files::landlock_abi;
use network::BoxNetwork;
use syscalls::FilterScope;
pub(crate) use syscalls::can_filter;

/// The argument by which our binary knows that it is to confine itself and become a program.
pub const ARGUMENT: &str = "__sandbox";

/// The exit code if the program cannot be started, as in shells.
const NOT_STARTED: u8 = 127;

/// Confines this process as the policy says that the socket, the first argument, hands out; then becomes the program that the
/// other arguments are. Returns only if that is not possible.
pub fn run(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let (socket, program) = (args.next(), args.next());
    if socket.as_ref().is_some_and(|socket| socket == crate::PROBE) {
        return probe();
    }
    let (Some(socket), Some(program)) = (socket, program) else {
        eprintln!("a sandbox needs a socket and a program");
        return ExitCode::from(NOT_STARTED);
    };
    let mut command = Command::new(&program);
    command.args(args);
    let reason = match confine(Path::new(&socket), &mut command) {
        Ok(()) => {
            let reason = command.exec().to_string();
            reason.split(" (os error").next().unwrap_or_default().to_owned()
        }
        Err(reason) => reason,
    };
    eprintln!("cannot start '{}': {reason}", program.to_string_lossy());
    ExitCode::from(NOT_STARTED)
}

/// Tells whether there can be a network of a program's own.
fn probe() -> ExitCode {
    match own_network::enter(true) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn confine(socket: &Path, command: &mut Command) -> Result<(), String> {
    let failed = |error: io::Error| format!("its sandbox cannot be set up: {error}");
    let mut link = UnixStream::connect(socket).map_err(failed)?;
    let policy = receive(&mut link).map_err(failed)?;
    let network = network::open(&policy.network, policy.is_required)?;
    let tasks = task_group::join(&policy);
    let mut missing: Vec<_> = network.problem.iter().cloned().collect();
    missing.extend(tasks.problem);
    let is_protected = protect(&policy, &network, &mut missing)?;
    // Only now: the folder for temporary files may be another one than before.
    policy.home.as_ref().map(fs::create_dir_all).transpose().map_err(failed)?;
    for (name, value) in policy.env.iter().chain(&network.variables(&policy.network)) {
        if !policy.own_env.contains(name) {
            command.env(name, value);
        }
    }
    let scope = FilterScope {
        has_unix_sockets: policy.unix_sockets,
        has_own_network: network.is_own,
        is_protected,
    };
    let confined = enforce(&policy, &network.ports(&policy.network), scope, &mut missing);
    // Also if it failed, so that control groups are removed.
    let report = BoxReport { has_own_network: network.is_own, missing, task_groups: tasks.folders };
    send(&link, &report, network.listener.as_ref()).map_err(failed)?;
    confined
}

/// Gives up what the program may not do, for good. What could not be given up, and is not required, is told.
///
/// # Errors
/// It is not confined as it has to be.
fn enforce(
    policy: &BoxPolicy,
    ports: &[u16],
    scope: FilterScope,
    missing: &mut Vec<String>,
) -> Result<(), String> {
    let failed = |error: io::Error| format!("its sandbox cannot be set up: {error}");
    let files = files::ruleset(policy, ports)?;
    limits::set(policy).map_err(failed)?;
    privileges::drop_all().map_err(failed)?;
    unless_required(files::enforce(files), policy.is_required, missing)?;
    unless_required(syscalls::filter(scope), policy.is_required, missing)
}

/// Turns a failure into something that is told, unless the sandbox has to be whole.
fn unless_required(
    outcome: Result<(), String>,
    is_required: bool,
    missing: &mut Vec<String>,
) -> Result<(), String> {
    match outcome {
        Err(problem) if !is_required => {
            missing.push(problem);
            Ok(())
        }
        outcome => outcome,
    }
}

/// Makes read-only what the program may not write; returns whether that was done. Where it was not, the program can change the
/// permissions of nothing, and what is not kept is told.
///
/// # Errors
/// It could be done here, failed, and is needed.
fn protect(
    policy: &BoxPolicy,
    network: &BoxNetwork,
    missing: &mut Vec<String>,
) -> Result<bool, String> {
    if let Err(reason) = &network.own_mounts {
        missing.push(format!(
            "its temporary files may fill the disk, it can change the times of files, and a loader (`ld.so`, `dlopen`) runs \
             what it has written: {reason}"
        ));
        return Ok(false);
    }
    let outcome = own_mounts::protect(&policy.files, &policy.temp)
        .map_err(|error| format!("what it may not write cannot be made read-only: {error}"));
    let is_protected = outcome.is_ok();
    unless_required(outcome, policy.is_required, missing)?;
    Ok(is_protected)
}

/// Reads the policy, which its length precedes.
fn receive(link: &mut UnixStream) -> io::Result<BoxPolicy> {
    let mut length = [0; 4];
    link.read_exact(&mut length)?;
    let mut policy = Vec::new();
    link.take(u32::from_be_bytes(length).into()).read_to_end(&mut policy)?;
    serde_json::from_slice(&policy).map_err(io::Error::other)
}

/// Sends the report, and with it the socket that the proxy listens on.
fn send(link: &UnixStream, report: &BoxReport, listener: Option<&TcpListener>) -> io::Result<()> {
    let report = serde_json::to_vec(report).map_err(io::Error::other)?;
    let sockets: Vec<_> = listener.map(AsFd::as_fd).into_iter().collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut more = SendAncillaryBuffer::new(&mut space);
    if !sockets.is_empty() {
        more.push(SendAncillaryMessage::ScmRights(&sockets));
    }
    // Far smaller than what a socket takes at once.
    sendmsg(link, &[IoSlice::new(&report)], &mut more, SendFlags::empty())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // SB-1: what `try` leaves out is a warning.
    #[test]
    fn what_fails_is_told_if_it_is_not_required() {
        let failure = || Err("no seccomp".to_owned());
        let mut missing = Vec::new();
        assert_eq!(unless_required(Ok(()), false, &mut missing), Ok(()));
        assert_eq!(unless_required(failure(), true, &mut missing), failure());
        assert_eq!(missing, Vec::<String>::new());
        assert_eq!(unless_required(failure(), false, &mut missing), Ok(()));
        assert_eq!(missing, ["no seccomp"]);
    }
}
