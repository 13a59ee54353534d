//! Builds the program, and finds it.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::shell::Run;

/// Builds the program with this profile; returns where cargo has put it.
pub(crate) fn build(profile: &str) -> Result<PathBuf> {
    let cargo = || Run::cargo(["build", "--profile", profile, "--package", "switchboard"]);
    cargo().stream()?;
    // It is built now: this time cargo only tells where.
    let messages = cargo().arguments(["--message-format", "json"]).text()?;
    executable(&messages).context("cargo names no program")
}

fn executable(messages: &str) -> Option<PathBuf> {
    let artifacts = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
    let mut programs = artifacts.filter_map(|artifact: serde_json::Value| {
        Some(PathBuf::from(artifact["executable"].as_str()?))
    });
    programs.find(|program| program.ends_with("switchboard"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_in_the_messages_of_cargo() {
        let messages = r#"{"reason":"compiler-artifact","executable":null}
            {"reason":"compiler-artifact","executable":"/t/release/other"}
            {"reason":"compiler-artifact","executable":"/t/release/switchboard"}
            {"reason":"build-finished","success":true}"#;
        assert_eq!(executable(messages), Some(PathBuf::from("/t/release/switchboard")));
        assert_eq!(executable("no JSON"), None);
    }
}
