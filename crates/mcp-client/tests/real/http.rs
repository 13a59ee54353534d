//! Servers that are programs of their own and listen on a port.

use std::{
    net::{Ipv4Addr, TcpListener, TcpStream},
    process::Stdio,
};

use switchboard_mcp_client::ServerConfig;
use tokio::process::{Child, Command};

use crate::test_servers::until;

/// A program that listens, ended with everything that it started when this is dropped.
pub(crate) struct Listening {
    child: Child,
    port: u16,
}

impl Listening {
    /// Starts what `command` makes of a port, and waits until it can be connected to.
    pub(crate) async fn start(command: impl FnOnce(u16) -> Command) -> Self {
        let port = free_port();
        let mut command = command(port);
        command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        until("the server listens", || {
            assert_eq!(child.try_wait().unwrap(), None, "the server ended");
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
        })
        .await;
        Self { child, port }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The settings of a client of it.
    pub(crate) fn config(&self) -> ServerConfig {
        let url = format!("http://127.0.0.1:{}/mcp", self.port);
        ServerConfig { url: Some(url), ..ServerConfig::default() }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let group = self.child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()));
        // It may have ended already.
        _ = group
            .map(|group| rustix::process::kill_process_group(group, rustix::process::Signal::KILL));
    }
}

/// A port that nobody listens on now.
fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}
