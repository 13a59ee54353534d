//! What CI checks, cheapest first; people run the same.
//!
//! Tests come last, so that the test runner's summary is the last thing printed.

use std::fs;

use anyhow::{Context, Result};

use crate::shell::{self, Run};
use crate::{console, deny, msrv, package, parts, spec, test};

/// What a run in a fresh clone needs on the disk: `target` and `.parts`.
const NEEDED_GB: u64 = 15;

/// Runs every step and stops at the first that fails.
pub(crate) fn run() -> Result<()> {
    warn_of_a_full_disk();
    command("formatting", Run::new("cargo").arguments(["fmt", "--all", "--check"]))?;
    // The feature `cpal` wants headers.
    step("Debian packages", "cargo xtask parts", parts::install_packages)?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--all-features"];
    command("lints", Run::cargo(clippy).arguments(["--", "-D", "warnings"]))?;
    let docs = Run::cargo(["doc", "--workspace", "--no-deps", "--all-features"]);
    command("docs", docs.environment("RUSTDOCFLAGS", "-D warnings"))?;
    remove_built("target/doc")?;
    step("spec ids", "cargo xtask spec", spec::check)?;
    step("dependencies", "cargo xtask deny", deny::check)?;
    step("oldest Rust", "cargo xtask msrv", msrv::check_if_possible)?;
    remove_built(msrv::TARGET)?;
    step("packages", "cargo xtask package", package::check)?;
    remove_built("target/package")?;
    step("console", "cargo xtask console --check", console::check)?;

    header("tests");
    test::run(&[]).context(failed("tests", "cargo xtask test"))
}

fn command(name: &str, mut run: Run) -> Result<()> {
    step(name, &run.to_string(), || run.stream())
}

fn step(name: &str, repeat: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    header(name);
    let ((), took) = shell::timed(work).with_context(|| failed(name, repeat))?;
    eprintln!("{name}: ok in {:.1} s", took.as_secs_f64());
    Ok(())
}

/// Says how much room there is if it may not suffice, since what fails later says little about why.
fn warn_of_a_full_disk() {
    if let Some(free) = shell::free_gb().filter(|free| *free < NEEDED_GB) {
        eprintln!("warning: the disk has {free} GB left; a fresh clone needs about {NEEDED_GB} GB");
    }
}

/// Removes what a step made and no later one reads.
fn remove_built(folder: &str) -> Result<()> {
    let path = shell::root().join(folder);
    if !path.exists() {
        return Ok(());
    }
    fs::remove_dir_all(path).with_context(|| format!("failed to remove `{folder}`"))
}

fn header(name: &str) {
    eprintln!("\n{}", shell::bold(&format!("== {name} ==")));
}

fn failed(name: &str, repeat: &str) -> String {
    format!("step `{name}` failed; repeat it with: {repeat}\n  cause")
}
