//! The user at the other end of a connection (SPEC GW-2).
//!
//! On loopback a program needs no token if it runs as the gateway's own user or as root. That is looked up once for
//! each connection, when it is accepted, because all requests of a connection come from one socket.

#[cfg(target_os = "linux")]
mod sock_diag;

use std::net::{SocketAddr, TcpListener};

use tokio::net::{TcpStream, UnixStream};

/// Finds the user that owns the client's end of a connection, from the client's and the gateway's address. Returns
/// `None` if that cannot be found out. Must not block: runs on a serving thread.
pub type UserLookup = fn(client: SocketAddr, gateway: SocketAddr) -> Option<u32>;

/// The user of a connection, as far as permissions depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConnectionUser {
    /// A program of the user that runs the gateway, or of root.
    Owner,
    /// The same, over the Unix socket that only they can open: needs no token, whatever the settings say.
    OwnSocket,
    /// A program of another user of this machine.
    OtherUser(u32),
    /// Unknown, or not looked up because a token is needed anyway.
    #[default]
    Unknown,
}

impl ConnectionUser {
    /// Looks up the user of `stream`.
    pub(crate) fn of(stream: &TcpStream, lookup: UserLookup) -> Self {
        let (Ok(client), Ok(gateway)) = (stream.peer_addr(), stream.local_addr()) else {
            return Self::Unknown;
        };
        let user = lookup(client, gateway);
        // If the client has reset the connection, its port may be another program's by now.
        match (user, stream.peer_addr()) {
            (Some(0), Ok(_)) => Self::Owner,
            (Some(user), Ok(_)) if is_own(user) => Self::Owner,
            (Some(user), Ok(_)) => Self::OtherUser(user),
            _ => Self::Unknown,
        }
    }

    /// Returns the user of a connection over our Unix socket. `None` if it is another user, who should not have been
    /// able to open it.
    pub fn of_socket(stream: &UnixStream) -> Option<Self> {
        let user = stream.peer_cred().ok()?.uid();
        (user == 0 || is_own(user)).then_some(Self::OwnSocket)
    }

    /// Returns why a token is needed on loopback, and what to do.
    pub(crate) fn demand(self) -> String {
        let why = match self {
            Self::Owner | Self::OwnSocket => "",
            Self::OtherUser(user) => {
                &format!(" because user {user} is not the one who runs this gateway")
            }
            Self::Unknown => " because it could not be found out which user this connection is of",
        };
        format!(
            "a token is needed{why}: send it as `Authorization: Bearer TOKEN`; who runs the gateway makes one with \
             `switchboard token new --name NAME`"
        )
    }
}

/// The lookup of this system.
#[cfg(target_os = "linux")]
pub(crate) const SYSTEM: UserLookup = sock_diag::user_of;
/// The lookup of this system: none without unsafe code, so a token is needed.
#[cfg(not(target_os = "linux"))]
pub(crate) const SYSTEM: UserLookup = |_, _| None;

/// Returns whether users of connections to `address` can be looked up, by trying a connection of our own. Returns true
/// if there can be no such connection.
pub(crate) fn works(lookup: UserLookup, address: SocketAddr) -> bool {
    let found = || {
        let listener = TcpListener::bind((address.ip(), 0))?;
        let gateway = listener.local_addr()?;
        // It waits in the listener's queue; it need not be accepted.
        let client = std::net::TcpStream::connect(gateway)?;
        Ok::<_, std::io::Error>(lookup(client.local_addr()?, gateway).is_some())
    };
    found().unwrap_or(true)
}

#[cfg(unix)]
fn is_own(user: u32) -> bool {
    rustix::process::geteuid().as_raw() == user
}

#[cfg(not(unix))]
fn is_own(_: u32) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (client, listener.accept().await.unwrap().0)
    }

    // GW-2
    #[tokio::test]
    async fn only_our_own_user_and_root_are_owners() {
        let (_client, stream) = pair().await;
        let cases: [(UserLookup, ConnectionUser); 4] = [
            (|_, _| Some(0), ConnectionUser::Owner),
            (|_, _| Some(rustix::process::geteuid().as_raw()), ConnectionUser::Owner),
            (|_, _| Some(4_000_000), ConnectionUser::OtherUser(4_000_000)),
            (|_, _| None, ConnectionUser::Unknown),
        ];
        for (lookup, expected) in cases {
            assert_eq!(ConnectionUser::of(&stream, lookup), expected);
        }
    }

    // GW-2
    #[test]
    fn it_is_known_whether_users_can_be_found_out() {
        let address = "127.0.0.1:7300".parse().unwrap();
        assert_eq!(works(SYSTEM, address), cfg!(target_os = "linux"));
        assert!(!works(|_, _| None, address));
    }

    // GW-2
    #[tokio::test]
    async fn a_connection_that_was_reset_has_no_owner() {
        let (client, stream) = pair().await;
        client.set_zero_linger().unwrap();
        drop(client);
        stream.readable().await.unwrap();
        assert_eq!(ConnectionUser::of(&stream, |_, _| Some(0)), ConnectionUser::Unknown);
    }
}
