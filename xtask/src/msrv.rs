//! Whether the crates build with the Rust that `rust-version` in Cargo.toml promises.
//!
//! clippy already refuses what the standard library had not yet (`incompatible_msrv`); this sees language and dependencies too.

use std::fs;

use anyhow::{Context, Result};

use crate::shell::{self, Run};

/// Where the results lie.
pub(crate) const TARGET: &str = "target/msrv";

/// Checks all crates with that toolchain, installing it if need be.
pub(crate) fn check() -> Result<()> {
    let version = promised_version()?;
    install(&version)?;
    check_with(&version)
}

/// Like [`check`], but says so and goes on if the toolchain cannot be installed: a machine of CI may reach no server that has it.
pub(crate) fn check_if_possible() -> Result<()> {
    let version = promised_version()?;
    match install(&version) {
        Ok(()) => check_with(&version),
        Err(error) => {
            eprintln!("NOT CHECKED: Rust {version} cannot be installed here: {error:#}");
            Ok(())
        }
    }
}

fn promised_version() -> Result<String> {
    let manifest = fs::read_to_string(shell::root().join("Cargo.toml"))?;
    Ok(promised(&manifest).context("Cargo.toml has no `rust-version`")?.to_owned())
}

fn install(version: &str) -> Result<()> {
    if Run::new("rustup").arguments(["run", version, "rustc", "--version"]).succeeds() {
        return Ok(());
    }
    let install = ["toolchain", "install", version, "--profile", "minimal", "--no-self-update"];
    Run::new("rustup").arguments(install).quiet()
}

/// Its results lie in a folder of their own, since those of another compiler would be thrown away.
fn check_with(version: &str) -> Result<()> {
    let check = ["run", version, "cargo", "check", "--workspace", "--exclude", "xtask", "--locked"];
    let run = Run::new("rustup").arguments(check).environment("CARGO_INCREMENTAL", "0");
    run.environment("CARGO_TARGET_DIR", TARGET).stream()
}

/// Returns the version that `manifest` promises.
fn promised(manifest: &str) -> Option<&str> {
    let line = manifest.lines().find_map(|line| line.strip_prefix("rust-version = "))?;
    line.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_promised_version_is_read_from_the_manifest() {
        assert_eq!(promised("[workspace.package]\nrust-version = \"1.89\"\n"), Some("1.89"));
        assert_eq!(promised("[workspace.package]\n"), None);
    }
}
