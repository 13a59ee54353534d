//! Runs the fuzz targets of `fuzz/` for a while, one after another.
//!
//! libFuzzer is built in by the crate `libfuzzer-sys`, and its coverage by a pass that stable compilers have; sanitizers, which
//! want a nightly, are left out: there is no `unsafe` of ours for them to watch. New inputs stay in `target/fuzz`, those of
//! the repository in `fuzz/corpus`.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context, Result, bail, ensure};

use crate::shell::{self, Run};

/// Counts which ways the code takes, and shows libFuzzer what is compared.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
                     -Cllvm-args=-sanitizer-coverage-pc-table \
                     -Cllvm-args=-sanitizer-coverage-trace-compares";

/// An input takes longer than this only if something is wrong.
const SECONDS_PER_INPUT: &str = "-timeout=20";

/// Runs the targets for `time` in all, or only one of them; `keep` adds what reached new code to `fuzz/corpus`.
pub(crate) fn run(time: Duration, only: Option<&str>, keep: bool) -> Result<()> {
    let source = fs::read_to_string(shell::root().join("fuzz/src/targets.rs"))?;
    let mut targets = names(&source);
    if let Some(only) = only {
        targets.retain(|name| *name == only);
        ensure!(!targets.is_empty(), "there is no target `{only}`: {}", names(&source).join(", "));
    }
    let program = build()?;
    let seconds = (time.as_secs() / targets.len() as u64).max(1);
    let failed: Vec<_> =
        targets.into_iter().filter(|name| fuzz(&program, name, seconds, keep).is_err()).collect();
    ensure!(
        failed.is_empty(),
        "found inputs for {}: they are in target/fuzz/NAME/found-*; run `FUZZ_TARGET=NAME {program} FILE` to see one again",
        failed.join(", ")
    );
    Ok(())
}

/// The names in the list of targets.
fn names(source: &str) -> Vec<&str> {
    let list = source.split_once("ALL:").map_or("", |(_, list)| list);
    let list = list.split("];").next().unwrap_or_default();
    list.split("(\"").skip(1).filter_map(|entry| entry.split('"').next()).collect()
}

/// Builds for an explicit target, so that build scripts and macros do without the flags.
fn build() -> Result<String> {
    let version = Run::new("rustc").arguments(["-vV"]).text()?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.context("rustc does not say its host")?;
    let build = ["build", "--release", "--manifest-path", "fuzz/Cargo.toml"];
    let run = Run::new("cargo").arguments(build).arguments(["--target", host]);
    run.environment("RUSTFLAGS", FLAGS).environment("CARGO_TARGET_DIR", "target/fuzz").stream()?;
    let program = format!("target/fuzz/{host}/release/switchboard-fuzz");
    Ok(shell::root().join(program).to_string_lossy().into_owned())
}

fn fuzz(program: &str, name: &str, seconds: u64, keep: bool) -> Result<()> {
    eprintln!("{}", shell::bold(&format!("== {name}: {seconds} s ==")));
    let seeds = shell::root().join("fuzz/corpus").join(name);
    let found = shell::root().join("target/fuzz").join(name);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_from_their_list_and_each_has_a_corpus() {
        let source = fs::read_to_string(shell::root().join("fuzz/src/targets.rs")).unwrap();
        let names = names(&source);
        assert!(names.contains(&"lines") && names.contains(&"redact"), "{names:?}");
        for name in names {
            let seeds = shell::root().join("fuzz/corpus").join(name);
            assert!(fs::read_dir(&seeds).is_ok_and(|mut files| files.next().is_some()), "{name}");
        }
    }
}
