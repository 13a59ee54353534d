//! Whether the store takes records, and how much it holds: what `switchboard doctor` says of it.

use std::{
    fs::{self, File},
    io::Write,
    time::SystemTime,
};

use switchboard_runtime::private_files;

use crate::{
    error::Error, filter::Filter, key::StoreFolder, layout::Layout, manifest::Manifest,
    reader::Reader, retention,
};

/// How many bytes are written to see whether there is room for a record.
const TRIED: usize = 64 << 10;

/// What a store holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreUsage {
    /// How many calls have a record.
    pub calls: u64,
    /// When the oldest of them began.
    pub oldest: Option<SystemTime>,
    /// How many bytes it takes: journal, artifacts and index.
    pub bytes: u64,
}

/// Tries whether the store in the folder takes records, as a call would, and says how much it holds. Makes the folder if
/// there is none.
///
/// # Errors
/// A call could not be recorded there, or the store cannot be read.
pub fn usage(folder: impl Into<StoreFolder>) -> Result<StoreUsage, Error> {
    let layout = Layout::new(folder);
    try_to_write(&layout)?;
    let mut reader = Reader::open(layout.folder())?;
    let (calls, oldest) = (reader.count(&Filter::default())?, reader.oldest()?);
    let bytes = if layout.exists()? { retention::bytes(&layout)? } else { 0 };
    Ok(StoreUsage { calls, oldest, bytes })
}

/// A call that finds no segment to write to locks the store, writes to the manifest and makes a file in the journal.
fn try_to_write(layout: &Layout) -> Result<(), Error> {
    layout.create()?;
    let _guard = layout.lock()?;
    Manifest::read(layout)?.may_write()?;
    let manifest = layout.manifest();
    if layout.exists()? {
        File::options().append(true).open(&manifest).map_err(Error::file("write", &manifest))?;
    }
    let path = layout.journal().join(format!("{}.tried", std::process::id()));
    let mut file = private_files::create(&path).map_err(Error::file("create", &path))?;
    let written = file.write_all(&[b' '; TRIED]).map_err(Error::file("write", &path));
    fs::remove_file(&path).map_err(Error::file("remove", &path))?;
    written
}
