//! The file of token hashes.

use std::{
    fs::{self, File},
    io,
    path::Path,
    time::SystemTime,
};

use super::{TokenEntry, TokensError};
use crate::locked_file;

/// Returns what changes when the file does.
pub(super) fn stamp(file: &Path) -> Option<(SystemTime, u64)> {
    let data = fs::metadata(file).ok()?;
    Some((data.modified().ok()?, data.len()))
}

/// Reads the file; empty if it does not exist.
pub(super) fn read(file: &Path) -> Result<Vec<TokenEntry>, TokensError> {
    match fs::read(file) {
        Ok(text) => serde_json::from_slice(&text)
            .map_err(|source| TokensError::Format { path: file.to_owned(), source }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(TokensError::File { what: "read", path: file.to_owned(), source }),
    }
}

/// Waits until no other process changes the file: else what one revokes could come back by what the other writes.
pub(super) fn lock(file: &Path) -> Result<File, TokensError> {
    let failed = |source| TokensError::File { what: "lock", path: file.to_owned(), source };
    locked_file::lock(file).map_err(failed)
}

/// Writes the file, which must be locked.
pub(super) fn write(file: &Path, entries: &[TokenEntry]) -> Result<(), TokensError> {
    let failed = |source| TokensError::File { what: "write", path: file.to_owned(), source };
    let text = serde_json::to_string_pretty(entries).unwrap_or_default();
    locked_file::replace(file, text.as_bytes()).map_err(failed)
}
