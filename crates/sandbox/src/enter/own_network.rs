//! A network in which there is nothing but its own loopback.

use std::{fs, io};

use nix::mount::{MsFlags, mount};
use rustix::{
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink::SocketAddrNetlink,
        recv, sendto, socket_with,
    },
    process::{getgid, getuid},
    thread::UnshareFlags,
};

const NONE: Option<&str> = None;

/// What a process is to have of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamespaceSet {
    /// Mounts, of which nobody else hears.
    Mounts,
    /// The same, and a network.
    Network,
    /// The same, and processes: those that it starts from then on.
    Processes,
}

/// Moves this process into namespaces of its own. Without the right to do so, it takes it from a namespace of its own users, in which
/// it is still the same user.
///
/// # Errors
/// Says what the system does not allow.
pub(super) fn enter(set: NamespaceSet) -> Result<(), String> {
    let mounts = UnshareFlags::NEWNS;
    let wanted = match set {
        NamespaceSet::Mounts => mounts,
        NamespaceSet::Network => mounts | UnshareFlags::NEWNET,
        NamespaceSet::Processes => mounts | UnshareFlags::NEWNET | UnshareFlags::NEWPID,
    };
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    match unshare(wanted) {
        Ok(()) => {}
        Err(Errno::PERM) => {
            unshare(UnshareFlags::NEWUSER | wanted).map_err(not_allowed)?;
            let map = |file: &str, text: &str| {
                fs::write(format!("/proc/self/{file}"), text).map_err(|error| {
                    format!("user namespaces are not allowed here: {file}: {error}")
                })
            };
            map("setgroups", "deny")?;
            map("uid_map", &format!("{user} {user} 1"))?;
            map("gid_map", &format!("{group} {group} 1"))?;
        }
        Err(error) => return Err(not_allowed(error)),
    }
    let restricted = |error: io::Error| {
        format!(
            "user namespaces are restricted here (kernel.apparmor_restrict_unprivileged_userns?): {error}"
        )
    };
    // Some systems hand out namespaces without the rights that belong to them.
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)
        .map_err(|error| restricted(error.into()))?;
    match set {
        NamespaceSet::Mounts => Ok(()),
        NamespaceSet::Network | NamespaceSet::Processes => loopback().map_err(restricted),
    }
}

fn not_allowed(error: Errno) -> String {
    format!(
        "user namespaces are not allowed here (kernel.unprivileged_userns_clone, user.max_user_namespaces?): {error}"
    )
}

#[expect(
    deprecated,
    reason = "what makes it unsafe is UnshareFlags::FILES, which is never asked for"
)]
fn unshare(what: UnshareFlags) -> Result<(), Errno> {
    rustix::thread::unshare(what)
}

/// Sets the loopback interface up: `RTM_NEWLINK` for interface 1 with `IFF_UP`, and waits for the answer.
fn loopback() -> io::Result<()> {
    const LENGTH: u32 = 32;
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACK: u16 = 5;
    let mut message = Vec::new();
    message.extend(LENGTH.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACK.to_ne_bytes());
    // The number of the message, and the port of the sender.
    message.extend([0; 8]);
    // The family, padding and the kind of the device.
    message.extend([0; 4]);
    let (interface, up): (i32, u32) = (1, 1);
    message.extend(interface.to_ne_bytes());
    // The flags, and which of them change.
    message.extend(up.to_ne_bytes());
    message.extend(up.to_ne_bytes());
    let kernel = SocketAddrNetlink::new(0, 0);
    // The first protocol of netlink is that of networks.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    sendto(&socket, &message, SendFlags::empty(), &kernel)?;
    let mut answer = [0_u8; 256];
    let (length, _) = recv(&socket, &mut answer, RecvFlags::empty())?;
    // After the header of 16 bytes: the error, negated, 0 if all is well.
    let code = answer.get(16..20).filter(|_| length >= 20).and_then(|code| code.try_into().ok());
    match code.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::Error::other("the kernel does not answer")),
    }
}
