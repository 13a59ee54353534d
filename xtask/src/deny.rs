//! What the program is made of: licences, banned crates, sources and advisories as `deny.toml` has them, and NOTICE.
//!
//! cargo-deny comes from crates.io in one pinned version, with the versions of its own lock file. It is built without
//! optimisation, which takes about a minute on two cores, and kept in `.parts`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::parts::{self, stamp::Stamp};
use crate::shell::{self, Run};

const VERSION: &str = "0.20.2";

/// The systems that the program is built for, as in `deny.toml`.
const TARGETS: [&str; 4] = [
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
];

/// Checks everything. Advisories are left out, with a word, if their database cannot be reached.
pub(crate) fn check() -> Result<()> {
    let program = install()?;
    let deny = || Run::new(&program).arguments(["--locked"]);
    deny().arguments(["check", "bans", "licenses", "sources"]).stream()?;
    match deny().arguments(["fetch", "db"]).succeeds() {
        true => deny().arguments(["check", "--disable-fetch", "advisories"]).stream()?,
        false => eprintln!("advisories are not checked: their database cannot be reached"),
    }
    let notice =
        fs::read_to_string(shell::root().join("NOTICE")).context("failed to read NOTICE")?;
    let missing = unnoticed(&linked()?, &notice);
    ensure!(
        missing.is_empty(),
        "NOTICE must name these crates, with their licences: {}",
        missing.join(", ")
    );
    Ok(())
}

/// Builds cargo-deny unless it is installed, and returns its path.
fn install() -> Result<PathBuf> {
    let parts = shell::root().join(".parts");
    let _lock = parts::lock(&parts)?;
    let folder = parts.join("cargo-deny");
    let stamp = Stamp::new(&folder, &[VERSION]);
    if !stamp.is_current() {
        eprintln!("building cargo-deny {VERSION}…");
        // A clippy or coverage run of ours says nothing about how to build it.
        let mut cargo = Run::new("cargo")
            .arguments([
                "install",
                "cargo-deny",
                "--locked",
                "--force",
                "--version",
                VERSION,
                "--root",
            ])
            .arguments([folder.to_string_lossy()]);
        for (key, value) in
            [("OPT_LEVEL", "0"), ("LTO", "off"), ("DEBUG", "0"), ("CODEGEN_UNITS", "256")]
        {
            cargo = cargo.environment(&format!("CARGO_PROFILE_RELEASE_{key}"), value);
        }
        cargo.quiet()?;
        stamp.write()?;
    }
    Ok(folder.join("bin/cargo-deny"))
}

/// The crates that are linked into the program, one to a line: name and version, a tab, the licence.
fn linked() -> Result<String> {
    let edges = ["tree", "--package", "switchboard", "--edges", "normal,no-proc-macro"];
    let form = ["--all-features", "--prefix", "none", "--format", "{p}\t{l}"];
    let targets = TARGETS.iter().flat_map(|target| ["--target", target]);
    Run::new("cargo").arguments(edges).arguments(form).arguments(targets).text()
}

/// The crates that ask for more than MIT or Apache-2.0 do, and that the notice does not name.
fn unnoticed(linked: &str, notice: &str) -> Vec<String> {
    let is_named = |name: &str| {
        notice
            .split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_')
            .any(|word| word == name)
    };
    let mut missing: Vec<_> = linked
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .filter(|(_, licence)| asks_for_more(licence.trim_end_matches("(*)").trim()))
        .filter_map(|(package, _)| package.split(' ').next())
        .filter(|name| !is_named(name))
        .map(str::to_owned)
        .collect();
    missing.sort();
    missing.dedup();
    missing
}

/// Whether a licence cannot be met by MIT or Apache-2.0 alone.
fn asks_for_more(licence: &str) -> bool {
    let is_usual =
        |choice: &str| matches!(choice.trim_matches(['(', ')', ' ']), "MIT" | "Apache-2.0");
    let licence = licence.replace('/', " OR ");
    !licence.split(" AND ").all(|part| part.split(" OR ").any(is_usual))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_asks_for_more_than_the_usual_is_found() {
        for usual in [
            "MIT",
            "MIT OR Apache-2.0",
            "Apache-2.0/MIT",
            "Zlib OR MIT",
            "(MIT OR ISC) AND Apache-2.0",
        ] {
            assert!(!asks_for_more(usual), "{usual}");
        }
        for more in [
            "BSD-3-Clause",
            "MIT AND BSD-3-Clause",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "MIT-0",
            "",
        ] {
            assert!(asks_for_more(more), "{more}");
        }
    }

    #[test]
    fn a_crate_that_the_notice_leaves_out_is_named() {
        let linked = "a v1\tMIT\nsubtle v2\tBSD-3-Clause\nring v0.17\tApache-2.0 AND ISC (*)\nring-x v1\tISC\nring v0.17\tISC\n";
        assert_eq!(unnoticed(linked, "subtle\nring-x"), ["ring"]);
        assert!(unnoticed(linked, "subtle, ring, ring-x:").is_empty());
    }
}
