//! What the screen of definitions finds: `crates/lock/examples/screen`, which this runs.

use anyhow::Result;

use crate::shell::Run;

pub(crate) fn run(missed: bool, sets: &[String]) -> Result<()> {
    let package = ["run", "--quiet", "--package", "switchboard-lock"];
    let missed = missed.then_some("--missed");
    Run::cargo(package)
        .arguments(["--example", "screen", "--"])
        .arguments(missed)
        .arguments(sets)
        .stream()
}
