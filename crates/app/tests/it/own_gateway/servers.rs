//! `servers`, `restart` and `logs` while servers live and die.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{place, serve};
use crate::{
    fixture::{section, wait_until},
    serving::Serving,
    test_folder::TestFolder,
};

fn row(place: &TestFolder, name: &str) -> Value {
    let listed = place.run(&["servers", "--json"]).json();
    let mut rows = listed.as_array().unwrap().iter();
    rows.find(|row| row["name"] == name).unwrap().clone()
}

// GW-1
#[test]
fn logs_are_followed_until_an_interrupt_or_the_gateways_end() {
    let place = place("");
    let serving = serve(&place);
    wait_until("it is ready", || row(&place, "s")["state"] == "ready");
    let follow = || {
        let mut command = place.command(&["logs", "s", "-f"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut child = follow();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "hello", "what was written before");
    assert_eq!(place.run(&["restart", "s"]).status, 0);
    assert_eq!(lines.next().unwrap().unwrap(), "hello", "what is written now");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(1));

    let mut child = follow();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    serving.signal("-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(0), "a gateway that ends ends the stream");
    let missing = place.run(&["logs", "s"]);
    assert_eq!(missing.status, 1, "{missing:?}");
}

// GW-1, MC-2
#[test]
fn a_server_that_crashes_is_listed_with_the_reason_and_can_be_started_again() {
    let sections = [
        section("crashes", "exits-on-call,stderr-lines=3"),
        section("dead", "dies-at-start"),
        section("s", ""),
    ];
    let place = TestFolder::with_config(&format!(
        "[mcp]\nretry_attempts = 1\nretry_base_delay = \"1ms\"\n{}",
        sections.concat()
    ));
    let _serving = serve(&place);
    wait_until("it has failed", || row(&place, "dead")["state"] == "failed");
    let dead = row(&place, "dead");
    assert!(dead["error"].as_str().unwrap().contains("exited with status 1"), "{dead}");
    assert!(place.run(&["logs", "dead"]).stdout.contains("fatal: the device is not there"));
    let shown = place.run(&["servers"]).stdout;
    assert!(shown.lines().any(|line| line.starts_with("dead\tfailed\tstdio\t0 tools")), "{shown}");

    let crashed = place.call(&["crashes__add", "a=1", "b=2"]);
    assert_eq!(crashed["error_kind"], "unavailable", "{crashed}");
    wait_until("it runs again", || row(&place, "crashes")["state"] == "ready");
    let crashes = row(&place, "crashes");
    assert_eq!((&crashes["calls"], &crashes["failures"]), (&json!(1), &json!(1)), "{crashes}");
    assert_eq!(place.run(&["restart", "crashes"]).status, 0);
    wait_until("it runs once more", || row(&place, "crashes")["state"] == "ready");
    assert_eq!(place.run(&["restart", "dead"]).status, 0, "it is tried again");
    assert_eq!(place.call(&["s__add", "a=1", "b=2"])["success"], true, "others go on");

    let file = place.path().join("switchboard.toml");
    let config = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{config}[servers.unset]\ncommand = \"${{NOT_SET}}\"\n")).unwrap();
    drop(_serving);
    let _serving: Serving = serve(&place);
    let skipped = place.run(&["restart", "unset"]);
    assert_eq!(skipped.status, 1, "{skipped:?}");
    assert!(skipped.stderr.contains("is skipped: "), "{skipped:?}");
}
