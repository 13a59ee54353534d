//! Python packages: `parts/NAME/requirements.txt`, installed to `.parts/NAME/venv`.

use std::fs;

use anyhow::{Context, Result, bail};

use super::stamp::Stamp;
use super::{TestPart, declaration};
use crate::shell::Run;

/// Installs the part's Python packages, if it has any and they are not installed yet.
pub(super) fn install(part: &TestPart) -> Result<()> {
    let Some(requirements) = declaration(part, "requirements.txt")? else {
        return Ok(());
    };
    if let Some(line) = unpinned(&requirements) {
        bail!(
            "`parts/{}/requirements.txt` must pin every package with ==, but says `{line}`",
            part.name
        );
    }
    if let Some(package) = unhashed(&requirements) {
        bail!(
            "`parts/{}/requirements.txt` must have the SHA-256 of every package, but `{package}` has none; \
             parts/README.md says how to make them",
            part.name
        );
    }
    // A venv points at the Python that made it.
    let python = Run::new("python3")
        .arguments(["--version"])
        .text()
        .context("Python packages need python3")?;
    let venv = part.installed.join("venv");
    let stamp = Stamp::new(&venv, &[&python, &requirements]);
    if stamp.is_current() {
        return Ok(());
    }

    eprintln!("installing {} (python)…", part.name);
    fs::create_dir_all(&part.installed)?;
    fs::write(part.installed.join("requirements.txt"), &requirements)?;
    // --clear removes an older venv, stamp included.
    Run::new("python3")
        .arguments(["-m", "venv", "--clear", "venv"])
        .within(&part.installed)
        .quiet()?;
    // --no-deps: packages that are not pinned are not installed, and `pip check` reports those that are missing.
    let pip = || {
        Run::new(venv.join("bin/pip"))
            .within(&part.installed)
            .arguments(["--disable-pip-version-check"])
    };
    // --require-hashes: a package with another SHA-256 is refused, whichever server sends it.
    let from = ["--require-hashes", "-r", "requirements.txt"];
    pip().arguments(["install", "--no-deps"]).arguments(from).quiet()?;
    pip().arguments(["check"]).quiet()?;
    stamp.write()
}

/// The first line that names a package without saying exactly which version.
pub(super) fn unpinned(requirements: &str) -> Option<&str> {
    let names_package =
        |line: &&str| !line.is_empty() && !line.starts_with('#') && !line.starts_with("--hash=");
    requirements.lines().map(str::trim).filter(names_package).find(|line| !line.contains("=="))
}

/// The first package whose hash is not given.
pub(super) fn unhashed(requirements: &str) -> Option<&str> {
    let mut package = None;
    let mut has_hash = true;
    for line in requirements.lines().map(str::trim) {
        match line {
            "" => {}
            line if line.starts_with('#') => {}
            line if line.starts_with("--hash=sha256:") => has_hash = true,
            line if has_hash => {
                package = Some(line.trim_end_matches('\\').trim_end());
                has_hash = line.contains("--hash=sha256:");
            }
            _ => return package,
        }
    }
    package.filter(|_| !has_hash)
}
