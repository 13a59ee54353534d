//! Builds the program to publish: profile `dist`, optimised with a profile of its work (PGO).
//!
//! An instrumented program is built first and put to work; with its counts the program is built again. Counts belong to the names
//! of functions, which the settings of a cargo profile and `--target` change: both builds use the profile `dist`, and what the
//! instrumented one needs otherwise is passed to the compiler alone.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::{
    program,
    shell::{Run, bold, root},
    workload::{self, Clients},
};

/// One client alone, then as many as keep the program busy. What they never call counts as rare, so they take every route.
const ROUNDS: [Clients; 2] =
    [Clients { count: 1, calls: 10_000 }, Clients { count: 16, calls: 1_250 }];

/// Where an instrumented program leaves its counts.
const PROFILE_FILE: &str = "LLVM_PROFILE_FILE";

/// The compiler's flags, with a character between them that no path has.
const FLAGS: &str = "CARGO_ENCODED_RUSTFLAGS";

/// Counters are inserted before link-time optimisation, which the instrumented program goes without. Build scripts and macros are
/// instrumented too, and must leave no files.
const INSTRUMENT: [(&str, &str); 2] = [
    (FLAGS, "-Cprofile-generate\u{1f}-Clto=off\u{1f}-Clinker-plugin-lto=off"),
    (PROFILE_FILE, "/dev/null"),
];

/// Builds the instrumented program, puts it to work, and builds the one to publish.
pub(crate) fn run() -> Result<()> {
    let merger = merger()?;
    let folder = root().join("target/release-profile");
    eprintln!("{}", bold("Building an instrumented program"));
    let [flags, profile_file] = INSTRUMENT;
    let target = ("CARGO_TARGET_DIR", &*folder.to_string_lossy());
    let instrumented = program::build("dist", &[flags, profile_file, target])?;
    eprintln!("{}", bold("Putting it to work"));
    let counts = train(&instrumented, &folder)?;
    let profile = folder.join("merged.profdata");
    merge(&merger, &counts, &profile)?;
    eprintln!("{}", bold("Building the program to publish"));
    let published = publish(&profile, &root().join("target/published"))?;
    eprintln!("The program to publish is {}", published.display());
    Ok(())
}

/// The tool that merges counts, of the compiler's own version: others may not read them.
fn merger() -> Result<PathBuf> {
    let libraries = Run::new("rustc").arguments(["--print", "target-libdir"]).text()?;
    let tool = tool_beside(Path::new(&libraries));
    ensure!(
        tool.is_file(),
        "{} is missing: install it with `rustup component add llvm-tools`",
        tool.display()
    );
    Ok(tool)
}

/// The component `llvm-tools` lies beside the standard library.
fn tool_beside(libraries: &Path) -> PathBuf {
    libraries.with_file_name("bin").join("llvm-profdata")
}

/// Puts the program to work, as the gateway and as servers behind it; returns the folder with their counts.
fn train(program: &Path, folder: &Path) -> Result<PathBuf> {
    let counts = folder.join("counts");
    // The counts of an older program would be merged too.
    let _ = fs::remove_dir_all(&counts);
    let instrumented = || {
        let mut command = Command::new(program);
        // Each process has a file of its own.
        command.env(PROFILE_FILE, counts.join("%p.profraw"));
        command
    };
    workload::run(&mut instrumented(), &mut instrumented(), &folder.join("work"), &ROUNDS)?;
    let left = fs::read_dir(&counts).map_or(0, Iterator::count);
    ensure!(left >= 2, "the gateway and the server behind it left {left} files of counts, not two");
    Ok(counts)
}

fn merge(merger: &Path, counts: &Path, profile: &Path) -> Result<()> {
    let arguments = ["merge", "--output", &profile.to_string_lossy(), &counts.to_string_lossy()];
    Run::new(merger).arguments(arguments).quiet()
}

/// Builds the program anew in `folder`: cargo would keep dependencies that were built with another profile of this name.
fn publish(profile: &Path, folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("failed to empty {}", folder.display()))?;
    }
    let flags = format!("-Cprofile-use={}", profile.display());
    program::build("dist", &[(FLAGS, &flags), ("CARGO_TARGET_DIR", &folder.to_string_lossy())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_lies_beside_the_standard_library() {
        let libraries = Path::new("/toolchain/lib/rustlib/x86_64-unknown-linux-gnu/lib");
        let tool = "/toolchain/lib/rustlib/x86_64-unknown-linux-gnu/bin/llvm-profdata";
        assert_eq!(tool_beside(libraries), Path::new(tool));
    }
}
