//! Calls that are refused for some of their arguments.

use seccompiler::{BackendError, SeccompCmpOp, SeccompCondition, SeccompRule};

use crate::policy::UnixSockets;

use super::{FilterScope, RefusedCalls, argument, numbers};

/// The bits of a socket's type that say what it is.
const SOCKET_TYPE: u64 = 0xf;

/// `MSG_FASTOPEN`, which connects without `connect`.
const FAST_OPEN: u64 = 0x2000_0000;

/// `PR_SET_DUMPABLE`, by which a process hides what it has from us.
const SET_DUMPABLE: u64 = 4;

/// Writing to a terminal what its user seems to have typed, and attributes of files that are open for reading.
const CONTROLS: [u64; 4] = [
    // TIOCSTI, TIOCLINUX, FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR
    0x5412,
    0x541c,
    0x4008_6602,
    0x401c_5820,
];

/// `CLONE_NEW…`: namespaces for mounts, control groups, names, messages, users, processes and networks.
const NAMESPACES: [u64; 7] =
    [0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];

/// The permissions with which a program runs as its owner, or as its group.
const AS_OWNER: [u64; 2] = [0o4000, 0o2000];

/// `O_CREAT`, and the bit of `O_TMPFILE` that is its own: with one of them, permissions follow.
const CREATES: [u64; 2] = [0o100, 0o2000_0000];

/// `CLONE_NEWTIME`, which only `unshare` knows.
const NEW_TIME: u64 = 0x80;

type Result<T> = std::result::Result<T, BackendError>;

/// Calls that are said not to be there.
pub(super) fn absent() -> RefusedCalls {
    numbers::ABSENT.iter().map(|&call| (call, Vec::new())).collect()
}

/// Calls that are forbidden. Those that change permissions are forbidden altogether unless something else protects what must
/// not change; a program that runs as its owner is never made.
pub(super) fn forbidden(scope: FilterScope) -> Result<RefusedCalls> {
    let always = numbers::FORBIDDEN.iter().chain(numbers::FORBIDDEN_HERE);
    let mut calls: RefusedCalls = always.map(|&call| (call, Vec::new())).collect();
    let is_set = |index, bits| rule(&[argument(index, SeccompCmpOp::MaskedEq(bits), bits)?]);
    let is = |index, value| rule(&[argument(index, SeccompCmpOp::Eq, value)?]);
    let any_bit = |index, bits: &[u64]| -> Result<Vec<_>> {
        bits.iter().map(|&bits| is_set(index, bits)).collect()
    };
    for &(call, mode) in numbers::MODES.iter().chain(numbers::MODES_HERE) {
        calls.insert(call, any_bit(mode, &AS_OWNER)?);
    }
    for &(call, flags) in numbers::OPENS.iter().chain(numbers::OPENS_HERE) {
        calls.insert(call, created_as_owner(flags)?);
    }
    if !scope.is_protected {
        let changes = numbers::CHANGES.iter().chain(numbers::CHANGES_HERE);
        calls.extend(changes.map(|&call| (call, Vec::new())));
    }
    if !scope.has_own_network {
        // Landlock knows `bind`, but a socket that listens without it gets a port all the same.
        calls.insert(libc::SYS_listen, Vec::new());
    }
    calls.insert(libc::SYS_socket, sockets(scope.unix_sockets)?);
    calls.insert(libc::SYS_socketpair, socket_pairs()?);
    calls.insert(libc::SYS_sendto, vec![is_set(3, FAST_OPEN)?]);
    calls.insert(libc::SYS_sendmsg, vec![is_set(2, FAST_OPEN)?]);
    calls.insert(libc::SYS_sendmmsg, vec![is_set(3, FAST_OPEN)?]);
    calls.insert(libc::SYS_clone, any_bit(0, &NAMESPACES)?);
    calls.insert(libc::SYS_unshare, any_bit(0, &[&NAMESPACES[..], &[NEW_TIME]].concat())?);
    let controls = CONTROLS.iter().map(|&control| is(1, control));
    calls.insert(libc::SYS_ioctl, controls.collect::<Result<_>>()?);
    calls.insert(libc::SYS_prctl, vec![is(0, SET_DUMPABLE)?]);
    // The limits and the scheduling of other processes; 0 is the caller itself.
    let other = |index| rule(&[argument(index, SeccompCmpOp::Ne, 0)?]);
    for &call in numbers::OF_PROCESS {
        calls.insert(call, vec![other(0)?]);
    }
    for (call, all_of_user) in numbers::OF_PROCESSES {
        calls.insert(call, vec![other(1)?, is(0, all_of_user)?]);
    }
    Ok(calls)
}

/// Opening with flags that create a file, with permissions to run as its owner.
fn created_as_owner(flags: u8) -> Result<Vec<SeccompRule>> {
    let mut rules = Vec::new();
    for create in CREATES {
        for bit in AS_OWNER {
            rules.push(rule(&[
                argument(flags, SeccompCmpOp::MaskedEq(create), create)?,
                argument(flags + 1, SeccompCmpOp::MaskedEq(bit), bit)?,
            ])?);
        }
    }
    Ok(rules)
}

/// Sockets other than TCP, those that ask the kernel about networks, and Unix sockets as far as they are allowed.
fn sockets(unix_sockets: UnixSockets) -> Result<Vec<SeccompRule>> {
    let (v4, v6) = (number(libc::AF_INET), number(libc::AF_INET6));
    let (kernel, unix) = (number(libc::AF_NETLINK), number(libc::AF_UNIX));
    let families =
        [v4, v6, kernel].into_iter().chain((unix_sockets != UnixSockets::None).then_some(unix));
    let others = families.map(|family| argument(0, SeccompCmpOp::Ne, family));
    let mut rules = vec![SeccompRule::new(others.collect::<Result<_>>()?)?];
    for family in [v4, v6] {
        let of_family = || argument(0, SeccompCmpOp::Eq, family);
        for kind in (0..=SOCKET_TYPE).filter(|&kind| kind != number(libc::SOCK_STREAM)) {
            let of_kind = argument(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), kind)?;
            rules.push(rule(&[of_family()?, of_kind])?);
        }
        let is_not = |protocol| argument(2, SeccompCmpOp::Ne, number(protocol));
        rules.push(rule(&[of_family()?, is_not(0)?, is_not(libc::IPPROTO_TCP)?])?);
    }
    if unix_sockets == UnixSockets::Own {
        for kind in unconnected_kinds() {
            let of_unix = argument(0, SeccompCmpOp::Eq, unix)?;
            let of_kind = argument(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), kind)?;
            rules.push(rule(&[of_unix, of_kind])?);
        }
    }
    let not_routes = argument(2, SeccompCmpOp::Ne, 0)?;
    rules.push(rule(&[argument(0, SeccompCmpOp::Eq, kernel)?, not_routes])?);
    Ok(rules)
}

/// Pairs of sockets that can send to others: a pair of datagram sockets can, and the kernel makes one of `SOCK_RAW` too. Only
/// Unix sockets come in pairs that are known here.
fn socket_pairs() -> Result<Vec<SeccompRule>> {
    let mut rules = vec![rule(&[argument(0, SeccompCmpOp::Ne, number(libc::AF_UNIX))?])?];
    for kind in unconnected_kinds() {
        rules.push(rule(&[argument(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), kind)?])?);
    }
    Ok(rules)
}

/// The kinds of Unix sockets that send to any other one.
fn unconnected_kinds() -> impl Iterator<Item = u64> {
    let connected = [number(libc::SOCK_STREAM), number(libc::SOCK_SEQPACKET)];
    (0..=SOCKET_TYPE).filter(move |kind| !connected.contains(kind))
}

fn rule(conditions: &[SeccompCondition]) -> Result<SeccompRule> {
    SeccompRule::new(conditions.to_vec())
}

fn number(constant: i32) -> u64 {
    u64::from(constant.unsigned_abs())
}
