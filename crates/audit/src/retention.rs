//! What is too old or too much gives way: whole segments, with their rows and artifacts.

use std::{
    fs, io,
    path::Path,
    time::{Duration, SystemTime},
};

use serde::Serialize;

use crate::{
    artifacts::{Artifacts, Kept},
    claims,
    config::Config,
    error::Error,
    index::Index,
    layout::{Guard, Layout},
    line::microseconds,
    manifest::{Entry, Manifest},
};

/// What was given up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// How many segments were dropped.
    pub segments: u64,
    /// How many artifacts were removed.
    pub artifacts: u64,
    /// How many bytes that freed, the index aside.
    pub bytes: u64,
    /// How many bytes records and artifacts take now, the index aside.
    pub left: u64,
}

/// How long an artifact may wait for the record that names it.
const GRACE: Duration = Duration::from_secs(3600);
/// When the manifest is worth shortening, in lines.
const LONG: u64 = 1000;

/// Drops what the settings no longer want.
pub(crate) fn collect(
    layout: &Layout,
    config: &Config,
    grace: Duration,
) -> Result<Collected, Error> {
    let mut collected = Collected::default();
    if !layout.exists() {
        return Ok(collected);
    }
    let mut index = Index::open(layout)?;
    index.feed()?;
    let artifacts = Artifacts::new(layout.artifacts(), u64::MAX);
    let mut stored = artifacts.all()?;
    let mut left = size(&stored);
    {
        let guard = layout.lock()?;
        let mut manifest = Manifest::read(layout)?;
        let sizes: Vec<_> = manifest
            .kept()
            .map(|entry| (entry.clone(), length(&layout.segment(entry.number))))
            .collect();
        left += sizes.iter().map(|(_, size)| size).sum::<u64>();
        let oldest_wanted =
            microseconds(SystemTime::now()).saturating_sub(microseconds_of(config.max_age.0));
        for (entry, size) in &sizes {
            let Some(end) = &entry.end else { continue };
            let why = match (end.until < oldest_wanted, left > config.max_size.0) {
                (true, _) => "age",
                (_, true) => "size",
                _ => continue,
            };
            drop_segment(layout, &mut manifest, &mut index, entry, why, &guard)?;
            left -= size;
            collected.segments += 1;
            collected.bytes += size;
            // What only it named goes with it, and counts.
            let freed = remove_unnamed(&mut stored, &index, grace, &mut collected)?;
            left -= freed;
        }
        claims::collect(layout, &guard);
        if manifest.lines > LONG {
            manifest.compact(layout, &guard)?;
        }
    }
    left -= remove_unnamed(&mut stored, &index, grace, &mut collected)?;
    collected.left = left;
    Ok(collected)
}

/// Drops a segment: its manifest line first, so that a crash in between leaves nothing unexplained.
fn drop_segment(
    layout: &Layout,
    manifest: &mut Manifest,
    index: &mut Index,
    entry: &Entry,
    why: &str,
    guard: &Guard,
) -> Result<(), Error> {
    manifest.drop_segment(entry.number, why, guard)?;
    let path = layout.segment(entry.number);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::file("remove", &path)(error));
        }
        _ => {}
    }
    index.forget(entry.number)
}

/// Removes the artifacts that no record names, unless they are so young that their record may be on its way.
fn remove_unnamed(
    stored: &mut Vec<Kept>,
    index: &Index,
    grace: Duration,
    collected: &mut Collected,
) -> Result<u64, Error> {
    let (mut freed, mut kept) = (0, Vec::new());
    for artifact in stored.drain(..) {
        let is_young = artifact.kept.elapsed().map_or(true, |age| age < grace);
        if is_young || index.has_artifact(&artifact.id)? {
            kept.push(artifact);
        } else if fs::remove_file(&artifact.path).is_ok() {
            freed += artifact.size;
            collected.artifacts += 1;
        }
    }
    *stored = kept;
    collected.bytes += freed;
    Ok(freed)
}

fn size(stored: &[Kept]) -> u64 {
    stored.iter().map(|artifact| artifact.size).sum()
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

fn microseconds_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Drops what the settings no longer want.
///
/// # Errors
/// The store cannot be read or changed.
pub fn gc(path: &Path, config: &Config) -> Result<Collected, Error> {
    collect(&Layout::new(path), config, GRACE)
}
