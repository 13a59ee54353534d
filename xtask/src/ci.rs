//! What CI checks, cheapest first; people run the same.
//!
//! Tests come last, so that the test runner's summary is the last thing printed.

use anyhow::{Context, Result};

use crate::shell::{self, Run};
use crate::{console, deny, msrv, package, parts, spec, test};

/// Runs every step and stops at the first that fails.
pub(crate) fn run() -> Result<()> {
    command("formatting", Run::new("cargo").arguments(["fmt", "--all", "--check"]))?;
    // The feature `cpal` wants headers.
    step("Debian packages", "cargo xtask parts", parts::install_packages)?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--all-features"];
    command("lints", Run::cargo(clippy).arguments(["--", "-D", "warnings"]))?;
    let docs = Run::cargo(["doc", "--workspace", "--no-deps", "--all-features"]);
    command("docs", docs.environment("RUSTDOCFLAGS", "-D warnings"))?;
    step("spec ids", "cargo xtask spec", spec::check)?;
    step("dependencies", "cargo xtask deny", deny::check)?;
    step("oldest Rust", "cargo xtask msrv", msrv::check_if_possible)?;
    step("packages", "cargo xtask package", package::check)?;
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

fn header(name: &str) {
    eprintln!("\n{}", shell::bold(&format!("== {name} ==")));
}

fn failed(name: &str, repeat: &str) -> String {
    format!("step `{name}` failed; repeat it with: {repeat}\n  cause")
}
