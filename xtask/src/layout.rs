//! Has the functions that a start and a call pass through lie side by side in the released program.
//!
//! The system brings a program into memory sixteen pages at a time. Functions that lie scattered among megabytes of
//! others hold all of these there, and each call fetches its code from everywhere. `crates/app/layout.ld` tells the linker
//! which ones belong together; this task writes it, from what valgrind sees.

mod script;
mod workload;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::shell::{Run, bold, root};

/// Builds the program, watches it at work, and writes down what it passed through.
pub(crate) fn run() -> Result<()> {
    let is_there = Run::new("valgrind").arguments(["--version"]).succeeds();
    ensure!(is_there, "valgrind is missing: install it (Debian: `apt install valgrind`)");
    eprintln!("{}", bold("Building the program as it is released"));
    Run::cargo(["build", "--release", "--package", "switchboard"]).stream()?;
    let program = program()?;
    let symbols = Run::new("nm").arguments(["-n", "--defined-only"]);
    let symbols = symbols.arguments([program.to_string_lossy()]).text()?;
    eprintln!("{}", bold("Watching it start and serve"));
    let folder = root().join("target/layout");
    let profile = workload::observe(&program, &folder)?;
    let script = script::write(&script::functions(&symbols), &script::calls(&profile));
    let count = script.matches(".text.unlikely.").count();
    let path = root().join("crates/app/layout.ld");
    std::fs::write(&path, script).with_context(|| format!("failed to write {}", path.display()))?;
    eprintln!(
        "{count} functions are named in crates/app/layout.ld; the next release build heeds them."
    );
    Ok(())
}

/// Where cargo has put the program.
fn program() -> Result<PathBuf> {
    let build = ["build", "--release", "--package", "switchboard", "--message-format", "json"];
    let told = Run::cargo(build).text()?;
    let artifacts = told.lines().filter_map(|line| serde_json::from_str(line).ok());
    let mut programs = artifacts.filter_map(|artifact: serde_json::Value| {
        Some(PathBuf::from(artifact["executable"].as_str()?))
    });
    programs.find(|program| program.ends_with("switchboard")).context("cargo names no program")
}
