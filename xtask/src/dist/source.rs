//! The way of people who have Rust: `cargo install` from the repository.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::shell::{Run, bold, root};

/// Where the program is installed; the folder is removed afterwards.
const FOLDER: &str = "target/installed";

/// Installs the program from source into a folder of its own, and lists its tools.
///
/// # Errors
/// It does not build, or what is installed does not work.
pub(super) fn check() -> Result<()> {
    eprintln!("{}", bold("Installing from source"));
    let folder = root().join(FOLDER);
    let text = folder.to_str().context("a path is not UTF-8")?;
    // Not optimised, for that takes much longer; the packages have the optimised program.
    let install = ["install", "--locked", "--debug", "--path", "crates/app", "--root", text];
    Run::new("cargo").arguments(install).stream()?;
    let mut tools = Run::new(folder.join("bin/switchboard"))
        .arguments(["tools"])
        .environment("HOME", text)
        .environment("XDG_CONFIG_HOME", text)
        .environment("XDG_STATE_HOME", text)
        .within(&folder);
    let listed = tools.text()?;
    ensure!(listed.contains("math_eval"), "`{tools}` does not list the built-in tools: {listed}");
    fs::remove_dir_all(&folder).with_context(|| format!("failed to remove `{text}`"))
}
