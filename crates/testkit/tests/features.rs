//! `cargo test -p` takes dependencies as `cargo test --workspace` built them: with the same features.

use std::{collections::BTreeSet, fs, process::Command};

#[test]
fn one_crate_is_tested_with_the_dependencies_of_the_workspace() {
    let workspace = dependencies(&["--workspace"]);
    for name in crates() {
        // Its tests would have to wait for `models`, which builds on it.
        if name == "toolcall" {
            continue;
        }
        let crate_name = match &*name {
            "app" => "switchboard",
            _ => &*format!("switchboard-{name}"),
        };
        let alone = dependencies(&["--package", crate_name]);
        let others: Vec<_> = alone.difference(&workspace).collect();
        assert!(
            others.is_empty(),
            "{crate_name} builds these with fewer features: list them in testkit's Cargo.toml: {others:#?}"
        );
    }
}

/// The folders below `crates`.
fn crates() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let entries = fs::read_dir(folder).expect("the folder of the crates");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string());
    names.map(|name| name.expect("names are ASCII")).collect()
}

/// The packages that the tests of `selection` are built from, each with its features.
fn dependencies(selection: &[&str]) -> BTreeSet<String> {
    let tree =
        ["tree", "--offline", "--prefix=none", "--edges=normal,build,dev", "--format={p} {f}"];
    let output =
        Command::new(env!("CARGO")).args(tree).args(selection).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("cargo prints text");
    text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}
