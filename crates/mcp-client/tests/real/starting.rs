//! Real processes that are dead, silent, slow to start or that die of the probe (MC-1, MC-2).

use std::{sync::Arc, time::Duration};

use indexmap::IndexMap;
use serde_json::json;
use switchboard_mcp_client::{KnownProtocols, ServerConfig, ServerDeps, ServerFailure, Servers};
use switchboard_process::guard::ProcessGuard;
use switchboard_runtime::{ToolExecutor, toolcall::HumanDuration};
use switchboard_testkit::Logs;
use tracing::Level;

use crate::parts::{Folder, example, part, pypi, stdio};

/// A Python server of the old era that ends at whatever comes before `initialize`, as some do.
const STRICT: &str = r#"
import json, sys

def say(id, result):
    print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)

is_open = False
for line in sys.stdin:
    message = json.loads(line)
    method, id = message["method"], message.get("id")
    if method == "initialize":
        is_open = True
        say(id, {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "strict", "version": "1"}})
    elif not is_open:
        raise RuntimeError("Received request before initialization was complete: " + method)
    elif method == "tools/list":
        say(id, {"tools": [{"name": "hello", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        say(id, {"content": [{"type": "text", "text": "hello"}]})
"#;

/// What came of connecting to one server, called `s`.
struct Connected {
    executor: ToolExecutor,
    servers: Servers,
    told: Vec<String>,
    failures: Option<ServerFailure>,
}

/// Connects as a process of its own would, with what is remembered in `folder`.
async fn connect(config: ServerConfig, folder: &Folder) -> Connected {
    let logs = Logs::collect(Level::INFO);
    let executor = ToolExecutor::default();
    let (failed, failures) = std::sync::mpsc::channel();
    let failed = std::sync::Mutex::new(failed);
    let mut deps = ServerDeps::new(executor.tools());
    deps.announce = Arc::new(move |told| failed.lock().unwrap().send(told.clone()).unwrap());
    deps.guard = Some(ProcessGuard { program: example("guard"), args: Vec::new() });
    deps.protocols = Arc::new(KnownProtocols::load(folder.path().join("protocols.json")));
    deps.mcp.retry_base_delay = HumanDuration(Duration::from_millis(100));
    let configs = IndexMap::from([("s".to_owned(), config)]);
    let servers = Servers::start(configs, executor.tools(), &deps).unwrap();
    servers.wait_until_ready().await;
    let lines = logs.lines();
    let told =
        lines.iter().filter_map(|line| Some(line[line.find("MCP connection")?..].to_owned()));
    Connected { executor, servers, told: told.collect(), failures: failures.try_recv().ok() }
}

fn python(folder: &Folder, script: &str) -> ServerConfig {
    let file = folder.write("server.py", script);
    stdio(part("mcp-python/venv/bin/python"), &[&file])
}

// MC-1: on attempt 2, and the next time on attempt 1.
#[tokio::test]
async fn a_python_server_that_dies_of_the_probe() {
    let folder = Folder::new();
    let config = python(&folder, STRICT);
    let first = connect(config.clone(), &folder).await;
    let expected = [
        "MCP connection attempt 1 of 3 to 's' (delay 0s)",
        "MCP connection attempt 2 of 3 to 's' (delay 0.1s)",
        "MCP connection succeeded on attempt 2",
    ];
    assert_eq!(first.told, expected);
    assert_eq!(first.executor.call("s__hello", json!({})).await.text(), "hello");
    first.servers.close().await;
    let second = connect(config, &folder).await;
    assert_eq!(second.told, expected[..1]);
    assert_eq!(second.executor.call("s__hello", json!({})).await.text(), "hello");
    second.servers.close().await;
}

// MC-1: a server of the official SDK that starts after some seconds gets the probe and `initialize` at once, and is met on
// the same pipe; the next time the probe alone is enough.
#[tokio::test]
async fn a_slow_server_of_the_official_sdk() {
    let folder = Folder::new();
    let program = pypi("mcp-python", "mcp-server-time", &[]).command.unwrap();
    let script = format!("echo x >> '{}'; sleep 4; exec '{program}'", folder.file("starts"));
    let config = stdio("sh".to_owned(), &["-c", &script]);
    for starts in 1..=2 {
        let slow = connect(config.clone(), &folder).await;
        assert_eq!(slow.told, ["MCP connection attempt 1 of 3 to 's' (delay 0s)"]);
        let noon = json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "UTC"});
        assert!(slow.executor.call("s__convert_time", noon).await.is_success());
        assert_eq!(folder.read("starts").lines().count(), starts);
        slow.servers.close().await;
    }
}

// MC-2, MC-4: three starts, one report with the reason and with what it wrote.
#[tokio::test]
async fn a_python_server_that_exits() {
    let folder = Folder::new();
    let starts = folder.file("starts");
    let script = format!(
        "import sys\nopen({starts:?}, 'a').write('x\\n')\nsys.exit('no broker at 127.0.0.1:1883')\n"
    );
    let dead = connect(python(&folder, &script), &folder).await;
    assert_eq!(folder.read("starts").lines().count(), 3);
    let failures = dead.failures.unwrap();
    assert_eq!(failures.stderr, ["no broker at 127.0.0.1:1883"]);
    assert!(
        failures.reason.starts_with("the server exited with status 1; "),
        "{}",
        failures.reason
    );
    assert_eq!(dead.told.len(), 4, "{:?}", dead.told);
    assert_eq!(dead.told[3], failures.error());
    dead.servers.close().await;
}

// MC-2: a program that says nothing has as long as `connect_timeout`.
#[tokio::test]
async fn a_program_that_is_no_server_and_stays_silent() {
    let folder = Folder::new();
    let config = ServerConfig {
        connect_timeout: Some(HumanDuration(Duration::from_millis(300))),
        ..stdio("sleep".to_owned(), &["1000"])
    };
    let silent = connect(config, &folder).await;
    let failures = silent.failures.unwrap();
    assert_eq!(failures.attempts, 3);
    assert!(failures.reason.starts_with("no answer within 0.3s; "), "{}", failures.reason);
    assert!(failures.stderr.is_empty(), "{:?}", failures.stderr);
    silent.servers.close().await;
}
