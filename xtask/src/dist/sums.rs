//! The SHA-256 of every file, as `sha256sum --check` reads them.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

pub(super) const FILE_NAME: &str = "SHA256SUMS";

/// Writes the sums of all files of the folder.
pub(super) fn write(folder: &Path) -> Result<()> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder)? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        if path.is_file() && name != FILE_NAME {
            let content =
                fs::read(&path).with_context(|| format!("failed to read `{}`", path.display()))?;
            let sum = hex(&Sha256::digest(content));
            lines.push(format!("{sum}  {}\n", name.to_string_lossy()));
        }
    }
    // By name, which follows the sum.
    lines.sort_by(|one, other| one[64..].cmp(&other[64..]));
    fs::write(folder.join(FILE_NAME), lines.concat())?;
    Ok(())
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
