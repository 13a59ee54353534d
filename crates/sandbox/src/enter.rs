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

use crate::policy::{BoxPolicy, BoxReport, FileAccess};

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
    let report = BoxReport { has_own_network: network.is_own, missing, task_groups: tasks.folders };
    send(&link, &report, network.listener.as_ref()).map_err(failed)?;
    for (name, value) in policy.env.iter().chain(&network.variables(&policy.network)) {
        if !policy.own_env.contains(name) {
            command.env(name, value);
        }
    }
    let files = files::ruleset(&policy, &network.ports(&policy.network))?;
    limits::set(&policy).map_err(failed)?;
    privileges::drop_all().map_err(failed)?;
    files::enforce(files, policy.is_required)?;
    let scope = FilterScope {
        has_unix_sockets: policy.unix_sockets,
        has_own_network: network.is_own,
        is_protected,
    };
    match syscalls::filter(scope) {
        Err(reason) if policy.is_required => Err(reason),
        _ => Ok(()),
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
            "its temporary files may fill the disk, and it can change the times of files: {reason}"
        ));
        return Ok(false);
    }
    let writable = policy.files.iter().filter(|rule| rule.access == FileAccess::Write);
    let writable: Vec<_> = writable.map(|rule| rule.path.as_path()).collect();
    match own_mounts::protect(&writable, &policy.temp) {
        Ok(()) => Ok(true),
        Err(error) => {
            let problem = format!("what it may not write cannot be made read-only: {error}");
            if policy.is_required {
                return Err(problem);
            }
            missing.push(problem);
            Ok(false)
        }
    }
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
