//! Installs what the tests need, then runs all of them: the feature `real-parts` turns on those with real parts too. Those
//! that need an Ollama, which no registry has, are asked for by its address.
//!
//! Benchmarks only run on demand. No target flags are given, so that examples are built as what they are: with
//! `--examples` the runner would build them as test binaries.

use anyhow::{Context, Result};

use crate::parts;
use crate::shell::{self, Run};

/// Where tests find what `parts` installed.
pub(crate) const PARTS_VARIABLE: &str = "SWITCHBOARD_PARTS";

/// Runs the tests whose names contain one of `filters`, or all.
pub(crate) fn run(filters: &[String]) -> Result<()> {
    let parts = parts::install()?;
    let parts = parts.to_str().context("the path of the repository is not UTF-8")?;
    let mut outcome = Ok(());
    for run in runners(filters) {
        let mut run = run.environment(PARTS_VARIABLE, parts);
        eprintln!("{}", shell::bold(&format!("$ {run}")));
        // A failing doc test does not hide what the other tests say.
        outcome = outcome.and(run.stream());
    }
    outcome
}

/// Runs the tests that ask an Ollama: the loop of the library, then the program with `ask`, `chat` and `/v1`.
pub(crate) fn ollama(url: &str, model: &str) -> Result<()> {
    let mut outcome = Ok(());
    for mut run in asking(url, model) {
        eprintln!("{}", shell::bold(&format!("$ {run}")));
        outcome = outcome.and(run.stream());
    }
    outcome
}

fn asking(url: &str, model: &str) -> [Run; 2] {
    ["switchboard-agent", "switchboard"].map(|package| {
        let test = ["test", "-p", package, "--features", "ollama", "--test", "ollama"];
        let run = Run::cargo(test).environment("SWITCHBOARD_OLLAMA", url);
        run.environment("SWITCHBOARD_OLLAMA_MODEL", model)
    })
}

fn runners(filters: &[String]) -> Vec<Run> {
    if !Run::new("cargo").arguments(["nextest", "--version"]).succeeds() {
        return vec![filtered(
            Run::cargo(["test", "--workspace", "--features", "real-parts", "--no-fail-fast"]),
            filters,
        )];
    }
    // nextest runs no doc tests. Its summary counts most, so it comes last.
    let documentation =
        Run::cargo(["test", "--doc", "--workspace", "--features", "real-parts", "--no-fail-fast"]);
    let rest =
        Run::cargo(["nextest", "run", "--workspace", "--features", "real-parts", "--no-fail-fast"]);
    vec![filtered(documentation, filters), filtered(rest, filters)]
}

fn filtered(run: Run, filters: &[String]) -> Run {
    if filters.is_empty() { run } else { run.arguments(["--"]).arguments(filters) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ollama_is_asked_only_where_its_address_is_given() {
        for run in asking("http://127.0.0.1:11434", "qwen3:0.6b") {
            let run = run.to_string();
            assert!(run.starts_with("SWITCHBOARD_OLLAMA=http://127.0.0.1:11434 SWITCHBOARD_OLLAMA_MODEL=qwen3:0.6b cargo test"));
            assert!(run.contains("--features ollama --test ollama"), "{run}");
        }
        for run in runners(&[]) {
            let run = run.to_string();
            assert!(run.contains("--features real-parts") && !run.contains("ollama"), "{run}");
        }
    }
}
