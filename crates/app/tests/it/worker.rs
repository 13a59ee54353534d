//! `switchboard worker` before anybody hears of it: what is refused, and what is tried again.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::test_folder::TestFolder;

/// An address where nobody listens.
const NOWHERE: &str = "nats://127.0.0.1:1";

const TOOL: &str = r#"
[[tools]]
name = "resize"
description = "Makes it smaller"
parameters = { type = "object" }
implementation = { type = "mock", mock_response = 1 }
"#;

#[test]
fn what_makes_no_sense_is_refused() {
    let group = "[worker]\ngroup = \"gpu\"\n";
    let cases: &[(&str, &[&str], &str)] = &[
        (TOOL, &["--nats", NOWHERE], "which group? Say --group NAME"),
        (TOOL, &["--group", "gpu"], "where is NATS? Say --nats"),
        (TOOL, &["--group", "g p", "--nats", NOWHERE], "`worker.group`: \"g p\" must be"),
        (TOOL, &["--group", "a__b", "--nats", NOWHERE], "`worker.group`: \"a__b\" must be"),
        (TOOL, &["--group", "g", "--nats", "nats://["], "`cluster.nats`: "),
        (
            TOOL,
            &["--group", "g", "--nats", NOWHERE, "--concurrency", "0"],
            "`worker.concurrency`: nothing could run with 0",
        ),
        (
            TOOL,
            &["--group", "g", "--nats", NOWHERE, "--tools", "[a"],
            "`worker.tools`: error parsing glob '[a'",
        ),
        (group, &["--nats", NOWHERE], "there is nothing to offer: define [[tools]]"),
        (group, &["--nats", NOWHERE, "--tools", "call_history"], "there is nothing to offer"),
    ];
    for (config, words, expected) in cases {
        let ran = TestFolder::with_config(config).run(&[&["worker"], *words].concat());
        assert_eq!(ran.status, 2, "{words:?}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{words:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn a_worker_says_what_it_offers_and_ends_when_it_is_told_though_nats_is_away() {
    let offers: &[(&[&str], Value)] = &[
        (&[], serde_json::json!(["resize"])),
        (&["--tools", "math_*,resize"], serde_json::json!(["math_eval", "resize"])),
        (&["--tools", "*e*"], serde_json::json!(null)),
    ];
    for (words, tools) in offers {
        let place = TestFolder::with_config(TOOL);
        let own = ["worker", "--json", "--group", "gpu", "--nats", NOWHERE];
        let mut command = place.command(&[&own[..], words].concat());
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(told["group"], "gpu");
        assert_eq!(told["nats"], NOWHERE);
        match tools {
            // The runtime's own tools are nobody else's.
            Value::Null => {
                let all = told["tools"].to_string();
                assert!(all.contains("echo") && !all.contains("read_result"), "{all}");
            }
            tools => assert_eq!(&told["tools"], tools),
        }
        let pid = process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert_eq!(process.wait().unwrap().code(), Some(0));
    }
}

// RC-2
#[test]
fn a_worker_keeps_its_records_up() {
    let place = TestFolder::with_config(TOOL);
    assert_eq!(place.run(&["call", "echo"]).status, 0);
    let index = place.path().join("state/switchboard/index.db");
    assert!(!index.exists(), "one call does not need it");
    let mut command = place.command(&["worker", "--group", "gpu", "--nats", NOWHERE]);
    let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !index.exists() {
        assert!(process.try_wait().unwrap().is_none(), "it runs");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    process.kill().unwrap();
    process.wait().unwrap();
}

// MC-3, TL-6
#[test]
fn a_cluster_that_is_away_keeps_nobody_but_its_own() {
    let place = TestFolder::with_config(&format!("[cluster]\nnats = {NOWHERE:?}\n"));
    let ran = place.run(&["call", "gpu__resize", "--json"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    let envelope: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(envelope["error_kind"], "unavailable", "{envelope}");
    let text = "Tool 'gpu__resize' is unavailable: NATS at nats://127.0.0.1:1 could not be reached";
    assert_eq!(envelope["error"], text);
    let ran = place.run(&["tools"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.stdout.contains("math_eval"), "{}", ran.stdout);
    assert!(ran.stderr.contains("tools of workers are missing: NATS at"), "{}", ran.stderr);
    assert_eq!(place.run(&["call", "math_eval", "expression=1+1"]).status, 0);
}

#[test]
fn wrong_settings_of_the_cluster_are_named_with_their_line() {
    let place =
        TestFolder::with_config("[cluster]\nnats = \"nats://127.0.0.1:1\"\nprefix = \"a b\"\n");
    let ran = place.run(&["tools"]);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(ran.stderr.contains("switchboard.toml:1: `cluster.prefix`: "), "{}", ran.stderr);
}

/// What a command writes to stderr until a line contains `last`.
fn said(mut command: Command, last: &str) -> String {
    let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    for line in BufReader::new(process.stderr.take().unwrap()).lines() {
        said.push_str(&line.unwrap());
        said.push('\n');
        if said.contains(last) {
            break;
        }
    }
    process.kill().unwrap();
    process.wait().unwrap();
    said
}

// RC-3
#[test]
fn what_is_unsafe_about_nats_is_said_at_the_start() {
    // An address of TEST-NET, where nobody listens.
    let open = "[cluster]\nnats = \"nats://192.0.2.1:4222\"\n";
    let safe = "[cluster]\nnats = \"tls://192.0.2.1:4222\"\ntoken = \"t\"\nkey = \"${KEY}\"\n";
    let commands: [&[&str]; 2] =
        [&["worker", "--group", "gpu"], &["serve", "--listen", "127.0.0.1:0"]];
    let warnings = ["`[cluster] key` is not set: whoever", "without TLS", "without credentials"];
    for words in commands {
        let place = TestFolder::with_config(&format!("{open}{TOOL}"));
        let stderr = said(place.command(words), "is reached without credentials");
        for warning in warnings {
            assert!(stderr.contains(warning), "{words:?}: {warning}: {stderr}");
        }
        let place = TestFolder::with_config(&format!("{safe}{TOOL}"));
        let mut command = place.command(words);
        command.env("KEY", "a secret of the cluster with enough letters");
        let last = if words[0] == "worker" { "offers resize" } else { "127.0.0.1:" };
        let stderr = said(command, last);
        assert!(stderr.contains(last), "{stderr}");
        for warning in warnings {
            assert!(!stderr.contains(warning), "{words:?}: {stderr}");
        }
        let mut command = place.command(words);
        let refused = command.env("KEY", "short").output().unwrap();
        assert_eq!(refused.status.code(), Some(2));
        let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            stderr.contains("switchboard.toml:1: `cluster.key`: a key has 5 characters"),
            "{stderr}"
        );
        assert!(stderr.contains("openssl rand -base64 32"), "{stderr}");
    }
}

// RC-3
#[test]
fn tokens_are_signed_with_a_cluster_and_a_key_only() {
    let said = TestFolder::with_config("").refusal(&["token", "sign"]);
    assert!(said.contains("only tokens of a cluster are signed"), "{said}");
}

// GW-1
#[test]
fn a_secret_is_rotated_in_a_cluster_only() {
    let said = TestFolder::with_config("").refusal(&["cluster", "rotate-secret"]);
    assert!(said.contains("there is no cluster"), "{said}");
    let place = TestFolder::with_config(&format!("[cluster]\nnats = {NOWHERE:?}\n"));
    let ran = place.run(&["cluster", "rotate-secret"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.stderr.contains("could not be reached"), "{ran:?}");
}

// RC-2
#[test]
fn an_export_of_a_cluster_that_is_away_leaves_the_file_as_it_was() {
    let place = TestFolder::with_config(&format!("[cluster]\nnats = {NOWHERE:?}\n"));
    let place = place.file("fleet.jsonl", "as it was");
    let ran = place.run(&["calls", "export", "--cluster", "--output", "fleet.jsonl"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert_eq!(std::fs::read(place.path().join("fleet.jsonl")).unwrap(), b"as it was");
}
