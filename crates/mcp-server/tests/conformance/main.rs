//! The MCP conformance suite against our server: both revisions, in front of an upstream of either era, directly and through a
//! profile.
//!
//! `examples/gateway` stands between the suite and `upstream.mjs`, which has the names that the suite wants. What the suite
//! wants for the tasks extension the gateway has itself, with a queue in memory: it is not scored, but looked at here.
//! What is known to fail is in `expected-failures-*.yml`, as in the client's tests.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::json;
use switchboard_testkit::parts::{example, part};

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

// GW-1
#[test]
fn revision_2025_11_25_before_an_old_server() {
    passes("2025-11-25", "legacy", None, 30);
}

// GW-1
#[test]
fn revision_2025_11_25_before_a_new_server() {
    passes("2025-11-25", "modern", None, 30);
}

// GW-1
#[test]
fn revision_2026_07_28_before_an_old_server() {
    passes("2026-07-28", "legacy", None, 37);
}

// GW-1
#[test]
fn revision_2026_07_28_before_a_new_server() {
    passes("2026-07-28", "modern", None, 37);
}

// GW-1, FT-5
#[test]
fn revision_2025_11_25_through_a_profile() {
    passes("2025-11-25", "modern", Some(PROFILE), 30);
}

// GW-1, FT-5
#[test]
fn revision_2026_07_28_through_a_profile() {
    passes("2026-07-28", "modern", Some(PROFILE), 37);
}

/// A profile of the suite's tools, without the local tool that the gateway has besides.
const PROFILE: &str = "suite";

/// The scenarios of the tasks extension, and whether each passes. Tools cannot ask for input while they are queued, which
/// one of them wants; another checks nothing yet.
const TASKS: [(&str, bool); 9] = [
    ("tasks-lifecycle", true),
    ("tasks-capability-negotiation", true),
    ("tasks-wire-fields", true),
    ("tasks-request-state-removal", true),
    ("tasks-mrtr-input", false),
    ("tasks-request-headers", true),
    ("tasks-dispatch-and-envelope", true),
    ("tasks-required-task-error", true),
    ("tasks-mrtr-composition", true),
];

/// Runs what the revision requires of servers, at the address of a profile if one is named; `scored` is how many scenarios
/// that are.
fn passes(revision: &str, upstream: &str, profile: Option<&str>, scored: usize) {
    let gateway = Gateway::before(upstream, profile);
    let expected = format!("tests/conformance/expected-failures-{upstream}-upstream.yml");
    let output = Command::new(part("mcp-node/node_modules/.bin/node"))
        .arg(part("mcp-node/node_modules/.bin/conformance"))
        .args(["server", "--url", &gateway.url, "--requirements", revision])
        .arg("--expected-failures")
        .arg(Path::new(PACKAGE).join(expected))
        .output()
        .unwrap();
    let (told, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{told}\n{errors}");
    let through = profile.map(|_| "-profile").unwrap_or_default();
    keep(&format!("server-{revision}-{upstream}{through}"), &told);
    let summary = told.split("=== SUMMARY ===").nth(1).expect("no summary");
    let lines = summary.lines().take_while(|line| !line.starts_with("Total"));
    let ran = lines.filter(|line| line.starts_with(['✓', '✗'])).count();
    assert!(ran >= scored, "{ran} of {scored} scenarios ran: {told}");
    for (scenario, passes) in TASKS.iter().filter(|_| revision == "2026-07-28") {
        let mark = if *passes { '✓' } else { '✗' };
        assert!(summary.contains(&format!("{mark} {scenario}: ")), "{scenario}: {told}");
    }
}

/// Leaves what the suite said to `cargo xtask conformance`, if that asked for it.
fn keep(run: &str, told: &str) {
    if let Some(folder) = std::env::var_os("SWITCHBOARD_CONFORMANCE") {
        fs::write(Path::new(&folder).join(format!("{run}.txt")), told).unwrap();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A gateway that runs until it is dropped.
struct Gateway {
    child: Child,
    url: String,
}

impl Gateway {
    fn before(upstream: &str, profile: Option<&str>) -> Self {
        let script = format!("{PACKAGE}/tests/conformance/upstream.mjs");
        let servers = json!({"suite": {
            "command": part("mcp-node/node_modules/.bin/node"),
            "args": [script, upstream],
            // The suite knows its names, and sends what its schemas forbid.
            "prefix": "",
            "validate": false,
        }});
        let mut command = Command::new(example("gateway"));
        command.args(["--http", "0", "--tasks", "--servers", &servers.to_string()]);
        if let Some(profile) = profile {
            let profiles = json!({profile: {"deny": ["echo"]}}).to_string();
            command.args(["--echo", "--profiles", &profiles]);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let path = profile.map(|profile| format!("/{profile}")).unwrap_or_default();
        Self { child, url: format!("{}{path}", url.trim()) }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
