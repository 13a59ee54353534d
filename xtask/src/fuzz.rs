//! Runs the fuzz targets of `fuzz/` for a while, one after another.
//!
//! libFuzzer is built in by the crate `libfuzzer-sys`. Its coverage comes from a pass that stable compilers have, for our crates
//! alone: so dependencies are those of `cargo test`, and built once. Sanitizers, which want a nightly, are left out: there is
//! no `unsafe` of ours for them to watch. New inputs stay in `target/fuzz-inputs`, those of the repository are in `fuzz/corpus`.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context, Result, bail, ensure};

use crate::shell::{self, Run};

/// An input takes longer than this only if something is wrong.
const SECONDS_PER_INPUT: &str = "-timeout=20";

/// Runs the targets for `time` in all, or only one of them; `keep` adds what reached new code to `fuzz/corpus`.
pub(crate) fn run(time: Duration, only: Option<&str>, keep: bool) -> Result<()> {
    let mut targets = names()?;
    if let Some(only) = only {
        let known = targets.join(", ");
        targets.retain(|name| *name == only);
        ensure!(!targets.is_empty(), "there is no target `{only}`: {known}");
    }
    let program = build()?;
    let seconds = (time.as_secs() / targets.len() as u64).max(1);
    let failed: Vec<_> =
        targets.into_iter().filter(|name| fuzz(&program, name, seconds, keep).is_err()).collect();
    ensure!(
        failed.is_empty(),
        "found inputs for {}: they are in target/fuzz-inputs/NAME/found-*; run `FUZZ_TARGET=NAME {program} FILE` to see one again",
        failed.join(", ")
    );
    Ok(())
}

/// The names of the targets: each has a folder of inputs, which a test of `fuzz/` checks.
fn names() -> Result<Vec<String>> {
    let folders = fs::read_dir(shell::root().join("fuzz/corpus"))?;
    let names = folders.map(|folder| Ok(folder?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<Result<Vec<_>>>()?;
    names.sort_unstable();
    Ok(names)
}

/// Builds the program with checks, whose findings are what is looked for.
fn build() -> Result<String> {
    let wrapper = shell::root().join("fuzz/instrumented-rustc");
    let wrapper = wrapper.to_str().context("the path of the repository is not UTF-8")?;
    let build = ["build", "-p", "switchboard-fuzz", "--features", "libfuzzer"];
    Run::cargo(build).environment("RUSTC_WORKSPACE_WRAPPER", wrapper).stream()?;
    let program = shell::root().join("target/debug/switchboard-fuzz");
    Ok(program.to_string_lossy().into_owned())
}

fn fuzz(program: &str, name: &str, seconds: u64, keep: bool) -> Result<()> {
    eprintln!("{}", shell::bold(&format!("== {name}: {seconds} s ==")));
    let seeds = shell::root().join("fuzz/corpus").join(name);
    let found = shell::root().join("target/fuzz-inputs").join(name);
    for folder in [&seeds, &found] {
        fs::create_dir_all(folder)?;
    }
    let path = |folder: &Path| folder.to_string_lossy().into_owned();
    let target = |arguments: &[String]| {
        Run::new(program).environment("FUZZ_TARGET", name).arguments(arguments)
    };
    let time = format!("-max_total_time={seconds}");
    let prefix = format!("-artifact_prefix={}/found-", path(&found));
    let quiet = ["-print_final_stats=1", "-verbosity=0", "-close_fd_mask=0", SECONDS_PER_INPUT];
    let mut arguments: Vec<_> = quiet.map(str::to_owned).into();
    arguments.extend([time, prefix, path(&found), path(&seeds)]);
    if let Err(error) = target(&arguments).stream() {
        eprintln!("{} {name}: {error:#}", shell::red("failed:"));
        bail!(error);
    }
    match keep {
        true => target(&["-merge=1".to_owned(), path(&seeds), path(&found)]).quiet(),
        false => Ok(()),
    }
}
