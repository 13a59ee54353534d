//! Runs the MCP conformance suite and writes what it says into docs/conformance.md.
//!
//! The tests of `switchboard-mcp-client`, `switchboard-mcp-server` and, for the authorization server, of `switchboard` know how the
//! suite is run, and `cargo xtask test` runs them too. Here they also leave what the suite printed in a folder, from which the tables are made. A failure that nobody expected fails the tests, and
//! so this task.

mod requirements;
mod results;
mod reasons;
mod table;
mod document;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use self::reasons::Reasons;
use self::requirements::{Leg, Requirements};
use self::results::{Behind, Pairing};
use crate::shell::{self, Run};
use crate::{parts, test};

const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// The revisions whose scenarios for authorization servers the suite runs.
const AUTHORIZATION_REVISIONS: [&str; 4] = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// The test that runs them.
const AUTHORIZATION_TEST: &str = "oauth::the_conformance_suite_accepts_the_authorization_server";

/// What the server behind the gateway is called by the tests, and the revision that it speaks.
const UPSTREAMS: [(&str, &str); 2] = [("legacy", "2025-11-25"), ("modern", "2026-07-28")];

/// What the tests add to the name of a run through a profile, before the newer of the two.
const THROUGH_PROFILE: &str = "-profile";

/// The variable with the folder in which the tests store the suite's output.
const KEPT_VARIABLE: &str = "SWITCHBOARD_CONFORMANCE";

const DOCUMENT: &str = "docs/conformance.md";

/// Runs the suite and writes the tables; with `check`, fails if they would change.
pub(crate) fn run(check: bool) -> Result<()> {
    let parts = parts::install()?;
    let kept = KeptFolder::new()?;
    run_tests(&parts, &kept.0)?;

    let path = shell::root().join(DOCUMENT);
    let old = read(&path)?;
    let mut new = document::replace(&old, "suite", &suite_version()?)?;
    let requirements = REVISIONS.map(|revision| scored(&parts, revision));
    let requirements = requirements.into_iter().collect::<Result<Vec<_>>>()?;
    for (leg, name) in [(Leg::Client, "client"), (Leg::Server, "server")] {
        let tables = table::write(&pairings(leg, &requirements, &kept.0)?)?;
        new = document::replace(&new, name, &tables)?;
    }
    let scenarios = AUTHORIZATION_REVISIONS.map(|revision| {
        let told = read(&kept.0.join(format!("authorization-{revision}.txt")))?;
        Ok((revision, results::summary(&told)?))
    });
    let scenarios = scenarios.into_iter().collect::<Result<Vec<_>>>()?;
    new = document::replace(&new, "authorization", &table::by_scenario(&scenarios))?;
    settle(&path, &old, &new, check)
}

/// Builds and runs the tests that run the suite.
fn run_tests(parts: &Path, kept: &Path) -> Result<()> {
    let packages = ["-p", "switchboard-mcp-client", "-p", "switchboard-mcp-server"];
    // Asked for a test alone, cargo does not build the examples that it starts.
    let examples = Run::cargo(["build", "--examples"]).arguments(packages);
    let tests = ["--features", "real-parts", "--test", "conformance"];
    let tests = Run::cargo(["test"]).arguments(packages).arguments(tests);
    let tests = tests.environment(test::PARTS_VARIABLE, text(parts)?);
    let authorization = ["test", "-p", "switchboard", "--features", "real-parts", "--test", "real"];
    let authorization = Run::cargo(authorization).arguments([AUTHORIZATION_TEST, "--", "--exact"]);
    let tests = [tests, authorization.environment(test::PARTS_VARIABLE, text(parts)?)];
    let kept = text(kept)?;
    let tests = tests.map(|test| test.environment(KEPT_VARIABLE, kept));
    for mut run in [examples].into_iter().chain(tests) {
        eprintln!("{}", shell::bold(&format!("$ {run}")));
        run.stream()?;
    }
    Ok(())
}

/// What the suite requires for a revision.
fn scored(parts: &Path, revision: &'static str) -> Result<Requirements> {
    let suite = parts.join("mcp-node/node_modules/.bin");
    let list = Run::new(suite.join("node"))
        .arguments([text(&suite.join("conformance"))?, "list", "--requirements", revision])
        .text()?;
    Requirements::parse(revision, &list)
}

/// Every run of the suite in this leg, with the reasons for what fails in it.
fn pairings(leg: Leg, requirements: &[Requirements], kept: &Path) -> Result<Vec<Pairing>> {
    let mut pairings = Vec::new();
    for requirements in requirements {
        let revision = requirements.revision;
        for (run, behind) in runs(leg, revision) {
            let told = read(&kept.join(format!("{run}.txt")))
                .with_context(|| format!("the tests left nothing of `{run}`"))?;
            let reasons = reasons_for(behind.map(|behind| behind.era))?;
            pairings.push(Pairing::new(requirements, leg, behind, &told, reasons)?);
        }
    }
    Ok(pairings)
}

/// The runs of a leg in a revision, and what is behind the gateway in each.
fn runs(leg: Leg, revision: &str) -> Vec<(String, Option<Behind>)> {
    if leg == Leg::Client {
        return vec![(format!("client-{revision}"), None)];
    }
    let run = |upstream: &str| format!("server-{revision}-{upstream}");
    let direct = UPSTREAMS.map(|(upstream, era)| (run(upstream), Some(Behind::server(era))));
    let [_, (newer, era)] = UPSTREAMS;
    let profile = (format!("{}{THROUGH_PROFILE}", run(newer)), Some(Behind::profile(era)));
    direct.into_iter().chain([profile]).collect()
}

/// The reasons in the file of expected failures that the tests give to the suite.
fn reasons_for(behind: Option<&str>) -> Result<Reasons> {
    let upstream = UPSTREAMS.iter().find(|(_, era)| Some(*era) == behind);
    let suffix = upstream.map_or(String::new(), |(name, _)| format!("-{name}-upstream"));
    let side = if behind.is_some() { "server" } else { "client" };
    let file = format!("crates/mcp-{side}/tests/conformance/expected-failures{suffix}.yml");
    Ok(Reasons::parse(&file, &read(&shell::root().join(&file))?))
}

/// The version that is pinned.
fn suite_version() -> Result<String> {
    let file = "parts/mcp-node/package.json";
    let package: serde_json::Value = serde_json::from_str(&read(&shell::root().join(file))?)?;
    let version = &package["dependencies"]["@modelcontextprotocol/conformance"];
    let version = version.as_str().with_context(|| format!("`{file}` does not pin the suite"))?;
    Ok(format!("The suite's version is {version}, pinned in `parts/mcp-node`.\n"))
}

/// Writes what changed; with `check` a change is an error.
fn settle(path: &Path, old: &str, new: &str, check: bool) -> Result<()> {
    let Some(line) = document::first_change(old, new) else {
        eprintln!("{DOCUMENT} is up to date");
        return Ok(());
    };
    if check {
        bail!("{DOCUMENT} is out of date: `cargo xtask conformance` would change line {line}");
    }
    fs::write(path, new).with_context(|| format!("failed to write `{}`", path.display()))?;
    eprintln!("{DOCUMENT} is written");
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("failed to read `{}`", path.display()))
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("the path `{}` is not UTF-8", path.display()))
}

/// The folder for what the suite printed, removed at the end.
struct KeptFolder(PathBuf);

impl KeptFolder {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("xtask-conformance-{}", std::process::id()));
        fs::create_dir_all(&path)
            .with_context(|| format!("failed to create `{}`", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for KeptFolder {
    fn drop(&mut self) {
        // A leftover in the temporary folder does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests;
