//! Which protocol a server spoke is remembered, and a memory that is wrong mends itself (MC-1).

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::json;
use switchboard_mcp_client::{KnownProtocols, ServerConfig, ServerState};
use switchboard_runtime::toolcall::HumanDuration;
use switchboard_testkit::Logs;
use tempfile::TempDir;
use tracing::Level;

use super::{TestServers, example, misbehaving};

/// A place for the memory, and for a server that can be replaced by another one under the same command.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Installs a server that misbehaves so; everything that it gets is in `input`.
    fn install(&self, modes: &str) -> ServerConfig {
        let program = self.file("server");
        let (server, input) = (example("misbehaving_server"), self.file("input"));
        let (server, input) = (server.display(), input.display());
        fs::write(&program, format!("#!/bin/sh\nexec '{server}' 'logs-input={input},{modes}'\n"))
            .unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        ServerConfig { command: Some(program.display().to_string()), ..ServerConfig::default() }
    }

    /// Connects as a process of its own would. Returns the attempts, the methods that the server was asked and the
    /// protocol that was agreed on.
    async fn connect(&self, config: ServerConfig) -> (usize, Vec<String>, String) {
        fs::write(self.file("input"), "").unwrap();
        let logs = Logs::collect(Level::INFO);
        let memory = Arc::new(KnownProtocols::load(self.file("state/protocols.json")));
        let test = TestServers::with_deps([("s", config)], |deps| {
            deps.mcp.retry_base_delay = HumanDuration(Duration::from_millis(1));
            deps.protocols = memory;
        });
        test.servers.wait_until_ready().await;
        assert_eq!(test.call("s__echo", json!({"text": "hi"})).await.text(), "hi");
        let ServerState::Ready(session) = test.servers.get("s").unwrap().state() else {
            panic!("not connected")
        };
        let protocol = session.era().version().to_owned();
        test.servers.close().await;
        let attempts =
            logs.lines().iter().filter(|line| line.contains("connection attempt")).count();
        (attempts, openings(&self.file("input")), protocol)
    }
}

/// The methods of a log of messages up to `tools/list`, without the notifications.
fn openings(log: &Path) -> Vec<String> {
    let log = fs::read_to_string(log).unwrap();
    let methods = log.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        message.get("id")?;
        Some(message["method"].as_str()?.to_owned())
    });
    methods.take_while(|method| method != "tools/list").collect()
}

// MC-1: dying of the probe costs an attempt, the first time only.
#[tokio::test]
async fn a_server_that_dies_of_the_probe_connects_on_attempt_2_and_then_on_attempt_1() {
    let machine = Machine::new();
    let config = machine.install("dies-on-discover");
    let (attempts, asked, _) = machine.connect(config.clone()).await;
    assert_eq!((attempts, asked), (2, vec!["server/discover".to_owned(), "initialize".to_owned()]));
    let (attempts, asked, _) = machine.connect(config.clone()).await;
    assert_eq!((attempts, asked), (1, vec!["initialize".to_owned()]));
    // Another command of the same name does not inherit that, and a damaged file is no memory.
    let other = ServerConfig { args: vec!["unused".to_owned()], ..config.clone() };
    assert_eq!(machine.connect(other).await.0, 2);
    fs::write(machine.file("state/protocols.json"), "garbage").unwrap();
    assert_eq!(machine.connect(config).await.0, 2);
}

// MC-1: each server is opened as it was spoken to before; one that was replaced costs no attempt.
#[tokio::test]
async fn a_server_that_was_replaced_is_met_on_attempt_1() {
    let machine = Machine::new();
    let steps: [(&str, &[&str], &str); 5] = [
        ("", &["server/discover", "initialize"], "2025-11-25"),
        ("", &["initialize"], "2025-11-25"),
        ("modern", &["initialize", "server/discover"], "2026-07-28"),
        ("modern", &["server/discover"], "2026-07-28"),
        ("", &["server/discover", "initialize"], "2025-11-25"),
    ];
    for (modes, asked, protocol) in steps {
        let met = machine.connect(machine.install(modes)).await;
        let asked = asked.iter().map(|method| (*method).to_owned()).collect();
        assert_eq!(met, (1, asked, protocol.to_owned()), "{modes}");
    }
}

// MC-1: even one that dies of the message that the memory wants to begin with.
#[tokio::test]
async fn a_memory_that_kills_the_server_is_doubted() {
    let machine = Machine::new();
    machine.connect(machine.install("")).await;
    let (attempts, asked, protocol) =
        machine.connect(machine.install("modern,dies-on-initialize")).await;
    let expected = vec!["initialize".to_owned(), "server/discover".to_owned()];
    assert_eq!((attempts, asked, protocol.as_str()), (2, expected, "2026-07-28"));
    let (attempts, asked, _) = machine.connect(machine.install("dies-on-discover")).await;
    assert_eq!((attempts, asked), (2, vec!["server/discover".to_owned(), "initialize".to_owned()]));
}

// MC-1: a memory that cannot be written is no error.
#[tokio::test]
async fn a_place_that_takes_no_memory_is_no_error() {
    let machine = Machine::new();
    fs::write(machine.file("state"), "a file in the place of the folder").unwrap();
    for _ in 0..2 {
        assert_eq!(machine.connect(machine.install("dies-on-discover")).await.0, 2);
    }
}

// MC-1: what is prescribed is spoken, whatever is remembered.
#[tokio::test]
async fn a_prescribed_protocol_needs_no_memory() {
    let test = TestServers::configured(ServerConfig {
        protocol: switchboard_mcp_client::Protocol::Legacy,
        ..misbehaving("dies-on-discover")
    })
    .await;
    assert_eq!(test.call("s__echo", json!({"text": "hi"})).await.text(), "hi");
    assert_eq!(test.servers.get("s").unwrap().starts(), 1);
    test.servers.close().await;
}
