//! Builds the programs to publish: profile `dist`, for Linux with musl, so that they need no library of the system.
//!
//! zig compiles and links the C in it for every architecture; `packaging/zig` pins it, with the cargo subcommand that uses it.

use std::{env, fs, path::PathBuf};

use anyhow::{Context, Result};

use super::platform::Architecture;
use crate::{
    parts,
    shell::{Run, in_ci, root},
};

/// Where programs are built: cargo's own folder for the profile `dist` is `target/dist`, which the packages take.
const FOLDER: &str = "target/dist-build";

/// Builds the program for an architecture; returns where it is.
pub(super) fn program(architecture: Architecture) -> Result<PathBuf> {
    let target = architecture.static_target();
    standard_library(&target)?;
    let tools = parts::install_one("packaging/zig")?.join("venv/bin");
    let folder = root().join(FOLDER);
    let locked: &[&str] = if in_ci() { &["--locked"] } else { &[] };
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([tools.clone()].into_iter().chain(env::split_paths(&path)))
        .context("a folder of PATH has a colon")?;
    Run::new(tools.join("cargo-zigbuild"))
        .arguments(["zigbuild", "--package", "switchboard", "--profile", "dist"])
        .arguments(["--target", &target, "--target-dir", &folder.to_string_lossy()])
        .arguments(locked)
        .environment("PATH", &path.to_string_lossy())
        .stream()?;
    Ok(folder.join(target).join("dist/switchboard"))
}

/// The licence of the C library that programs for musl contain; zig brings it with its sources.
pub(super) fn musl_licence() -> Result<String> {
    let libraries = parts::install_one("packaging/zig")?.join("venv/lib");
    let missing = || format!("no licence of musl in `{}`", libraries.display());
    // The folder between has the version of Python in its name.
    let python = fs::read_dir(&libraries).with_context(missing)?.next().with_context(missing)??;
    let file = python.path().join("site-packages/ziglang/lib/libc/musl/COPYRIGHT");
    fs::read_to_string(file).with_context(missing)
}

/// Sees to it that there is Rust's standard library for the target.
fn standard_library(target: &str) -> Result<()> {
    let installed = Run::new("rustup").arguments(["target", "list", "--installed"]).text();
    if installed.is_ok_and(|installed| installed.lines().any(|line| line == target)) {
        return Ok(());
    }
    Run::new("rustup")
        .arguments(["target", "add", target])
        .stream()
        .with_context(|| format!("there is no standard library for {target}"))
}
