//! Writes sealed segments again: compressed, and without the content of calls that are to lose it.
//!
//! A crash between any two steps leaves a segment that can be read: the new file is complete before it has its name, and the old
//! one goes after that. While both are there, the old one counts, and the next round begins again.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read},
    path::{Path, PathBuf},
};

use switchboard_runtime::private_files;
use tracing::warn;

use crate::{
    chain,
    error::Error,
    layout::{Layout, StoreLock},
    line::{sha256, without_content},
    manifest::{Manifest, ManifestEntry, SegmentEnd},
    segment::{SegmentFile, SegmentScan, compress, is_skipped},
};

/// Where a line is in its segment, and its length.
pub(super) type LineSpan = (u64, u64);

/// The ending of a file that does not have its name yet.
const UNFINISHED: &str = "new";

/// Held by the process that writes segments again: one at a time.
pub(super) struct RewriteLock(#[expect(dead_code, reason = "held until it is dropped")] File);

impl RewriteLock {
    /// Takes the lock; `None` if another process has it.
    pub(super) fn take(layout: &Layout) -> Result<Option<Self>, Error> {
        let path = layout.rewrite_lock();
        let mut options = File::options();
        let file = private_files::open(options.create(true).truncate(false).write(true), &path);
        let file = file.map_err(Error::file("open", &path))?;
        match file.try_lock() {
            Ok(()) => {
                remove_unfinished(layout)?;
                Ok(Some(Self(file)))
            }
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(Error::file("lock", &path)(error)),
        }
    }
}

/// What became of a segment.
pub(super) enum RewriteOutcome {
    Rewritten,
    /// It has the form that it should have, and the content is gone.
    Unchanged,
    /// It is left as it is, for `verify` to report.
    Damaged,
}

/// Writes a segment again: without the content of the lines in `gone`, and compressed if it was or should be.
pub(super) fn rewrite(
    layout: &Layout,
    entry: &ManifestEntry,
    gone: &[LineSpan],
    is_compressing: bool,
    lock: &RewriteLock,
) -> Result<RewriteOutcome, Error> {
    match SegmentRewrite::prepare(layout, entry, gone, is_compressing, lock)? {
        Prepared::Ready(rewrite) => rewrite.finish().map(|()| RewriteOutcome::Rewritten),
        Prepared::Nothing => Ok(RewriteOutcome::Unchanged),
        Prepared::Damaged => Ok(RewriteOutcome::Damaged),
    }
}

/// What there is to do with a segment.
enum Prepared<'a> {
    Ready(SegmentRewrite<'a>),
    Nothing,
    Damaged,
}

/// A segment that is written again.
struct SegmentRewrite<'a> {
    layout: &'a Layout,
    number: u64,
    /// The new file until it has its name.
    fresh: PathBuf,
    target: PathBuf,
    /// The file that goes if there is one: the same segment in the other form.
    other: PathBuf,
    /// How many lines lost their content, and the hash of the segment then.
    removed: Option<(u64, String)>,
}

impl<'a> SegmentRewrite<'a> {
    /// Writes the new file beside the old one.
    fn prepare(
        layout: &'a Layout,
        entry: &ManifestEntry,
        gone: &[LineSpan],
        is_compressing: bool,
        _lock: &RewriteLock,
    ) -> Result<Prepared<'a>, Error> {
        let Some(end) = &entry.end else { return Ok(Prepared::Nothing) };
        let number = entry.number;
        let path = layout.segment(number);
        let opened = SegmentFile::open(layout, number)
            .and_then(|mut file| Ok((is_as_sealed(&mut file, end)?, file)));
        let (is_sound, file) = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Prepared::Nothing),
            Err(error) if is_skipped(&error) => return Ok(Prepared::Damaged),
            opened => opened.map_err(Error::file("read", &path))?,
        };
        let was_compressed = file.is_compressed();
        let content = match gone {
            [] => Some(NewContent::Same(file)),
            gone => NewContent::without(layout, file, entry, gone)?,
        };
        let Some(mut content) = content.filter(|_| is_sound) else {
            warn!(segment = number, "a damaged segment of the journal is left as it is");
            return Ok(Prepared::Damaged);
        };
        let removed = content.removed();
        let is_compressed = was_compressed || is_compressing;
        if removed.is_none() && is_compressed == was_compressed {
            return Ok(Prepared::Nothing);
        }
        let [mut target, mut other] = layout.segment_files(number);
        if is_compressed {
            std::mem::swap(&mut target, &mut other);
        }
        let fresh = layout.journal().join(format!("{number:08}.{UNFINISHED}"));
        match write(&fresh, &mut content, is_compressed) {
            // A frame of the old file cannot be decompressed.
            Err(error) if is_skipped(&error) => return Ok(Prepared::Damaged),
            written => written.map_err(Error::file("write", &fresh))?,
        }
        Ok(Prepared::Ready(Self { layout, number, fresh, target, other, removed }))
    }

    /// Puts the new file in the place of the old one, unless the segment was dropped meanwhile.
    fn finish(self) -> Result<(), Error> {
        let guard = self.layout.lock()?;
        let mut manifest = Manifest::read(self.layout)?;
        if !manifest.kept().any(|entry| entry.number == self.number) {
            return fs::remove_file(&self.fresh).map_err(Error::file("remove", &self.fresh));
        }
        self.vouch(&mut manifest, &guard)?;
        self.rename()?;
        // Nobody drops the segment meanwhile, and nobody waits for this.
        drop(guard);
        self.remove_other()
    }

    /// Writes what is removed into the manifest, before it happens.
    fn vouch(&self, manifest: &mut Manifest, guard: &StoreLock) -> Result<(), Error> {
        match &self.removed {
            Some((lines, sha256)) => manifest.remove_content(self.number, *lines, sha256, guard),
            None => Ok(()),
        }
    }

    fn rename(&self) -> Result<(), Error> {
        fs::rename(&self.fresh, &self.target).map_err(Error::file("replace", &self.target))
    }

    /// Removes the old file once the new one's name is on the disk.
    fn remove_other(&self) -> Result<(), Error> {
        let folder = self.layout.journal();
        let synced = File::open(&folder).and_then(|folder| folder.sync_all());
        synced.map_err(Error::file("bring to the disk", &folder))?;
        match fs::remove_file(&self.other) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::file("remove", &self.other)(error))
            }
            _ => Ok(()),
        }
    }
}

/// Removes what a process left that died while it wrote a segment again.
fn remove_unfinished(layout: &Layout) -> Result<(), Error> {
    let folder = layout.journal();
    let files = fs::read_dir(&folder).map_err(Error::file("read the folder", &folder))?;
    let paths = files.flatten().map(|file| file.path());
    for path in paths.filter(|path| path.extension().is_some_and(|end| end == UNFINISHED)) {
        fs::remove_file(&path).map_err(Error::file("remove", &path))?;
    }
    Ok(())
}

/// The text of the new file.
enum NewContent {
    /// That of the old one, read piece by piece.
    Same(SegmentFile),
    /// With so many lines that lost their content.
    Other(Vec<u8>, u64),
}

impl NewContent {
    /// Removes the content of lines. `None` if the segment is damaged.
    fn without(
        layout: &Layout,
        mut file: SegmentFile,
        entry: &ManifestEntry,
        gone: &[LineSpan],
    ) -> Result<Option<Self>, Error> {
        let mut text = match file.read_all() {
            Err(error) if is_skipped(&error) => return Ok(None),
            text => text.map_err(Error::file("read", &file.path))?,
        };
        let scan = SegmentScan::of(&text, entry.opened);
        // The manifest is about to vouch for the whole text: not for what somebody else removed from it.
        if !scan.faults.is_empty() || scan.removed > 0 && !is_vouched(layout, entry.number, &text)?
        {
            return Ok(None);
        }
        let lines = remove_content(&mut text, gone);
        Ok(Some(if lines > 0 { Self::Other(text, lines) } else { Self::Same(file) }))
    }

    /// Returns how many lines lost their content, and the hash of the text then.
    fn removed(&self) -> Option<(u64, String)> {
        match self {
            Self::Same(_) => None,
            Self::Other(text, lines) => Some((*lines, sha256(text))),
        }
    }

    fn read(&mut self) -> Box<dyn Read + '_> {
        match self {
            Self::Same(file) => Box::new(file.cursor(0)),
            Self::Other(text, _) => Box::new(&text[..]),
        }
    }
}

/// Returns whether the manifest vouches for what was removed from a segment.
fn is_vouched(layout: &Layout, number: u64, text: &[u8]) -> Result<bool, Error> {
    let (manifest, hash) = (Manifest::read(layout)?, sha256(text));
    let mut entries = manifest.kept().filter(|entry| entry.number == number);
    Ok(entries.any(|entry| entry.removed.contains(&hash)))
}

/// Returns whether a segment has the length and the last line that it was sealed with.
fn is_as_sealed(file: &mut SegmentFile, end: &SegmentEnd) -> io::Result<bool> {
    const TAIL: u64 = 1024;
    let length = file.length()?;
    let last = chain::before(&file.read_range(length.saturating_sub(TAIL), TAIL)?);
    Ok(length == end.bytes && last.is_some_and(|last| last.as_str() == end.last))
}

/// Removes the content of lines. Returns of how many.
fn remove_content(text: &mut [u8], gone: &[LineSpan]) -> u64 {
    let mut count = 0;
    for (offset, length) in gone {
        let (from, until) = (usize::try_from(*offset), usize::try_from(offset + length));
        let (Ok(from), Ok(until)) = (from, until) else { continue };
        let is_line = text.get(until) == Some(&b'\n') && (from == 0 || text[from - 1] == b'\n');
        let Some(line) = text.get_mut(from..until).filter(|_| is_line) else { continue };
        if let Some(removed) = without_content(line) {
            line.copy_from_slice(&removed);
            count += 1;
        }
    }
    count
}

/// Writes a file, brings it to the disk, and reads it again: the old one goes, so this one must be right.
fn write(path: &Path, content: &mut NewContent, is_compressed: bool) -> io::Result<()> {
    let mut file = private_files::create(path)?;
    match is_compressed {
        true => _ = compress(content.read(), &mut file)?,
        false => _ = io::copy(&mut content.read(), &mut file)?,
    }
    file.sync_all()?;
    drop(file);
    let written = match is_compressed {
        true => is_same(SegmentFile::open_compressed(path.to_owned())?.cursor(0), content.read()),
        false => is_same(File::open(path)?, content.read()),
    };
    match written? {
        true => Ok(()),
        false => Err(io::Error::other("it is not as it was written")),
    }
}

/// Returns whether two texts are the same.
fn is_same(mut one: impl Read, mut other: impl Read) -> io::Result<bool> {
    const PIECE: u64 = 64 << 10;
    let (mut left, mut right) = (Vec::new(), Vec::new());
    loop {
        left.clear();
        right.clear();
        (&mut one).take(PIECE).read_to_end(&mut left)?;
        (&mut other).take(PIECE).read_to_end(&mut right)?;
        if left != right || left.is_empty() {
            return Ok(left == right);
        }
    }
}

#[cfg(test)]
mod tests;
