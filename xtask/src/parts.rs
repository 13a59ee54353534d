//! Installs what the tests need beyond Rust: Debian packages, npm packages, Python packages, data.
//!
//! What is needed is declared: Debian's in `debian::PACKAGES`, the others as folders under `parts/`. The
//! latter are installed under `.parts/`, which git ignores. A part that cannot be had is an error: a test that
//! is skipped proves nothing.

mod debian;
mod npm;
mod python;
mod data;
pub(crate) mod stamp;

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::shell;

/// Brings everything up to date and returns the folder that holds it.
pub(crate) fn install() -> Result<PathBuf> {
    let declared = shell::root().join("parts");
    let installed = shell::root().join(".parts");
    let _lock = lock(&installed)?;

    let ((), took) = shell::timed(|| {
        debian::install(debian::PACKAGES)?;
        for part in parts_under(&declared, &installed)? {
            npm::install(&part)
                .with_context(|| format!("failed to install part `{}`", part.name))?;
            python::install(&part)
                .with_context(|| format!("failed to install part `{}`", part.name))?;
            data::install(&part)
                .with_context(|| format!("failed to install part `{}`", part.name))?;
        }
        Ok(())
    })?;
    eprintln!("parts ready in {:.1} s", took.as_secs_f64());
    Ok(installed)
}

/// Brings Debian's packages up to date, which builds with all features need.
pub(crate) fn install_packages() -> Result<()> {
    debian::install(debian::PACKAGES)
}

/// A folder `parts/NAME` and the folder `.parts/NAME` that it is installed into.
struct Part {
    name: String,
    declared: PathBuf,
    installed: PathBuf,
}

/// Every folder of `declared`, in the order of their names.
fn parts_under(declared: &Path, installed: &Path) -> Result<Vec<Part>> {
    if !declared.exists() {
        return Ok(Vec::new());
    }
    let mut parts = Vec::new();
    for entry in fs::read_dir(declared)
        .with_context(|| format!("failed to read `{}`", declared.display()))?
    {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            let name = entry.file_name().to_string_lossy().into_owned();
            parts.push(Part { declared: entry.path(), installed: installed.join(&name), name });
        }
    }
    parts.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(parts)
}

/// Keeps a second run out until the returned file is dropped.
pub(crate) fn lock(installed: &Path) -> Result<File> {
    let path = installed.join(".lock");
    let failed = || format!("failed to lock `{}`", path.display());
    fs::create_dir_all(installed).with_context(failed)?;
    let file = File::create(&path).with_context(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            eprintln!("waiting for another run to finish installing…");
            file.lock().with_context(failed)?;
        }
        Err(TryLockError::Error(error)) => return Err(error).with_context(failed),
    }
    Ok(file)
}

/// Reads a file that declares a part; `None` where the part has no such file.
fn declaration(part: &Part, file: &str) -> Result<Option<String>> {
    let path = part.declared.join(file);
    if !path.exists() {
        return Ok(None);
    }
    fs::read_to_string(&path)
        .map(Some)
        .with_context(|| format!("failed to read `{}`", path.display()))
}

#[cfg(test)]
mod tests;
