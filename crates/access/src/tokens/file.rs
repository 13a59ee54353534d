//! The file of token hashes.

use std::{
    fs,
    io::{self, Write},
    path::Path,
    time::SystemTime,
};

use switchboard_runtime::private_files;

use super::{TokenEntry, TokensError};

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

/// Writes a new file and moves it into place, so that readers never see half of it.
pub(super) fn write(file: &Path, entries: &[TokenEntry]) -> Result<(), TokensError> {
    let failed = |source| TokensError::File { what: "write", path: file.to_owned(), source };
    let text = serde_json::to_string_pretty(entries).unwrap_or_default();
    if let Some(folder) = file.parent() {
        private_files::create_dir(folder).map_err(failed)?;
    }
    let beside = file.with_extension("new");
    let written = private_files::create(&beside).and_then(|mut new| {
        new.write_all(text.as_bytes())?;
        new.sync_all()
    });
    written.map_err(failed)?;
    fs::rename(&beside, file).map_err(failed)
}
