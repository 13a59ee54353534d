//! Whose process is at the other end of a connection over loopback: the proxy of a program that is watched serves our user alone, as not
//! every program passes on credentials.

use std::{
    fs,
    net::{SocketAddr, SocketAddrV4},
    os::unix::fs::MetadataExt,
};

use tokio::net::TcpStream;

/// What the kernel says of connections; sockets of IPv6 may be connected to IPv4.
const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// Whether the other end of a connection belongs to our user. If that is unknown, it does not.
pub(super) fn is_own_users(client: &TcpStream) -> bool {
    let (Ok(SocketAddr::V4(there)), Ok(SocketAddr::V4(here))) =
        (client.peer_addr(), client.local_addr())
    else {
        return false;
    };
    let Ok(own) = fs::metadata("/proc/self").map(|it| it.uid()) else { return false };
    let tables = TABLES.iter().filter_map(|table| fs::read_to_string(table).ok());
    tables.into_iter().any(|table| user_of(&table, there, here) == Some(own))
}

/// The user whose socket is connected from the one address to the other.
fn user_of(table: &str, from: SocketAddrV4, to: SocketAddrV4) -> Option<u32> {
    let (from, to) = (in_table(from), in_table(to));
    table.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let is_searched = words.next()?.ends_with(&from) && words.next()?.ends_with(&to);
        words.nth(4).filter(|_| is_searched)?.parse().ok()
    })
}

/// An address as the kernel writes it.
fn in_table(address: SocketAddrV4) -> String {
    let ip = u32::from_ne_bytes(address.ip().octets());
    format!("{ip:08X}:{:04X}", address.port())
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    // SB-2
    #[tokio::test]
    async fn a_connection_belongs_to_a_user() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (other, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        let (client, _) = accepted.unwrap();
        assert_eq!(is_own_users(&client), cfg!(target_os = "linux"));
        drop(other);
        let from = "127.0.0.1:40000".parse().unwrap();
        let to = "127.0.0.1:3128".parse().unwrap();
        let (four, six) = (in_table(from), format!("0000000000000000FFFF0000{}", in_table(from)));
        for address in [four, six] {
            let line = format!("0: {address} {} 01 0:0 00:0 0 1000 0 17", in_table(to));
            let table = format!("  sl  local_address rem_address\n{line}\n");
            assert_eq!(user_of(&table, from, to), Some(1000), "{table}");
            assert_eq!(user_of(&table, to, from), None);
        }
    }
}
