//! Files that several processes change: one at a time, and readers never see half of a change.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

use switchboard_runtime::private_files;

/// Waits until no other process changes the file. The lock ends when the result is dropped.
pub(crate) fn lock(file: &Path) -> io::Result<File> {
    if let Some(folder) = file.parent() {
        private_files::create_dir(folder)?;
    }
    let mut options = File::options();
    let guard = private_files::open(
        options.write(true).create(true).truncate(false),
        &file.with_extension("lock"),
    )?;
    guard.lock()?;
    Ok(guard)
}

/// Writes a new file and moves it into place.
pub(crate) fn replace(file: &Path, text: &[u8]) -> io::Result<()> {
    let beside = file.with_extension("new");
    let mut new = private_files::create(&beside)?;
    new.write_all(text)?;
    new.sync_all()?;
    fs::rename(&beside, file)
}
