//! Builds the program with the profile of a release, and finds it.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::shell::Run;

/// Builds the program with these variables set; returns where cargo has put it.
pub(crate) fn build(variables: &[(&str, &str)]) -> Result<PathBuf> {
    let cargo = || {
        let build = Run::cargo(["build", "--release", "--package", "switchboard"]);
        variables.iter().fold(build, |build, (name, value)| build.environment(name, value))
    };
    cargo().stream()?;
    // It is built now: this time cargo only tells where.
    let told = cargo().arguments(["--message-format", "json"]).text()?;
    executable(&told).context("cargo names no program")
}

fn executable(told: &str) -> Option<PathBuf> {
    let artifacts = told.lines().filter_map(|line| serde_json::from_str(line).ok());
    let mut programs = artifacts.filter_map(|artifact: serde_json::Value| {
        Some(PathBuf::from(artifact["executable"].as_str()?))
    });
    programs.find(|program| program.ends_with("switchboard"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_tells_where_the_program_is() {
        let told = r#"{"reason":"compiler-artifact","executable":null}
            {"reason":"compiler-artifact","executable":"/t/release/other"}
            {"reason":"compiler-artifact","executable":"/t/release/switchboard"}
            {"reason":"build-finished","success":true}"#;
        assert_eq!(executable(told), Some(PathBuf::from("/t/release/switchboard")));
        assert_eq!(executable("no JSON"), None);
    }
}
