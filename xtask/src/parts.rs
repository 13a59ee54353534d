//! Installs what the tests need beyond the workspace: Debian packages, npm packages, Python packages, Rust programs, data.
//!
//! What is needed is declared: Debian's in `debian::PACKAGES`, the others as folders under `parts/`. The
//! latter are installed under `.parts/`, which git ignores. A part that cannot be had is an error: a test that
//! is skipped proves nothing.

mod debian;
mod npm;
mod python;
mod rust;
mod data;
mod debian_root;
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
            part.install()?;
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

/// Installs those of the Debian packages that are missing.
pub(crate) fn install_debian(packages: &[&str]) -> Result<()> {
    debian::install(packages)
}

/// Brings the part that one folder declares up to date, and returns where it is installed: what is no test's need, or one alone.
pub(crate) fn install_one(declared: &str) -> Result<PathBuf> {
    let declared = shell::root().join(declared);
    let installed = shell::root().join(".parts");
    let _lock = lock(&installed)?;
    let name = declared.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let part = TestPart { installed: installed.join(&name), name, declared };
    part.install()?;
    Ok(part.installed)
}

/// A folder `parts/NAME` and the folder `.parts/NAME` that it is installed into.
struct TestPart {
    name: String,
    declared: PathBuf,
    installed: PathBuf,
}

impl TestPart {
    /// Installs what the folder declares, of each kind.
    fn install(&self) -> Result<()> {
        let kinds =
            [npm::install, python::install, rust::install, data::install, debian_root::install];
        for install in kinds {
            install(self).with_context(|| format!("failed to install part `{}`", self.name))?;
        }
        Ok(())
    }
}

/// Every folder of `declared`, in the order of their names.
fn parts_under(declared: &Path, installed: &Path) -> Result<Vec<TestPart>> {
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
            parts.push(TestPart { declared: entry.path(), installed: installed.join(&name), name });
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

/// Reads a file that declares a part; `None` if the part has no such file.
fn declaration(part: &TestPart, file: &str) -> Result<Option<String>> {
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
