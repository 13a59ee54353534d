//! What retention would drop, without dropping it.

use std::{collections::BTreeMap, io, path::Path, time::SystemTime};

use rusqlite::Connection;

use super::{GcReport, StoreContents, segment_bytes, tools::ToolRemoval};
use crate::{
    config::Config,
    error::Error,
    index::{CallIndex, forget, remove_calls},
    key::StoreFolder,
    layout::Layout,
    line::microseconds,
    manifest::Manifest,
    segment::{SegmentFile, compress},
};

/// What [`gc`](super::gc) would drop; everything stays.
///
/// # Errors
/// The store cannot be read.
pub fn preview(path: &Path, config: &Config) -> Result<GcReport, Error> {
    let layout = Layout::new(StoreFolder::with_key(path, config.key.clone()));
    if !layout.exists()? {
        return Ok(GcReport::default());
    }
    let mut index = CallIndex::open(&layout)?;
    index.feed()?;
    let mut store = StoreContents::of(layout, index)?;
    let manifest = Manifest::read(&store.layout)?;
    let age = u64::try_from(config.max_age.0.as_micros()).unwrap_or(u64::MAX);
    let oldest_wanted = microseconds(SystemTime::now()).saturating_sub(age);
    // The index forgets for a moment, to see which artifacts no record would name any more.
    store.begin()?;
    let removal = ToolRemoval::new(&config.tool_max_age, &manifest, &store.index)?;
    for entry in manifest.kept() {
        let calls = removal.calls(entry, &store.index)?;
        store.change(|index| remove_calls(index, entry.number, &calls))?;
        store.collected.calls += calls.len() as u64;
    }
    let is_too_much = store.bytes()? > config.max_size.0;
    let sizes = match config.compress && is_too_much {
        true => store.compressed_sizes(&manifest)?,
        false => BTreeMap::new(),
    };
    for entry in manifest.kept() {
        let Some(end) = &entry.end else { continue };
        if end.at >= oldest_wanted && store.bytes()? <= config.max_size.0 {
            continue;
        }
        let size = sizes.get(&entry.number).copied();
        let size = size.unwrap_or_else(|| segment_bytes(&store.layout, entry.number));
        store.journal = store.journal.saturating_sub(size);
        store.collected.segments += 1;
        store.collected.bytes += size;
        store.change(|index| forget(index, entry.number, end.until))?;
        store.count_unnamed()?;
    }
    store.count_unnamed()?;
    store.collected.left = store.bytes()?;
    store.take_back()?;
    Ok(store.collected)
}

impl StoreContents {
    fn begin(&self) -> Result<(), Error> {
        self.change(|index| index.execute_batch("BEGIN"))
    }

    fn take_back(&self) -> Result<(), Error> {
        self.change(|index| index.execute_batch("ROLLBACK"))
    }

    fn change(
        &self,
        change: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), Error> {
        change(&self.index.connection).map_err(self.index.tried("read"))
    }

    /// Returns how large the segments would be that are to be compressed, before any is dropped.
    fn compressed_sizes(&mut self, manifest: &Manifest) -> Result<BTreeMap<u64, u64>, Error> {
        let mut sizes = BTreeMap::new();
        for entry in manifest.kept().filter(|entry| entry.end.is_some()) {
            let Ok(file) = SegmentFile::open(&self.layout, entry.number) else { continue };
            if file.is_compressed() {
                continue;
            }
            let path = file.path.clone();
            let size = compress(file.into_cursor(0), &mut io::sink());
            let size = size.map_err(Error::file("compress", &path))?;
            let before = segment_bytes(&self.layout, entry.number);
            self.journal = (self.journal + size).saturating_sub(before);
            sizes.insert(entry.number, size);
        }
        Ok(sizes)
    }

    /// Counts the artifacts that would go, as [`remove_unnamed`](Self::remove_unnamed) removes them.
    fn count_unnamed(&mut self) -> Result<(), Error> {
        let mut kept = Vec::new();
        for artifact in std::mem::take(&mut self.artifacts) {
            if self.is_kept(&artifact)? {
                kept.push(artifact);
            } else {
                self.collected.artifacts += 1;
                self.collected.bytes += artifact.size;
            }
        }
        self.artifacts = kept;
        Ok(())
    }
}
