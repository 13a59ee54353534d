//! The gateway that clients talk to, and the parts that they are made of.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use serde_json::json;
use switchboard_testkit::parts::example;
pub(crate) use switchboard_testkit::parts::part;

pub(crate) const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

pub(crate) fn node() -> String {
    part("mcp-node/node_modules/.bin/node")
}

/// The command of a gateway before the server that the conformance suite's tests use.
pub(crate) fn command(upstream: &str) -> Vec<String> {
    let script = format!("{PACKAGE}/tests/conformance/upstream.mjs");
    let servers = json!({"up": {"command": node(), "args": [script, upstream], "prefix": ""}});
    let program = example("gateway").into_os_string().into_string().unwrap();
    vec![program, "--servers".to_owned(), servers.to_string()]
}

/// A gateway that listens until it is dropped.
pub(crate) struct Listening {
    child: Child,
    pub(crate) url: String,
}

impl Listening {
    pub(crate) fn before(upstream: &str) -> Self {
        Self::several(upstream, &[])
    }

    /// As many gateways as these arguments say, behind one address.
    pub(crate) fn several(upstream: &str, arguments: &[&str]) -> Self {
        let command = command(upstream);
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .args(["--http", "0"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { child, url: url.trim().to_owned() }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Runs a program to its end and returns what it printed.
pub(crate) fn run(program: &str, args: &[String]) -> String {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{program} {args:?}\n{}\n{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}
