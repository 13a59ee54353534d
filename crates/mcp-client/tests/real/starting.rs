//! Real processes that are dead, silent, slow to start or that die of the probe (MC-1, MC-2).

use std::{sync::Arc, time::Duration};

use indexmap::IndexMap;
use serde_json::json;
use switchboard_mcp_client::{GivenUp, KnownProtocols, ServerConfig, Servers, Surroundings};
use switchboard_process::guard::Guard;
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
    given_up: Option<GivenUp>,
}

/// Connects as a process of its own would, with what is remembered in `folder`.
async fn connect(config: ServerConfig, folder: &Folder) -> Connected {
    let logs = Logs::collect(Level::INFO);
    let executor = ToolExecutor::default();
    let (failed, given_up) = std::sync::mpsc::channel();
    let failed = std::sync::Mutex::new(failed);
    let mut around = Surroundings::new(executor.tools());
    around.announce = Arc::new(move |told| failed.lock().unwrap().send(told.clone()).unwrap());
    around.guard = Some(Guard { program: example("guard"), args: Vec::new() });
    around.protocols = Arc::new(KnownProtocols::load(folder.path().join("protocols.json")));
    around.mcp.retry_base_delay = HumanDuration(Duration::from_millis(100));
    let configs = IndexMap::from([("s".to_owned(), config)]);
    let servers = Servers::start(configs, executor.tools(), &around).unwrap();
    servers.settled().await;
    let lines = logs.lines();
    let told =
        lines.iter().filter_map(|line| Some(line[line.find("MCP connection")?..].to_owned()));
    Connected { executor, servers, told: told.collect(), given_up: given_up.try_recv().ok() }
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
    let given_up = dead.given_up.unwrap();
    assert_eq!(given_up.stderr, ["no broker at 127.0.0.1:1883"]);
    assert!(
        given_up.reason.starts_with("the server exited with status 1; "),
        "{}",
        given_up.reason
    );
    assert_eq!(dead.told.len(), 4, "{:?}", dead.told);
    assert_eq!(dead.told[3], given_up.error());
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
    let given_up = silent.given_up.unwrap();
    assert_eq!(given_up.attempts, 3);
    assert!(given_up.reason.starts_with("no answer within 0.3s; "), "{}", given_up.reason);
    assert!(given_up.stderr.is_empty(), "{:?}", given_up.stderr);
    silent.servers.close().await;
}
