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
mod own_processes;
mod own_tree;
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
    process::{DumpableBehavior, set_dumpable_behavior},
};

use crate::policy::{BoxPolicy, BoxReport, FileAccess, FileRule, UnixSockets};

pub(crate) use files::landlock_abi;
use network::BoxNetwork;
use own_network::NamespaceSet;
pub(crate) use own_processes::OWN_PROCESSES;
use syscalls::FilterScope;
pub(crate) use syscalls::can_filter;

/// The argument by which our binary knows that it is to confine itself and become a program.
pub const ARGUMENT: &str = "__sandbox";

/// The exit code if the program cannot be started, as in shells.
const NOT_STARTED: u8 = 127;

/// Which processes the program sees.
enum ProcessScope {
    /// Those of everybody.
    Shared,
    /// Its own: this one is the first of them.
    Own,
    /// Those of everybody, because it cannot have its own.
    Refused(String),
}

/// Confines this process as the policy says that the socket, the first argument, hands out; then becomes the program that the
/// other arguments are. Returns only if that is not possible, or if this process has started the program and waited for its end.
pub fn run(args: impl Iterator<Item = OsString>) -> ExitCode {
    let mut args: Vec<_> = args.collect();
    let is_first = |word: &str| args.first().is_some_and(|first| first == word);
    if is_probe(args.first()) {
        return probed(own_network::enter(NamespaceSet::Network));
    }
    if is_first(OWN_PROCESSES) {
        return own_processes::start(args.split_off(1));
    }
    if is_first(own_processes::FIRST) {
        return own_processes::go_on(args.split_off(1));
    }
    become_program(args, &ProcessScope::Shared)
}

/// Whether it is only asked what is possible.
fn is_probe(word: Option<&OsString>) -> bool {
    word.is_some_and(|word| word == crate::PROBE)
}

/// Tells what is possible.
fn probed(outcome: Result<(), String>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// Confines this process, and becomes the program or, as the first of its processes, starts it.
fn become_program(args: Vec<OsString>, processes: &ProcessScope) -> ExitCode {
    let mut args = args.into_iter();
    let (Some(socket), Some(program)) = (args.next(), args.next()) else {
        eprintln!("a sandbox needs a socket and a program");
        return ExitCode::from(NOT_STARTED);
    };
    let mut command = Command::new(&program);
    command.args(args);
    let started = confine(Path::new(&socket), &mut command, processes).and_then(|()| {
        let started = match processes {
            ProcessScope::Own => own_processes::supervise(&mut command),
            ProcessScope::Shared | ProcessScope::Refused(_) => Err(command.exec()),
        };
        started.map_err(|error| {
            let reason = error.to_string();
            reason.split(" (os error").next().unwrap_or_default().to_owned()
        })
    });
    started.unwrap_or_else(|reason| {
        eprintln!("cannot start '{}': {reason}", program.to_string_lossy());
        ExitCode::from(NOT_STARTED)
    })
}

fn confine(socket: &Path, command: &mut Command, processes: &ProcessScope) -> Result<(), String> {
    let failed = |error: io::Error| format!("its sandbox cannot be set up: {error}");
    let mut link = UnixStream::connect(socket).map_err(failed)?;
    let mut policy = receive(&mut link).map_err(failed)?;
    let is_inside = matches!(processes, ProcessScope::Own);
    let network = network::open(&policy.network, policy.is_required, is_inside)?;
    let tasks = task_group::join(&policy);
    let mut missing: Vec<_> = network.problem.iter().cloned().collect();
    missing.extend(tasks.problem);
    enter_tree(&mut policy, processes, &mut missing)?;
    let is_protected = protect(&policy, &network, &mut missing)?;
    // Only now: the folder for temporary files may be another one than before.
    policy.home.as_ref().map(fs::create_dir_all).transpose().map_err(failed)?;
    for (name, value) in policy.env.iter().chain(&network.variables(&policy.network)) {
        if !policy.own_env.contains(name) {
            command.env(name, value);
        }
    }
    if is_inside {
        // What this process knows is not the program's, which has the same user.
        set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(|error| failed(error.into()))?;
    }
    let scope = FilterScope {
        unix_sockets: policy.unix_sockets,
        has_own_network: network.is_own,
        is_protected,
    };
    let confined = enforce(&policy, &network.ports(&policy.network), scope, &mut missing);
    // Also if it failed, so that control groups are removed.
    let report = BoxReport { has_own_network: network.is_own, missing, task_groups: tasks.folders };
    send(&link, &report, network.listener.as_ref()).map_err(failed)?;
    confined
}

/// Moves this process into a file tree of its own, if its policy has one. Where that is not possible, Unix sockets stay closed.
///
/// # Errors
/// It has to have one, and cannot.
fn enter_tree(
    policy: &mut BoxPolicy,
    processes: &ProcessScope,
    missing: &mut Vec<String>,
) -> Result<(), String> {
    let Some(tree) = policy.own_tree.take() else { return Ok(()) };
    let entered = match processes {
        ProcessScope::Own => own_tree::enter(policy, &tree),
        ProcessScope::Refused(reason) => Err(reason.clone()),
        ProcessScope::Shared => Err("its processes are not its own".to_owned()),
    };
    match entered {
        Ok(()) => {
            // Which shows nobody else.
            policy.files.push(FileRule { path: "/proc".into(), access: FileAccess::Read });
            Ok(())
        }
        Err(reason) => {
            policy.unix_sockets = UnixSockets::None;
            let problem = format!(
                "it has no processes and files of its own, which a browser needs: {reason}"
            );
            unless_required(Err(problem), policy.is_required, missing)
        }
    }
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
    use crate::policy::{NetworkRule, OwnTree};

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

    // SB-1: where namespaces are not allowed.
    #[test]
    fn a_browser_without_processes_of_its_own_has_no_sockets() {
        for is_required in [true, false] {
            let mut policy = BoxPolicy {
                files: Vec::new(),
                temp: "/nowhere".into(),
                home: None,
                network: NetworkRule::Proxy { token: String::new(), has_destinations: false },
                unix_sockets: UnixSockets::Own,
                own_tree: Some(OwnTree::default()),
                memory: 0,
                processes: 0,
                open_files: 0,
                is_required,
                env: Vec::new(),
                own_env: Vec::new(),
            };
            let refused = ProcessScope::Refused("not here".to_owned());
            let mut missing = Vec::new();
            let entered = enter_tree(&mut policy, &refused, &mut missing);
            let told = entered.err().into_iter().chain(missing).collect::<Vec<_>>();
            assert!(told.len() == 1 && told[0].ends_with("needs: not here"), "{told:?}");
            assert_eq!((policy.unix_sockets, policy.files.len()), (UnixSockets::None, 0));
        }
    }
}
