//! A machine for tests: a home with a key, folders inside and outside of a sandbox, another process, and sockets that listen.

use std::{
    fs,
    net::{TcpListener as BlockingListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::{PermissionsExt, chown},
            net::{SocketAddr, UnixDatagram, UnixListener},
        },
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};
use switchboard_sandbox::SandboxAllow;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::boxed::texts;

/// Processes and sockets end when it is dropped.
pub(crate) struct TestHost {
    folder: TempDir,
    other: Child,
    sockets: Sockets,
    described: Value,
    http: u16,
    echo: u16,
}

struct Sockets {
    _tcp: BlockingListener,
    tcp6: Option<BlockingListener>,
    _elsewhere: Option<BlockingListener>,
    _udp: UdpSocket,
    _unix: [UnixListener; 2],
    _datagrams: UnixDatagram,
    _abstract: UnixListener,
}

/// Where the proxy listens in a network of the program's own.
const PROXY_PORT: u16 = 3128;

/// A user who is not us.
const NOBODY: u32 = 65534;

impl TestHost {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        for file in [
            "home/.ssh/id",
            "home/.ssh/other",
            "home/.ssh/folder/x",
            "outside/secret",
            "shared/readable",
            "shared/removable",
            "shared/state/vault",
            "work/own",
            "home/notes/a",
        ] {
            let file = base.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "content").unwrap();
        }
        std::os::unix::fs::symlink(base.join("home/.ssh/id"), base.join("shared/link")).unwrap();
        std::os::unix::fs::symlink(base.join("outside/unix"), base.join("shared/socket_link"))
            .unwrap();
        fs::copy("/bin/true", base.join("outside/program")).unwrap();
        fs::set_permissions(base.join("outside/program"), fs::Permissions::from_mode(0o755))
            .unwrap();
        // Only root can have a program run as somebody else.
        fs::copy("/usr/bin/id", base.join("shared/as_owner")).unwrap();
        let _ = chown(base.join("shared/as_owner"), Some(NOBODY), None);
        fs::set_permissions(base.join("shared/as_owner"), fs::Permissions::from_mode(0o4755))
            .unwrap();
        let other = Command::new("sleep")
            .arg("600")
            .env("SECRET", "secret")
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let tcp = BlockingListener::bind("127.0.0.1:0").unwrap();
        let tcp6 = BlockingListener::bind("[::1]:0").ok();
        let port = |socket: &BlockingListener| socket.local_addr().unwrap().port();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (unix, datagrams) = (base.join("outside/unix"), base.join("outside/datagrams"));
        let name = format!("switchboard-{}", base.file_name().unwrap().to_string_lossy());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let (http, echo) = (serve(http).await, serve(echo).await);
        let described = json!({
            "home": base.join("home"), "work": base.join("work"), "outside": base.join("outside"),
            "shared": base.join("shared"), "other": other.id(), "switchboard": std::process::id(),
            "tcp": port(&tcp), "tcp6": tcp6.as_ref().map_or(1, port), "udp": udp.local_addr().unwrap().port(),
            "unix_socket": unix, "datagram_socket": datagrams, "abstract_socket": name,
            "proxy_port": PROXY_PORT, "http": http, "echo": echo, "processes": 100, "files": 200,
            "address": memory_of(other.id()), "ways": [],
        });
        let sockets = Sockets {
            _tcp: tcp,
            tcp6,
            _elsewhere: BlockingListener::bind(("127.0.0.2", PROXY_PORT)).ok(),
            _udp: udp,
            _unix: [unix, base.join("shared/socket")].map(|path| UnixListener::bind(path).unwrap()),
            _datagrams: UnixDatagram::bind(datagrams).unwrap(),
            _abstract: UnixListener::bind_addr(&address).unwrap(),
        };
        Self { folder, other, sockets, described, http, echo }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn http(&self) -> u16 {
        self.http
    }

    pub(crate) fn has_ipv6(&self) -> bool {
        self.sockets.tcp6.is_some()
    }

    /// What the ways out have to know, for these ways; all if empty.
    pub(crate) fn described(&self, ways: &[&str]) -> String {
        let mut described = self.described.clone();
        described["ways"] = json!(ways);
        described.to_string()
    }

    /// The same, with another process than that which is there.
    pub(crate) fn described_with(&self, ways: &[&str], other: u32) -> String {
        let mut described = self.described.clone();
        described["ways"] = json!(ways);
        described["other"] = json!(other);
        described["address"] = json!(memory_of(other));
        described.to_string()
    }

    /// What a program in this world may do.
    pub(crate) fn allowed(&self) -> SandboxAllow {
        SandboxAllow {
            read: texts([&self.path("shared"), &self.path("home"), Path::new(WAYS)]),
            write: texts([&self.path("work")]),
            run: texts([&self.path("shared/as_owner")]),
            connect: [self.http, self.echo].map(|port| format!("127.0.0.1:{port}")).into(),
            ..SandboxAllow::default()
        }
    }
}

impl Drop for TestHost {
    fn drop(&mut self) {
        let _ = self.other.kill();
        let _ = self.other.wait();
    }
}

/// The program that tries the ways out.
pub(crate) const WAYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/ways_out.py");

/// An address that the process has something at.
fn memory_of(pid: u32) -> u64 {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let first = maps.split('-').next().unwrap_or_default();
    u64::from_str_radix(first, 16).unwrap_or_default()
}

async fn serve(answer: fn(&[u8]) -> Vec<u8>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut link, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut said = vec![0; 4096];
                while let Ok(length @ 1..) = link.read(&mut said).await {
                    let _ = link.write_all(&answer(&said[..length])).await;
                }
            });
        }
    });
    port
}

fn http(_: &[u8]) -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello".to_vec()
}

fn echo(said: &[u8]) -> Vec<u8> {
    said.to_vec()
}
