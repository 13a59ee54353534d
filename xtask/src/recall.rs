//! How well tools are found: `crates/search/examples/recall.rs`, which this runs.

use anyhow::Result;

use crate::shell::Run;

pub(crate) fn run(missed: bool, sets: &[String]) -> Result<()> {
    let package = ["run", "--quiet", "--package", "switchboard-search"];
    let example = ["--features", "embeddings", "--example", "recall", "--"];
    let missed = missed.then_some("--missed");
    Run::cargo(package).arguments(example).arguments(missed).arguments(sets).stream()
}
