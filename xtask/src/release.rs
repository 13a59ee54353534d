//! Builds the program as one would publish it: the compiler knows from a profile which ways its work takes.
//!
//! A program that counts is built first and put to work; with what it has counted, the program is built anew. The layout of
//! `cargo xtask layout` holds for it too. Both count on the names of functions, which the settings of a cargo profile
//! and `--target` change: what the counting program needs otherwise is told to the compiler alone.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::{
    program,
    shell::{Run, bold, root},
    workload::{self, Crowd, Way},
};

/// One that calls alone, then as many as keep the program busy. What they never come by counts as rare, so they come by every
/// way that calls take.
const CROWDS: [Crowd; 2] = [
    Crowd { clients: 1, calls: 10_000, ways: Way::ALL },
    Crowd { clients: 16, calls: 1_250, ways: Way::ALL },
];

/// Where a program that counts leaves what it has counted.
const COUNTED: &str = "LLVM_PROFILE_FILE";

/// The compiler's flags, with a character between them that no path has.
const FLAGS: &str = "CARGO_ENCODED_RUSTFLAGS";

/// The counts are put in before the whole is optimised at once, so that is left out. What cargo itself runs while it builds
/// counts too, and is to leave nothing.
const COUNTING: [(&str, &str); 2] = [
    (FLAGS, "-Cprofile-generate\u{1f}-Clto=off\u{1f}-Clinker-plugin-lto=off"),
    (COUNTED, "/dev/null"),
];

/// Builds the program that counts, puts it to work, and builds the one to publish.
pub(crate) fn run() -> Result<()> {
    let merger = merger()?;
    let folder = root().join("target/release-profile");
    eprintln!("{}", bold("Building a program that counts where its work takes it"));
    let [flags, counted] = COUNTING;
    let counting =
        program::build(&[flags, counted, ("CARGO_TARGET_DIR", &folder.to_string_lossy())])?;
    eprintln!("{}", bold("Having it start and serve"));
    let counts = train(&counting, &folder)?;
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

/// Puts the program to work, as the gateway and as servers behind it; returns the folder with what they have counted.
fn train(program: &Path, folder: &Path) -> Result<PathBuf> {
    let counts = folder.join("counts");
    // What an older program counted would be merged too.
    let _ = fs::remove_dir_all(&counts);
    let counting = || {
        let mut command = Command::new(program);
        // Each process has a file of its own.
        command.env(COUNTED, counts.join("%p.profraw"));
        command
    };
    workload::run(&mut counting(), &mut counting(), &folder.join("work"), &CROWDS)?;
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
    program::build(&[(FLAGS, &flags), ("CARGO_TARGET_DIR", &folder.to_string_lossy())])
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
