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

/// The tests to run: those that need nothing installed, or all.
#[derive(Clone, Copy)]
enum Scope {
    Quick,
    All,
}

/// Runs the tests whose names contain one of `filters`, or all.
pub(crate) fn run(filters: &[String]) -> Result<()> {
    let parts = parts::install()?;
    let parts = parts.to_str().context("the path of the repository is not UTF-8")?;
    let runs = runners(Scope::All, filters).into_iter();
    stream_all(runs.map(|run| run.environment(PARTS_VARIABLE, parts)))
}

/// Like [`run`], without the tests that need anything installed.
pub(crate) fn quick(filters: &[String]) -> Result<()> {
    let (outcome, took) = shell::timed(|| Ok(stream_all(runners(Scope::Quick, filters))))?;
    eprintln!("took {:.0} s", took.as_secs_f64());
    outcome
}

/// Runs the tests that ask an Ollama: the loop of the library, then the program with `ask`, `chat` and `/v1`.
pub(crate) fn ollama(url: &str, model: &str) -> Result<()> {
    stream_all(asking(url, model))
}

/// Runs all of them, also after one that failed: a failing doc test does not hide what the other tests say.
fn stream_all(runs: impl IntoIterator<Item = Run>) -> Result<()> {
    let mut outcome = Ok(());
    for mut run in runs {
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

fn runners(scope: Scope, filters: &[String]) -> Vec<Run> {
    let features: &[&str] = match scope {
        Scope::Quick => &[],
        Scope::All => &["--features", "real-parts"],
    };
    let workspace = |run: Run| {
        let run = run.arguments(["--workspace", "--no-fail-fast"]).arguments(features);
        if filters.is_empty() { run } else { run.arguments(["--"]).arguments(filters) }
    };
    if !Run::new("cargo").arguments(["nextest", "--version"]).succeeds() {
        return vec![workspace(Run::cargo(["test"]))];
    }
    // nextest runs no doc tests. Its summary counts most, so it comes last.
    vec![workspace(Run::cargo(["test", "--doc"])), workspace(Run::cargo(["nextest", "run"]))]
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
        for (scope, real) in [(Scope::All, true), (Scope::Quick, false)] {
            for run in runners(scope, &[]) {
                let run = run.to_string();
                assert_eq!(run.contains("--features real-parts"), real, "{run}");
                assert!(!run.contains("ollama"), "{run}");
            }
        }
    }
}
