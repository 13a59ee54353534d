//! What two gateways recorded, read from one place: with a broker that goes away, and a gateway that is killed.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    thread,
};

use serde_json::{Value, json};
use switchboard_testkit::Nats;
use tempfile::TempDir;

use crate::serving::{Ending, http, part, switchboard, wait_for};

/// A NATS of a test's own.
struct TestCluster {
    nats: Nats,
    _folder: TempDir,
}

impl TestCluster {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let parts = part("nats").parent().unwrap().to_owned();
        Self { nats: Nats::start(&parts, folder.path()), _folder: folder }
    }

    /// A node in a folder and a store of its own.
    fn node(&self) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            "[executor]\ntimeout = \"10m\"\n[cluster]\nnats = {:?}\n[[tools]]\nname = \"mock\"\ndescription = \"A mock\"\n\
             implementation = {{ type = \"mock\", mock_response = 1 }}\n",
            self.nats.url()
        );
        fs::write(folder.path().join("switchboard.toml"), config).unwrap();
        folder
    }
}

/// A gateway that listens; `mock` never answers.
fn serve(folder: &Path) -> (Ending, String) {
    let words = ["serve", "--json", "--listen", "127.0.0.1:0", "--fault", "mock: 100% timeout"];
    let mut command = switchboard(folder, &words);
    let mut process = Ending(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    (process, told["address"].as_str().unwrap().replace("http://", ""))
}

fn call(address: &str, tool: &str) -> String {
    let head = "Content-Type: application/json\r\n";
    http(address, "POST", &format!("/api/tools/{tool}/call"), head, "{}")
}

/// What a command prints as JSON; none where it fails.
fn asked(folder: &Path, words: &[&str]) -> Option<Value> {
    let output = switchboard(folder, words).output().unwrap();
    serde_json::from_slice(&output.stdout).ok().filter(|_| output.status.success())
}

/// Outcome by id, as the list has it.
fn outcomes(list: &Value) -> Vec<(String, String)> {
    let text = |call: &Value, key: &str| call[key].as_str().unwrap().to_owned();
    list.as_array().unwrap().iter().map(|call| (text(call, "id"), text(call, "outcome"))).collect()
}

fn own(folder: &Path) -> Vec<(String, String)> {
    outcomes(&asked(folder, &["calls", "--json", "--limit", "0"]).unwrap())
}

fn of_fleet(folder: &Path) -> Option<Vec<(String, String)>> {
    asked(folder, &["calls", "--cluster", "--json", "--limit", "0"]).as_ref().map(outcomes)
}

/// Waits until the cluster has what both journals have, each call once.
fn agree(one: &Path, other: &Path) -> Vec<(String, String)> {
    wait_for("the cluster's records are those of both journals", || {
        let found = of_fleet(one)?;
        let each: BTreeMap<_, _> = found.iter().cloned().collect();
        let both: BTreeMap<_, _> = own(one).into_iter().chain(own(other)).collect();
        (each.len() == found.len() && each == both).then_some(found)
    })
}

// RC-1, RC-2
#[test]
fn the_fleet_has_what_both_journals_have() {
    let mut cluster = TestCluster::start();
    let (one, other) = (cluster.node(), cluster.node());
    let (one, other) = (one.path(), other.path());
    let (first, second) = (serve(one), serve(other));
    for _ in 0..5 {
        call(&first.1, "echo");
        call(&second.1, "nobody");
    }
    assert_eq!(agree(one, other).len(), 10);

    // Nothing is lost while the broker is away, and nothing waits for it.
    cluster.nats.kill();
    for _ in 0..20 {
        call(&first.1, "echo");
        call(&second.1, "echo");
    }
    cluster.nats.restart();
    assert_eq!(agree(one, other).len(), 50);

    // Killed in mid-call: it is seen in flight, and as unknown as soon as anybody looks after the store.
    let address = first.1.clone();
    let caller = thread::spawn(move || {
        std::panic::catch_unwind(|| call(&address, "mock")).unwrap_or_default()
    });
    let running = |outcome: &'static str| {
        move |found: Vec<(String, String)>| found.into_iter().find(|(_, is)| is == outcome)
    };
    let (id, _) = wait_for("the call is seen", || of_fleet(other).and_then(running("running")));
    let mut killed = first.0;
    killed.0.kill().unwrap();
    killed.0.wait().unwrap();
    caller.join().unwrap();
    assert_eq!(of_fleet(other).and_then(running("running")).unwrap().0, id);
    assert_eq!(asked(one, &["call", "echo", "--json"]).unwrap()["success"], true);
    let unknown =
        wait_for("the call is unknown", || of_fleet(other).and_then(running("outcome_unknown")));
    assert_eq!(unknown.0, id);
    assert_eq!(agree(one, other).len(), 52);

    let shown = asked(other, &["calls", "show", "--cluster", &id, "--json"]).unwrap();
    assert_eq!((&shown["tool"], &shown["outcome"]), (&json!("mock"), &json!("outcome_unknown")));
    assert!(shown["node"]["id"].is_string() && shown["node"]["host"].is_string());
    let stats = asked(other, &["calls", "stats", "--cluster", "--json"]).unwrap();
    let calls = stats.as_array().unwrap().iter().map(|tool| tool["calls"].as_u64().unwrap());
    assert_eq!(calls.sum::<u64>(), 52);
    is_told_over_rest(&second.1, &id);
    let exported = switchboard(other, &["calls", "export", "--cluster"]).output().unwrap();
    assert!(exported.status.success());
    assert_eq!(String::from_utf8(exported.stdout).unwrap().lines().count(), 52);
    let rotated = switchboard(other, &["cluster", "rotate-secret"]).output().unwrap();
    let said = String::from_utf8(rotated.stderr).unwrap();
    assert!(rotated.status.success() && said.contains("the secret was replaced"), "{said}");
    follows(other, &second.1);
    metrics(&second.1);
}

/// Any gateway shows the calls of all, and any call of them.
fn is_told_over_rest(address: &str, id: &str) {
    let json = |path: &str| {
        let text = http(address, "GET", path, "", "");
        let start = text.find(['[', '{']).unwrap_or_default();
        serde_json::from_str::<Value>(text[start..].trim()).unwrap_or_else(|_| panic!("{text}"))
    };
    let listed = json("/api/calls?cluster=true&limit=1000");
    assert_eq!(outcomes(&listed).len(), 52);
    let listed = json("/api/calls?fleet=1&unknown");
    assert_eq!(outcomes(&listed), [(id.to_owned(), "outcome_unknown".to_owned())]);
    let shown = json(&format!("/api/calls/{id}?cluster=true"));
    assert_eq!((&shown["id"], &shown["tool"]), (&json!(id), &json!("mock")));
    assert!(shown["node"]["host"].is_string());
    assert_eq!(json("/api/gateway")["cluster"], true);
}

/// `--follow` shows what ends on another node.
fn follows(folder: &Path, address: &str) {
    let words = ["calls", "--cluster", "--follow", "--json"];
    let mut command = switchboard(folder, &words);
    let mut process = Ending(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
    // Whether it listens already cannot be seen from outside, so it is called until it is heard.
    let address = address.to_owned();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let caller = thread::spawn(move || {
        while stopped.try_recv().is_err() {
            call(&address, "echo");
            thread::sleep(std::time::Duration::from_millis(100));
        }
    });
    let heard: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    stop.send(()).unwrap();
    caller.join().unwrap();
    assert_eq!((&heard["tool"], &heard["outcome"]), (&json!("echo"), &json!("ok")));
    assert!(heard["node"]["id"].is_string());
}

/// `/metrics` tells of the cluster.
fn metrics(address: &str) {
    wait_for("the figures of the cluster", || {
        let text = http(address, "GET", "/metrics", "", "");
        let figure = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().parse::<f64>().ok()
        };
        let is_whole = text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1;
        let connected = figure("switchboard_nats_connected ")?;
        let shipped = figure("switchboard_records_shipped_total ")?;
        let behind = figure("switchboard_records_unshipped_bytes ")?;
        let connections = figure("switchboard_nats_connections_total ")?;
        let is_well = connected == 1.0 && connections >= 2.0 && shipped >= 50.0 && behind == 0.0;
        (is_whole && is_well).then_some(())
    });
}

// RC-2
#[test]
fn who_cannot_be_asked_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let run = |config: &str| {
        fs::write(folder.path().join("switchboard.toml"), config).unwrap();
        let mut command: Command = switchboard(folder.path(), &["calls", "--cluster"]);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (status, said) = run("");
    assert!(status == Some(2) && said.contains("[cluster] nats ="), "{said}");
    let (status, said) = run("[cluster]\nnats = \"nats://u:secret@127.0.0.1:1\"\n");
    let named = said.contains("NATS at nats://127.0.0.1:1 could not be reached");
    assert!(status == Some(1) && named && !said.contains("secret"), "{said}");
    // A call does not wait for it.
    let envelope = asked(folder.path(), &["call", "echo", "--json"]).unwrap();
    assert_eq!(envelope["success"], true);
}
