//! A clean Debian without Rust, Python or anything else that is not essential: the first line of `parts/NAME/debian.txt` names its
//! release, the others what it has beside essential packages. The archive is `.parts/NAME/root.tar`; tests install packages into it.
//!
//! A release of Debian is the most that can be pinned: its mirrors keep the latest point release only, and sign it.

use std::fs;

use anyhow::{Context, Result};

use super::stamp::Stamp;
use super::{TestPart, declaration};
use crate::shell::Run;

const MIRROR: &str = "http://deb.debian.org/debian";

/// Creates the part's root, if it has one and it does not exist yet.
pub(super) fn install(part: &TestPart) -> Result<()> {
    let Some(declared) = declaration(part, "debian.txt")? else {
        return Ok(());
    };
    let stamp = Stamp::new(&part.installed, &[&declared]);
    if stamp.is_current() {
        return Ok(());
    }
    eprintln!("installing {} (a clean Debian)…", part.name);
    fs::create_dir_all(&part.installed)?;
    let archive = part.installed.join("root.tar");
    let mut lines = declared.lines().map(str::trim);
    let release = lines.next().context("debian.txt names no release")?;
    // Essential packages and those that are named: dpkg is there, apt is not.
    let include = format!("--include={}", lines.collect::<Vec<_>>().join(","));
    Run::new("mmdebstrap")
        .arguments(["--variant=essential", "--quiet", &include, release])
        .arguments([&*archive.to_string_lossy(), MIRROR])
        .quiet()?;
    stamp.write()
}
