//! Trust in configs that were found, not named: asked for once, remembered by path and content (SPEC PO-3).
//!
//! An entry is a file of the state folder whose name is the hash of both. No file is read, changed and written back, so
//! processes need no lock.

use std::{
    fmt, fs,
    io::{self, Write},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};
use switchboard_runtime::private_files;
use switchboard_toolcall::text::visible;

use super::{Effects, find::FILE_NAME, parse, text_of};
use crate::{
    environment,
    terminal::{self, ask},
};

/// Whether a person may be asked about a config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrustPrompt {
    /// If there is a terminal.
    Allowed,
    /// Never: calls run meanwhile, and the terminal belongs to them.
    Forbidden,
}

/// A config that was found, and is not trusted with its current content.
#[derive(Debug)]
pub(crate) struct UntrustedConfig {
    file: PathBuf,
    effects: Effects,
    entry: Option<PathBuf>,
}

impl UntrustedConfig {
    /// Whether somebody has trusted it since.
    pub(crate) fn is_trusted_now(&self) -> bool {
        self.entry.as_deref().is_some_and(Path::exists)
    }

    /// Says what to type so that a running process uses it.
    pub(crate) fn advice(&self) -> String {
        let folder = absolute(&self.file).unwrap_or_default();
        let folder = folder.parent().unwrap_or(Path::new(".")).to_string_lossy();
        format!("`switchboard trust {}` lets it apply", visible(&folder))
    }
}

impl fmt::Display for UntrustedConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, effects, .. } = self;
        let file = visible(&file.to_string_lossy()).into_owned();
        write!(
            f,
            "`{file}` was found in this folder, not named, and is not trusted as it is now. It would\n\
             {effects}\n\
             To use it this once, write `--config ./{FILE_NAME}`; to trust it until it changes, `switchboard trust .`"
        )
    }
}

impl std::error::Error for UntrustedConfig {}

/// Checks that a config that was found in the current folder is trusted; asks the person if it is not.
///
/// # Errors
/// [`UntrustedConfig`], if it is not trusted, and nobody can be asked or the person says no.
pub(super) fn check(
    file: &Path,
    text: &str,
    effects: Effects,
    question: TrustPrompt,
) -> anyhow::Result<()> {
    let entry = entry(file, text);
    if entry.as_deref().is_some_and(Path::exists) {
        return Ok(());
    }
    if question == TrustPrompt::Allowed && ask::is_possible() && is_allowed(file, &effects) {
        return match entry {
            Some(entry) => write(&entry, file),
            // Without a state folder, the person is asked each time.
            None => Ok(()),
        };
    }
    Err(UntrustedConfig { file: file.to_owned(), effects, entry }.into())
}

fn is_allowed(file: &Path, effects: &Effects) -> bool {
    let file = file.to_string_lossy();
    let file = visible(&file);
    let sum = effects.sum();
    terminal::tell(&format!(
        "`{file}` was found in this folder, not named. It would\n{effects}{sum}"
    ));
    let answer = ask::line("Use it, and trust it until it changes? [y/N] ");
    // No answer means no.
    answer.is_ok_and(|answer| matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Trusts the current content of the config `file`, and returns its effects.
///
/// # Errors
/// The config cannot be read, or there is no state folder for the trust in it.
pub(crate) fn trust(file: &Path) -> anyhow::Result<Effects> {
    let (text, effects) = effects_of(file)?;
    if effects.is_empty() {
        return Ok(effects);
    }
    let Some(entry) = entry(file, &text) else {
        bail!("there is no folder to remember it in: neither XDG_STATE_HOME nor HOME is set");
    };
    write(&entry, file)?;
    Ok(effects)
}

/// Whether the config `file` would be used without asking if it were found.
pub(crate) fn is_trusted(file: &Path) -> bool {
    let Ok((text, effects)) = effects_of(file) else { return false };
    effects.is_empty() || entry(file, &text).is_some_and(|entry| entry.exists())
}

fn effects_of(file: &Path) -> anyhow::Result<(String, Effects)> {
    let text = text_of(file)?;
    let effects = parse(&text, file).and_then(|parsed| Effects::of(&parsed));
    let effects = effects.map_err(|problem| anyhow::anyhow!("{}{problem}", file.display()))?;
    Ok((text, effects))
}

/// The file that stands for trust in this content at this path. `None` if there is no state folder.
fn entry(file: &Path, text: &str) -> Option<PathBuf> {
    let path = absolute(file).ok()?;
    let mut hasher = Sha256::new();
    hasher.update(path.as_os_str().as_bytes());
    hasher.update([0]);
    hasher.update(text.as_bytes());
    let name: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Some(environment::state_home()?.join("trust").join(name))
}

/// The path with its folder resolved, but not the file: programs of a config are looked for from the folder in which
/// it was found, wherever a link leads.
fn absolute(file: &Path) -> io::Result<PathBuf> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")))?;
    Ok(folder.join(file.file_name().unwrap_or_default()))
}

fn write(entry: &Path, file: &Path) -> anyhow::Result<()> {
    let tell = || format!("failed to remember that `{}` is trusted", file.display());
    let folder = entry.parent().unwrap_or(Path::new("."));
    private_files::create_dir(folder).with_context(tell)?;
    let mut written = private_files::create(entry).with_context(tell)?;
    // For people who look into the folder; only the name counts.
    let path = absolute(file).with_context(tell)?;
    written.write_all(path.as_os_str().as_bytes()).with_context(tell)
}
