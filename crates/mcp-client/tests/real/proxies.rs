//! Servers behind real proxies: tinyproxy, proxy.py and microsocks.
//!
//! Nothing on loopback is behind a proxy, so servers are asked for at `0.0.0.0`, which is this machine, too.

use std::sync::Arc;

use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use switchboard_mcp_client::{
    Failure, HttpConfig, HttpTransport, Inbox, Proxies, Transport, TransportRequest,
};
use switchboard_mcp_wire::IncomingMessage;
use tokio::{io::AsyncReadExt, net::TcpListener, process::Command};

use crate::{
    http::Listening,
    parts::{Folder, part},
    rust_server::RustServer,
};

const HELLO: &str =
    r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}"#;

/// Nothing is expected there.
struct Silent;

impl Inbox for Silent {
    fn take(&self, _: IncomingMessage) {}
}

/// What a server at `url` says to `initialize`, or why it cannot be reached.
async fn hello(url: &str, proxy: &str, no: &str) -> String {
    let config = HttpConfig {
        url: url.to_owned(),
        proxies: Proxies::all(proxy, no),
        ..HttpConfig::default()
    };
    let transport = HttpTransport::new("behind", &config, Arc::new(Silent)).unwrap();
    let request = TransportRequest::new(1, "initialize", Some(HELLO));
    match transport.request(request).await {
        Ok(result) => result.get().to_owned(),
        Err(Failure::Http { status, .. }) => status.to_string(),
        Err(failure) => format!("{failure:?}"),
    }
}

/// A server on the Rust SDK, and its address as it is when it is not on loopback.
async fn server() -> (RustServer, String) {
    let server = RustServer::start(StreamableHttpServerConfig::default().disable_allowed_hosts());
    let server = server.await;
    let url = server.config().url.unwrap().replace("127.0.0.1", "0.0.0.0");
    (server, url)
}

/// Whether the bytes that a server gets are those of TLS.
async fn is_tls(proxy: &str) -> bool {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://0.0.0.0:{}/mcp", listener.local_addr().unwrap().port());
    let (_, first) = tokio::join!(hello(&url, proxy, ""), async {
        let mut first = [0; 2];
        listener.accept().await.unwrap().0.read_exact(&mut first).await.unwrap();
        first
    });
    // A handshake of version 3.
    first == [0x16, 3]
}

/// A proxy that forwards requests, and opens tunnels if it is told to.
async fn tinyproxy(folder: &Folder, tunnels: bool) -> Listening {
    let log = folder.file("log");
    Listening::start(|port| {
        let tunnels = if tunnels { "" } else { "ConnectPort 0\n" };
        let settings = format!(
            "Port {port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 20\nLogFile \"{log}\"\nLogLevel Connect\n\
             BasicAuth ada secret\n{tunnels}"
        );
        let mut command = Command::new("tinyproxy");
        command.args(["-d", "-c", &folder.write("settings", &settings)]);
        command
    })
    .await
}

// MC-1
#[tokio::test]
async fn tinyproxy_forwards_http_and_tunnels_tls() {
    let (_server, url) = server().await;
    let folder = Folder::new();
    let proxy = tinyproxy(&folder, false).await;
    let address = |user: &str| format!("http://{user}127.0.0.1:{}", proxy.port());
    let answer = hello(&url, &address("ada:secret@"), "").await;
    assert!(answer.contains("serverInfo"), "{answer}");
    let line = format!("POST {url} HTTP/1.1");
    assert!(folder.read("log").contains(&line), "{}", folder.read("log"));
    assert!(!folder.read("log").contains("): CONNECT"), "{}", folder.read("log"));
    for user in ["", "ada:wrong@"] {
        let answer = hello(&url, &address(user), "").await;
        assert!(answer.starts_with("401") || answer.starts_with("407"), "{answer}");
    }
    let answer = hello(&url, &address(""), "0.0.0.0/8").await;
    assert!(answer.contains("serverInfo"), "it is in NO_PROXY: {answer}");

    let folder = Folder::new();
    let proxy = tinyproxy(&folder, true).await;
    let address = |user: &str| format!("http://{user}127.0.0.1:{}", proxy.port());
    assert!(is_tls(&address("ada:secret@")).await);
    assert!(folder.read("log").contains("): CONNECT 0.0.0.0:"), "{}", folder.read("log"));
    let refused = hello("https://0.0.0.0:9/mcp", &address(""), "").await;
    assert!(refused.contains("Lost"), "{refused}");
}

// MC-1
#[tokio::test]
async fn proxy_py_forwards_http_and_tunnels_tls() {
    let (_server, url) = server().await;
    let proxy = Listening::start(|port| {
        let mut command = Command::new(part("proxies/venv/bin/proxy"));
        command.args(["--hostname", "127.0.0.1", "--port", &port.to_string()]);
        command.args(["--basic-auth", "ada:secret", "--num-workers", "1"]);
        command
    })
    .await;
    let address = |user: &str| format!("http://{user}127.0.0.1:{}", proxy.port());
    let answer = hello(&url, &address("ada:secret@"), "").await;
    assert!(answer.contains("serverInfo"), "{answer}");
    let answer = hello(&url, &address("ada:wrong@"), "").await;
    assert!(answer.starts_with("407"), "{answer}");
    assert!(is_tls(&address("ada:secret@")).await);
}

// MC-1
#[tokio::test]
async fn a_server_is_reached_through_socks() {
    let (_server, url) = server().await;
    let proxy = Listening::start(|port| {
        let mut command = Command::new("microsocks");
        command.args(["-i", "127.0.0.1", "-p", &port.to_string(), "-u", "ada", "-P", "secret"]);
        command
    })
    .await;
    for scheme in ["socks5", "socks5h"] {
        let address = |user: &str| format!("{scheme}://{user}127.0.0.1:{}", proxy.port());
        let answer = hello(&url, &address("ada:secret@"), "").await;
        assert!(answer.contains("serverInfo"), "{answer}");
        for user in ["", "ada:wrong@"] {
            let answer = hello(&url, &address(user), "").await;
            assert!(answer.contains("Lost"), "{answer}");
        }
        assert!(is_tls(&address("ada:secret@")).await);
    }
}
