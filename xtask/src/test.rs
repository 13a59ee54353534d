//! Installs what the tests need, then runs all of them: `--all-features` turns on those with real parts too.
//!
//! Benchmarks only run on demand. No target flags are given, so that examples are built as what they are: with
//! `--examples` the runner would build them as test binaries.

use anyhow::{Context, Result};

use crate::parts;
use crate::shell::{self, Run};

/// Where tests find what `parts` installed.
const PARTS_VARIABLE: &str = "SWITCHBOARD_PARTS";

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

fn runners(filters: &[String]) -> Vec<Run> {
    if !Run::new("cargo").arguments(["nextest", "--version"]).succeeds() {
        return vec![filtered(
            Run::cargo(["test", "--workspace", "--all-features", "--no-fail-fast"]),
            filters,
        )];
    }
    // nextest runs no doc tests. Its summary counts most, so it comes last.
    let documentation =
        Run::cargo(["test", "--doc", "--workspace", "--all-features", "--no-fail-fast"]);
    let rest = Run::cargo(["nextest", "run", "--workspace", "--all-features", "--no-fail-fast"]);
    vec![filtered(documentation, filters), filtered(rest, filters)]
}

fn filtered(run: Run, filters: &[String]) -> Run {
    if filters.is_empty() { run } else { run.arguments(["--"]).arguments(filters) }
}
