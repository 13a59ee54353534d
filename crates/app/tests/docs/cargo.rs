//! `cargo` commands. Builds take minutes, so none is made here: `cargo run --release -- …` is run with the program that was built for
//! the tests, `cargo xtask …` is parsed by xtask itself, and all others must name packages, targets and features that exist.

use std::{process::Command, sync::OnceLock};

use serde_json::Value;

use crate::{commands::words, repository};

/// How the README runs the program before it is installed.
const RUN: &str = "cargo run --release -- ";

/// Returns what is run in place of a command: the program itself instead of what would build it first, and nothing instead of
/// what is only checked.
pub(crate) fn in_place_of(command: &str) -> String {
    match is_only_checked(command) {
        true => ":".to_owned(),
        false => command.replace(RUN, "switchboard "),
    }
}

/// Returns whether the command is `cargo`'s, and not run here.
pub(crate) fn is_only_checked(command: &str) -> bool {
    words(command).first().is_some_and(|program| program == "cargo") && !command.contains(RUN)
}

/// Checks a command of `cargo`.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn check(command: &str) -> Result<(), String> {
    let words = words(command);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["cargo", "xtask", ref task @ ..] => parse_task(task),
        ["cargo", "install" | "build" | "run" | "test" | "bench" | "add", ref rest @ ..] => {
            let own = rest.iter().position(|word| *word == "--").unwrap_or(rest.len());
            check_names(&rest[..own])
        }
        _ => Err(format!("no such `cargo` command is known here: {command}")),
    }
}

/// xtask parses its own words. `--help` comes last, so that all others are parsed before it, and nothing is done.
fn parse_task(task: &[&str]) -> Result<(), String> {
    let mut xtask = Command::new(env!("CARGO"));
    xtask.args(["run", "--quiet", "--locked", "--package", "xtask", "--"]).args(task);
    let output = xtask.arg("--help").current_dir(repository()).output().unwrap();
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Every package, target, feature and folder that the words name must exist.
fn check_names(words: &[&str]) -> Result<(), String> {
    let packages = metadata()["packages"].as_array().unwrap();
    let is_one = |name: &str| packages.iter().any(|package| package["name"] == name);
    let targets = packages.iter().flat_map(|package| package["targets"].as_array().unwrap());
    let targets: Vec<_> = targets.collect();
    let is_target = |kind: &str, name: &str| {
        targets.iter().any(|target| target["name"] == name && target["kind"][0] == kind)
    };
    let is_feature =
        |name: &str| packages.iter().any(|package| package["features"].get(name).is_some());
    for pair in words.windows(2) {
        let (option, name) = (pair[0], pair[1]);
        let exists = match option {
            "-p" | "--package" => is_one(name),
            "--example" | "--bench" | "--test" | "--bin" => is_target(&option[2..], name),
            "--features" => name.split(',').all(is_feature),
            "--path" => repository().join(name).join("Cargo.toml").exists(),
            _ => true,
        };
        if !exists {
            return Err(format!("there is no `{name}` for `{option}`"));
        }
    }
    Ok(())
}

/// What cargo knows of this workspace.
fn metadata() -> &'static Value {
    static KNOWN: OnceLock<Value> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let words = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
        let output =
            Command::new(env!("CARGO")).args(words).current_dir(repository()).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    })
}

#[test]
fn names_that_do_not_exist_are_found() {
    assert_eq!(check("cargo install --path crates/app"), Ok(()));
    assert_eq!(
        check("X=1 cargo bench -p switchboard-mcp-client --bench calls -- --bench nothing"),
        Ok(())
    );
    for wrong in [
        "cargo bench -p switchboard-nothing",
        "cargo bench -p switchboard-mcp-client --bench nothing",
        "cargo build --features nothing",
        "cargo install --path crates/nothing",
        "cargo brew",
        "cargo xtask nothing",
        "cargo xtask test --nothing",
    ] {
        assert!(check(wrong).is_err(), "{wrong}");
    }
}
