//! What the executor alone brings into somebody else's program.

use std::{collections::BTreeSet, fs, process::Command};

/// Parts of the program that an embedder of the executor does without: HTTP, NATS, voice, CEL, SQLite.
const FOREIGN: [&str; 9] = [
    "async-nats",
    "axum",
    "cel",
    "cpal",
    "hyper",
    "reqwest",
    "rumqttc-v4-next",
    "rusqlite",
    "rustls",
];

#[test]
fn the_executor_brings_no_server_and_as_many_crates_as_the_readme_says() {
    let arguments = "tree --offline --package switchboard-runtime --edges normal --prefix none";
    let output =
        Command::new(env!("CARGO")).args(arguments.split(' ')).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("UTF-8");
    let crates: BTreeSet<_> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    for name in FOREIGN {
        let is_it = |line: &&&str| line.split(' ').next() == Some(name);
        assert_eq!(crates.iter().find(is_it), None);
    }
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = fs::read_to_string(readme).expect("the README is there");
    let said = format!("{} crates in all", crates.len());
    assert!(readme.contains(&said), "README.md must say `{said}`");
}
