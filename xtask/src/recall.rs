//! How well tools are found: `crates/search/examples/recall.rs`, which this runs.

use anyhow::Result;

use crate::shell::Run;

pub(crate) fn run(missed: bool, sets: &[String]) -> Result<()> {
    let example = ["run", "--quiet", "--package", "switchboard-search", "--example", "recall"];
    let missed = missed.then_some("--missed");
    Run::cargo(example).arguments(["--"]).arguments(missed).arguments(sets).stream()
}
