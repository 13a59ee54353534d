//! Tells the program which commit it is built from: `SWITCHBOARD_VERSION`.
//!
//! A build from an archive, which has no git, takes both from `SWITCHBOARD_COMMIT='HASH DATE'`; if that is unset, only the version is shown.

use std::{env, path::Path, process::Command};

fn main() {
    // The commit is looked up again when the program is compiled anyway, not for each commit.
    for watched in ["build.rs", "src", "Cargo.toml"] {
        println!("cargo::rerun-if-changed={watched}");
    }
    println!("cargo::rerun-if-env-changed=SWITCHBOARD_COMMIT");
    let named = env::var_os("SWITCHBOARD_COMMIT").and_then(|named| named.into_string().ok());
    let commit = named.or_else(of_repository).filter(|commit| !commit.is_empty());
    let commit = commit.map(|commit| format!(" ({commit})")).unwrap_or_default();
    println!("cargo::rustc-env=SWITCHBOARD_VERSION={}{commit}", env!("CARGO_PKG_VERSION"));
}

/// The commit of the repository that this folder belongs to, not of one around it.
fn of_repository() -> Option<String> {
    let root = Path::new("../..");
    if !root.join(".git").exists() {
        return None;
    }
    let git = ["log", "-1", "--no-show-signature", "--abbrev=8", "--format=%h %cs"];
    let output = Command::new("git").arg("-C").arg(root).args(git).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
