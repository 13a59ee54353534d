//! The server that is called.

use std::{
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use switchboard_mcp_client::ServerConfig;
use tokio::process::{Child, Command};

/// How a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Stdio,
    Http,
}

/// The fixture: over HTTP a running program, over stdio one that each client starts for itself.
pub(crate) struct Fixture {
    pub(crate) way: Way,
    tools: String,
    port: u16,
    /// Ended with us.
    _listening: Option<Child>,
}

impl Fixture {
    /// The fixture with four tools and `more` besides.
    pub(crate) async fn start(way: Way, more: usize) -> Self {
        let tools = more.to_string();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let listening = (way == Way::Http).then(|| {
            let address = format!("127.0.0.1:{port}");
            let mut command = Command::new(program("upstream"));
            command.args(["http", "--bind", &address, "--tools", &tools]).stderr(Stdio::null());
            command.kill_on_drop(true).spawn().unwrap()
        });
        while listening.is_some() && TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Self { way, tools, port, _listening: listening }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self.way {
            Way::Stdio => "stdio",
            Way::Http => "streamable HTTP",
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// The command of a client's own fixture.
    pub(crate) fn command(&self) -> Vec<String> {
        let program = program("upstream").into_os_string().into_string().unwrap();
        vec![program, "stdio".to_owned(), "--tools".to_owned(), self.tools.clone()]
    }

    /// The settings of our client.
    pub(crate) fn config(&self) -> ServerConfig {
        let mut command = self.command().into_iter();
        match self.way {
            Way::Http => ServerConfig { url: Some(self.url()), ..ServerConfig::default() },
            Way::Stdio => ServerConfig {
                command: command.next(),
                args: command.collect(),
                ..ServerConfig::default()
            },
        }
    }
}

/// Returns a program of the benchmark, which cargo puts beside this one.
pub(crate) fn program(name: &str) -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let path = this.parent().and_then(Path::parent).unwrap().join(name);
    let is_there = path.is_file();
    assert!(is_there, "{name} is missing: `cargo build --release -p switchboard-bench` builds it");
    path
}
