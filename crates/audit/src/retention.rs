//! Drops what is too old or too much: whole segments, with their index rows and artifacts. Compresses the others, and removes the
//! content of calls whose tool has an age of its own.

mod compression;
mod preview;
mod rewrite;
mod tools;

use std::{
    collections::HashSet,
    fs, io,
    path::Path,
    time::{Duration, SystemTime},
};

use serde::Serialize;

use crate::{
    artifacts::{ArtifactFile, ArtifactFolder},
    claims,
    config::Config,
    error::Error,
    index::CallIndex,
    key::StoreFolder,
    layout::Layout,
    line::microseconds,
    manifest::Manifest,
    segment::DAY,
};

pub(crate) use compression::Compression;
pub use preview::preview;

/// What was dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct GcReport {
    /// How many segments were dropped.
    pub segments: u64,
    /// How many calls lost their content, because their tool has an age of its own.
    pub calls: u64,
    /// How many artifacts were removed.
    pub artifacts: u64,
    /// How many bytes that freed.
    pub bytes: u64,
    /// How many bytes records and artifacts take now, the index included.
    pub left: u64,
}

/// How long an artifact may wait for the record that names it.
const GRACE: Duration = Duration::from_secs(3600);
/// When the manifest is worth shortening, in lines.
const LONG: u64 = 1000;

/// Applies the configured retention.
///
/// # Errors
/// The store cannot be read or changed.
pub fn gc(path: &Path, config: &Config) -> Result<GcReport, Error> {
    let layout = Layout::new(StoreFolder::with_key(path, config.key.clone()));
    if !layout.exists()? {
        return Ok(GcReport::default());
    }
    Manifest::read(&layout)?.may_write()?;
    let mut index = CallIndex::open(&layout)?;
    index.feed()?;
    let mut compression = Compression::new(layout.clone());
    while config.compress && compression.next()? {}
    let mut store = StoreContents::of(layout, index)?;
    store.remove_by_tool(config)?;
    store.journal = journal_bytes(&store.layout)?;
    store.drop_segments(config)?;
    store.remove_unnamed()?;
    store.index.shrink()?;
    store.collected.left = store.bytes()?;
    Ok(store.collected)
}

/// Returns how many bytes the store takes: its journal, artifacts and index.
///
/// # Errors
/// The store cannot be read.
pub(crate) fn bytes(layout: &Layout) -> Result<u64, Error> {
    StoreContents::of(layout.clone(), CallIndex::open(layout)?)?.bytes()
}

/// What the store holds, and what was dropped of it.
struct StoreContents {
    layout: Layout,
    index: CallIndex,
    artifacts: Vec<ArtifactFile>,
    /// The artifacts that runs need, which no record of a call names.
    of_runs: HashSet<String>,
    /// How many bytes the segments have.
    journal: u64,
    collected: GcReport,
}

impl StoreContents {
    fn of(layout: Layout, index: CallIndex) -> Result<Self, Error> {
        let artifacts = ArtifactFolder::new(layout.artifacts(), u64::MAX).all()?;
        let journal = journal_bytes(&layout)?;
        let of_runs = layout.run_artifacts().named();
        let of_runs = of_runs.map_err(Error::file("read the runs of", &layout.root))?;
        Ok(Self { layout, index, artifacts, of_runs, journal, collected: GcReport::default() })
    }

    /// Whether an artifact stays: a record of a call names it, a run needs it, or it is so young that its record may be on its way.
    fn is_kept(&self, artifact: &ArtifactFile) -> Result<bool, Error> {
        let is_young = artifact.kept.elapsed().map_or(true, |age| age < GRACE);
        Ok(is_young
            || self.of_runs.contains(&artifact.id)
            || self.index.has_artifact(&artifact.id)?)
    }

    fn bytes(&self) -> Result<u64, Error> {
        let artifacts: u64 = self.artifacts.iter().map(|artifact| artifact.size).sum();
        Ok(self.journal + artifacts + self.index.bytes()?)
    }

    /// Drops segments that are too old, and the oldest while there is too much.
    fn drop_segments(&mut self, config: &Config) -> Result<(), Error> {
        let age = u64::try_from(config.max_age.0.as_micros()).unwrap_or(u64::MAX);
        let oldest_wanted = microseconds(SystemTime::now()).saturating_sub(age);
        for entry in Manifest::read(&self.layout)?.entries {
            let Some(end) = &entry.end else { continue };
            let why = match (end.at < oldest_wanted, self.bytes()? > config.max_size.0) {
                // A process may have died between the manifest's line and the file.
                _ if entry.dropped && segment_bytes(&self.layout, entry.number) > 0 => {
                    "dropped before"
                }
                _ if entry.dropped => continue,
                (true, _) => "age",
                (_, true) => "size",
                _ => continue,
            };
            self.drop_segment(entry.number, end.until, why)?;
            // What only it named goes with it, and counts.
            self.remove_unnamed()?;
        }
        claims::collect(&self.layout)?;
        if self.collected.segments > 0 {
            self.forget_figures()?;
        }
        let guard = self.layout.lock()?;
        let mut manifest = Manifest::read(&self.layout)?;
        match manifest.lines > LONG {
            true => manifest.compact(&self.layout, &guard),
            false => Ok(()),
        }
    }

    /// Drops a segment: its manifest line first, so that a crash in between leaves nothing unexplained. The lock is held
    /// for that alone: nobody who wants to record a call waits for the rest.
    fn drop_segment(&mut self, number: u64, until: u64, why: &str) -> Result<(), Error> {
        let size = segment_bytes(&self.layout, number);
        {
            let guard = self.layout.lock()?;
            let mut manifest = Manifest::read(&self.layout)?;
            if manifest.kept().any(|entry| entry.number == number) {
                manifest.drop_segment(number, why, &guard)?;
            }
        }
        for path in self.layout.segment_files(number) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::file("remove", &path)(error));
                }
                _ => {}
            }
        }
        self.journal = self.journal.saturating_sub(size);
        self.collected.segments += 1;
        self.collected.bytes += size;
        self.index.forget(number, until)
    }

    /// Deletes the figures of calls that were removed, once all segments of their time are dropped.
    fn forget_figures(&mut self) -> Result<(), Error> {
        let manifest = Manifest::read(&self.layout)?;
        let Some(oldest) = manifest.kept().map(|entry| entry.began).min() else { return Ok(()) };
        // A call that waited for the first line of its segment began before that.
        self.index.forget_figures(oldest.saturating_sub(DAY))
    }

    /// Removes the artifacts that nothing names.
    fn remove_unnamed(&mut self) -> Result<(), Error> {
        let mut kept = Vec::new();
        for artifact in std::mem::take(&mut self.artifacts) {
            if self.is_kept(&artifact)? {
                kept.push(artifact);
            } else if fs::remove_file(&artifact.path).is_ok() {
                self.collected.artifacts += 1;
                self.collected.bytes += artifact.size;
            }
        }
        self.artifacts = kept;
        Ok(())
    }
}

/// Returns how many bytes of the disk the segments take.
fn journal_bytes(layout: &Layout) -> Result<u64, Error> {
    let manifest = Manifest::read(layout)?;
    Ok(manifest.kept().map(|entry| segment_bytes(layout, entry.number)).sum())
}

/// Returns how many bytes of the disk a segment takes: both of its files, if a process died while it compressed it.
fn segment_bytes(layout: &Layout, number: u64) -> u64 {
    let files = layout.segment_files(number);
    files.iter().map(|path| fs::metadata(path).map_or(0, |metadata| metadata.len())).sum()
}
