//! Looks up a TCP socket of this machine by its two addresses: netlink's `sock_diag`, whose cost does not depend on the
//! number of sockets. See `sock_diag(7)` and `linux/inet_diag.h`.

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::LazyLock,
};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType,
    netlink::{SOCK_DIAG, SocketAddrNetlink},
    recvfrom, sendto, socket_with,
};

/// The kernel's end of a netlink socket.
const KERNEL: SocketAddrNetlink = SocketAddrNetlink::new(0, 0);
/// `SOCK_DIAG_BY_FAMILY`, the type of the request and of its response.
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;
/// `IPPROTO_TCP`.
const TCP: u8 = 6;
/// `AF_INET` and `AF_INET6`.
const FAMILIES: (u8, u8) = (2, 10);
/// The length of `struct nlmsghdr`, and of it with `struct inet_diag_req_v2`.
const LENGTHS: (usize, usize) = (16, 72);
/// The user that the kernel names if the real one does not exist in our user namespace.
const OVERFLOW_USER: u32 = 65534;

/// Whether all users of the machine are mapped in our user namespace: a container may know only some.
static KNOWS_ALL_USERS: LazyLock<bool> = LazyLock::new(|| {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
});

/// Returns the user that owns the socket which is bound to `local` and connected to `remote`. Returns `None` if there
/// is no such socket in our network namespace, or no process holds it any more.
pub(super) fn user_of(local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    let response = ask(&request(local, remote)).ok()?;
    let user = SocketEntry::parse(&response)?.user(local, remote)?;
    (user != OVERFLOW_USER || *KNOWS_ALL_USERS).then_some(user)
}

/// Sends a request. The kernel responds while it is being sent, so nothing is waited for.
fn ask(request: &[u8]) -> io::Result<Vec<u8>> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(SOCK_DIAG))?;
    sendto(&socket, request, SendFlags::empty(), &KERNEL)?;
    let mut response = vec![0; 1024];
    let (_, length, sender) = recvfrom(&socket, &mut response[..], RecvFlags::empty())?;
    let sender = sender.map(SocketAddrNetlink::try_from).transpose()?;
    if sender != Some(KERNEL) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    response.truncate(length);
    Ok(response)
}

/// A `struct nlmsghdr` and a `struct inet_diag_req_v2`.
fn request(local: SocketAddr, remote: SocketAddr) -> Vec<u8> {
    let (local_ip, remote_ip) = (local.ip().to_canonical(), remote.ip().to_canonical());
    let family = if local_ip.is_ipv4() { FAMILIES.0 } else { FAMILIES.1 };
    let mut out = Vec::with_capacity(LENGTHS.1);
    out.extend((LENGTHS.1 as u32).to_ne_bytes());
    out.extend(BY_FAMILY.to_ne_bytes());
    out.extend(REQUEST.to_ne_bytes());
    // The sequence number, and our own address, which the kernel sets.
    out.extend([0; 8]);
    // No extensions, sockets of all states.
    out.extend([family, TCP, 0, 0]);
    out.extend(u32::MAX.to_ne_bytes());
    out.extend(local.port().to_be_bytes());
    out.extend(remote.port().to_be_bytes());
    out.extend(address(local_ip));
    out.extend(address(remote_ip));
    // Any interface, and `INET_DIAG_NOCOOKIE`.
    out.extend([0; 4]);
    out.extend([0xff; 8]);
    out
}

/// Returns an address in the kernel's format: four words in network order, of which IPv4 has one.
fn address(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => {
            let [a, b, c, d] = ip.octets();
            [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        }
        IpAddr::V6(ip) => ip.octets(),
    }
}

/// A socket that the kernel found: the relevant part of `struct inet_diag_msg`.
#[derive(Debug, PartialEq, Eq)]
struct SocketEntry {
    local: SocketAddr,
    remote: SocketAddr,
    user: u32,
    inode: u32,
}

impl SocketEntry {
    /// Reads a response. Returns `None` if it is an error, such as that there is no such socket.
    fn parse(response: &[u8]) -> Option<Self> {
        let kind = u16::from_ne_bytes(*response.get(4..)?.first_chunk()?);
        let body = response.get(LENGTHS.0..).filter(|_| kind == BY_FAMILY)?;
        let port = |at: usize| Some(u16::from_be_bytes(*body.get(at..)?.first_chunk()?));
        let number = |at: usize| Some(u32::from_ne_bytes(*body.get(at..)?.first_chunk()?));
        let family = *body.first()?;
        let ip = |at: usize| {
            let bytes: [u8; 16] = *body.get(at..)?.first_chunk()?;
            let [a, b, c, d, ..] = bytes;
            match family {
                family if family == FAMILIES.0 => Some(IpAddr::V4(Ipv4Addr::new(a, b, c, d))),
                // A client may use an IPv6 socket for an IPv4 address.
                family if family == FAMILIES.1 => Some(Ipv6Addr::from(bytes).to_canonical()),
                _ => None,
            }
        };
        Some(Self {
            local: SocketAddr::new(ip(8)?, port(4)?),
            remote: SocketAddr::new(ip(24)?, port(6)?),
            user: number(64)?,
            inode: number(68)?,
        })
    }

    /// Returns the socket's user if it is the requested socket and a process holds it.
    ///
    /// If there is no connection of these addresses the kernel returns a listener. A socket that nobody holds, because
    /// it was closed or is in `TIME_WAIT`, is shown as root's, and has no inode.
    fn user(&self, local: SocketAddr, remote: SocketAddr) -> Option<u32> {
        let is = |own: SocketAddr, asked: SocketAddr| {
            (own.ip(), own.port()) == (asked.ip().to_canonical(), asked.port())
        };
        let is_asked = is(self.local, local) && is(self.remote, remote);
        (is_asked && self.inode != 0).then_some(self.user)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        net::{Shutdown, TcpListener, TcpStream},
    };

    use super::*;

    /// Both ends of a connection to `listen`, made through `connect`.
    fn pair(listen: &str, connect: &str) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((listen, 0)).unwrap();
        let client = TcpStream::connect((connect, listener.local_addr().unwrap().port())).unwrap();
        (client, listener.accept().unwrap().0)
    }

    /// Whose the other end of our connection is.
    fn user(own: &TcpStream) -> Option<u32> {
        user_of(own.peer_addr().unwrap(), own.local_addr().unwrap())
    }

    // GW-2
    #[test]
    fn a_connection_is_found_whatever_its_addresses_look_like() {
        let own = rustix::process::geteuid().as_raw();
        for (listen, connect) in [
            ("127.0.0.1", "127.0.0.1"),
            ("127.0.0.1", "::ffff:127.0.0.1"),
            ("::1", "::1"),
            ("::", "127.0.0.1"),
        ] {
            let (client, accepted) = pair(listen, connect);
            assert_eq!(user(&accepted), Some(own), "{connect} to {listen}");
            client.shutdown(Shutdown::Write).unwrap();
            assert_eq!(user(&accepted), Some(own), "it still reads: {connect} to {listen}");
        }
    }

    // GW-2: the kernel says that these are root's.
    #[test]
    fn a_socket_that_nobody_holds_has_no_user() {
        let (mut client, accepted) = pair("127.0.0.1", "127.0.0.1");
        client.write_all(b"request").unwrap();
        drop(client);
        assert_eq!(user(&accepted), None, "closed by the client");

        let (client, accepted) = pair("127.0.0.1", "127.0.0.1");
        let (own, other) = (accepted.local_addr().unwrap(), accepted.peer_addr().unwrap());
        drop(client);
        drop(accepted);
        assert_eq!(user_of(other, own), None, "in TIME_WAIT");
        assert_eq!(user_of(own, other), None, "gone");
    }

    // GW-2
    #[test]
    fn a_listener_is_not_the_other_end_of_a_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let nobody = "127.0.0.1:9".parse().unwrap();
        assert_eq!(user_of(listener.local_addr().unwrap(), nobody), None);
    }

    // GW-2
    #[test]
    fn a_response_that_is_cut_or_an_error_is_nobody() {
        let (_client, accepted) = pair("127.0.0.1", "127.0.0.1");
        let (local, remote) = (accepted.peer_addr().unwrap(), accepted.local_addr().unwrap());
        let response = ask(&request(local, remote)).unwrap();
        let found = SocketEntry::parse(&response).unwrap();
        assert_eq!((found.local, found.remote), (local, remote));
        assert_eq!(found.user(remote, local), None, "its own other end");
        for length in 0..LENGTHS.0 + 72 {
            assert_eq!(SocketEntry::parse(&response[..length]), None, "{length}");
        }
        let none = ask(&request("127.0.0.1:9".parse().unwrap(), remote)).unwrap();
        assert_eq!(SocketEntry::parse(&none), None);
    }
}
