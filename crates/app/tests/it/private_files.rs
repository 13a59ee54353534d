//! Everything under the state folder is its owner's alone, whichever command comes first.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    thread,
};

use serde_json::json;

use crate::{ask::scripted, fixture::wait_until, serve::Serving, test_folder::TestFolder};

/// The files and folders that others may use.
fn wide(path: &Path, found: &mut Vec<String>) {
    let Ok(about) = fs::symlink_metadata(path) else { return };
    if about.permissions().mode() & 0o077 != 0 {
        found.push(format!("{} {:04o}", path.display(), about.permissions().mode() & 0o7777));
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        wide(&entry.path(), found);
    }
}

fn check(place: &TestFolder, after: &str) {
    let (folder, mut found) = (place.path().join("state/switchboard"), Vec::new());
    wide(&folder, &mut found);
    assert_eq!(found, Vec::<String>::new(), "after `{after}`");
}

/// A place with a model that answers once, and a tool that a person is asked about.
fn place() -> TestFolder {
    let turns = json!([{"text": "Yes.", "tool_calls": [{"name": "echo", "args": {"n": 1}}]}, {"text": "Done."}]);
    scripted("[policy]\nask = [\"math_eval\"]\n", turns).with_umask_000()
}

fn run(place: &TestFolder, words: &str) {
    let words: Vec<_> = words.split(' ').collect();
    let ran = place.run_with_stdin(&words, b"hello\n");
    assert_eq!(ran.status, 0, "{words:?}: {ran:?}");
}

/// Runs a gateway that answers a call with a long result, and another after a person allowed that for good.
fn serve(place: &TestFolder) {
    let serving = Serving::start(place, &["--listen", "127.0.0.1:0"]);
    let long = format!(r#"{{"text":"{}"}}"#, "long ".repeat(40_000));
    assert_eq!(serving.ask("POST", "/api/tools/echo/call", "", &long).0, 200);
    assert_eq!(serving.ask("GET", "/api/calls", "", "").0, 200);
    thread::scope(|scope| {
        let body = r#"{"expression":"1+1"}"#;
        scope.spawn(|| serving.ask("POST", "/api/tools/math_eval/call", "", body));
        let held = || serving.ask("GET", "/api/approvals", "", "").1["approvals"].clone();
        wait_until("a call waits", || !held().as_array().unwrap().is_empty());
        check(place, "serve, while a call waits");
        let path = format!("/api/approvals/{}", held()[0]["id"].as_str().unwrap());
        let decision = r#"{"decision":"allow","remember":"tool"}"#;
        assert_eq!(serving.ask("POST", &path, "", decision).0, 200);
    });
    check(place, "serve, while it runs");
}

const COMMANDS: [&str; 8] = [
    "token new --name a",
    "call echo a=1 --idempotency-key k",
    "calls",
    "calls stats",
    "approve --rules",
    "chat -m script:script.json",
    "calls verify",
    "serve",
];

// RC-3
#[test]
fn every_command_in_any_order_leaves_nothing_for_others() {
    for first in 0..COMMANDS.len() {
        let place = place();
        for command in COMMANDS.iter().cycle().skip(first).take(COMMANDS.len()) {
            match *command {
                "serve" => serve(&place),
                words => run(&place, words),
            }
            check(&place, command);
        }
    }
}

// RC-3: what an older version left is tightened by whichever command uses it.
#[test]
fn what_was_left_for_others_is_tightened() {
    let place = place();
    run(&place, "call echo a=1");
    run(&place, "calls");
    run(&place, "token new --name a");
    serve(&place);
    let state = place.path().join("state/switchboard");
    let files =
        ["index.db", "manifest.log", "lock", "journal/00000001.log", "approvals/rules.lock"];
    for file in files {
        fs::set_permissions(state.join(file), Permissions::from_mode(0o644)).unwrap();
    }
    for folder in ["", "journal", "approvals"] {
        fs::set_permissions(state.join(folder), Permissions::from_mode(0o755)).unwrap();
    }
    let rules = place.run(&["approve", "--rules", "--json"]).json();
    run(&place, &format!("approve --forget {}", rules[0]["id"].as_str().unwrap()));
    run(&place, "call echo a=1");
    run(&place, "calls");
    check(&place, "calls");
}

// RC-3: a link to a folder stands for that folder, which is tightened.
#[test]
fn a_linked_state_folder_is_used_and_tightened() {
    let place = place();
    let target = place.path().join("elsewhere");
    fs::create_dir(&target).unwrap();
    fs::create_dir(place.path().join("state")).unwrap();
    fs::set_permissions(&target, Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(&target, place.path().join("state/switchboard")).unwrap();
    run(&place, "call echo a=1");
    let mut found = Vec::new();
    wide(&target, &mut found);
    assert_eq!(found, Vec::<String>::new());
    assert!(target.join("manifest.log").exists());
}
