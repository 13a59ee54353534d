//! One segment of the journal: a file of lines that one process at a time holds and appends to.

mod recover;
mod scan;
mod seekable;
mod file;

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use switchboard_runtime::private_files;
use switchboard_toolcall::CallId;

use crate::{
    chain::{self, Hash, SealedLine},
    error::Error,
    key::SigningKey,
    layout::{Layout, StoreLock, hold},
    line::{FORMAT, LineBody, LineKind, last_tick, microseconds},
    manifest::{Manifest, ManifestEntry, SegmentEnd},
};

pub(crate) use file::{SegmentCursor, SegmentFile, is_skipped};
pub(crate) use scan::{SegmentScan, lines};
pub(crate) use seekable::compress;

/// When a segment is full and the next one begins.
pub(crate) const FULL: u64 = 16 << 20;
/// How long a segment is written to, in microseconds: retention drops whole segments.
pub(crate) const DAY: u64 = 24 * 3600 * 1_000_000;
/// How much room for what is written next is kept.
const MOST_ROOM: usize = 64 << 10;

/// A segment that this process holds.
pub(crate) struct JournalSegment {
    pub(crate) number: u64,
    pub(crate) path: PathBuf,
    file: File,
    /// How many bytes are valid; the next line goes there.
    pub(crate) length: u64,
    lines: u64,
    last: Hash,
    /// The tick of the last line: increases with every line, whatever the clock does.
    pub(crate) tick: u64,
    /// The tick of the header.
    began: u64,
    /// Calls that were opened and have not ended.
    pub(crate) open: BTreeSet<CallId>,
    /// Whether the last line marks a clean end.
    rested: bool,
    /// Whether bytes of a failed line may follow the valid ones.
    torn: bool,
    /// The write buffer, reused.
    text: Vec<u8>,
    /// The key of its lines, if they are signed.
    key: Option<SigningKey>,
}

impl JournalSegment {
    /// Begins a new segment, which continues with the calls in `carried`.
    pub(crate) fn begin(
        layout: &Layout,
        manifest: &mut Manifest,
        carried: BTreeSet<CallId>,
        tick: u64,
        guard: &StoreLock,
    ) -> Result<Self, Error> {
        // The file is created before the manifest's line: whatever the manifest names existed, and an empty file that
        // it does not name was left by a process that died here.
        let mut segment = loop {
            let number = manifest.next;
            let path = layout.segment(number);
            let mut options = File::options();
            let file = private_files::open(options.create(true).read(true).append(true), &path);
            let file = file.map_err(Error::file("create", &path))?;
            let segment = Self::new(number, path, file, layout.key.clone());
            let is_ours =
                segment.hold()? && segment.file.metadata().is_ok_and(|file| file.len() == 0);
            if is_ours {
                break segment;
            }
            // Not written by us; left for `verify` to report.
            manifest.next += 1;
        };
        let opened = manifest.begin(guard)?;
        segment.open = carried;
        segment.tick = tick.max(manifest.tick);
        segment.write_header(opened)?;
        if layout.sync {
            let folder = layout.journal();
            let synced = File::open(&folder).and_then(|folder| folder.sync_all());
            synced.map_err(Error::file("bring to the disk", &folder))?;
        }
        Ok(segment)
    }

    fn new(number: u64, path: PathBuf, file: File, key: Option<SigningKey>) -> Self {
        Self {
            number,
            path,
            file,
            length: 0,
            lines: 0,
            last: Hash::NONE,
            tick: 0,
            began: 0,
            open: BTreeSet::new(),
            rested: false,
            torn: false,
            text: Vec::new(),
            key,
        }
    }

    fn hold(&self) -> Result<bool, Error> {
        hold(&self.file).map_err(Error::file("lock", &self.path))
    }

    fn write_header(&mut self, opened: Hash) -> Result<(), Error> {
        self.last = opened;
        let carried: Vec<_> = self.open.iter().collect();
        let header = LineBody::new("segment", self.number)
            .with("format", FORMAT)
            .at(SystemTime::now())
            .with("process", std::process::id())
            .with_some("carried", (!carried.is_empty()).then_some(carried));
        self.append([(&header, 0)]).map_err(Error::file("write", &self.path))?;
        self.began = self.tick;
        Ok(())
    }

    /// Takes over a segment that nobody holds, repaired if its last holder died. `None` if somebody holds it or the
    /// file is gone.
    pub(crate) fn take_over(
        layout: &Layout,
        entry: &ManifestEntry,
        _held: &StoreLock,
    ) -> Result<Option<Self>, Error> {
        let path = layout.segment(entry.number);
        let file = match private_files::open(File::options().read(true).append(true), &path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::file("open", &path)(error)),
        };
        // Lines of a segment are either all signed, or none of them.
        let key = layout.key.clone().filter(|_| entry.is_signed);
        let mut segment = Self::new(entry.number, path, file, key);
        if !segment.hold()? {
            return Ok(None);
        }
        let rested = segment.read_rest().map_err(Error::file("read", &segment.path))?;
        if !rested {
            segment.repair(layout, entry)?;
        }
        Ok(Some(segment))
    }

    /// Reads the state from the last line, if that marks a clean end.
    fn read_rest(&mut self) -> io::Result<bool> {
        const TAIL: u64 = 1024;
        let length = self.file.seek(SeekFrom::End(0))?;
        self.file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut tail = Vec::new();
        (&self.file).take(TAIL).read_to_end(&mut tail)?;
        let Some(line) = tail.strip_suffix(b"\n").and_then(|tail| tail.rsplit(is_newline).next())
        else {
            return Ok(false);
        };
        let (Some(LineKind::Rest), Some(sealed), Some(tick)) =
            (LineKind::of(line), SealedLine::parse(line), last_tick(line))
        else {
            return Ok(false);
        };
        let Ok(rest) = serde_json::from_slice::<CleanEnd>(line) else { return Ok(false) };
        self.length = length;
        self.last = sealed.hash;
        self.tick = tick;
        (self.lines, self.began, self.rested) = (rest.rest, rest.began, true);
        Ok(true)
    }

    /// Appends lines in one write. The tick of each is at least the number beside it and greater than the one before.
    /// Returns where they end.
    ///
    /// If they cannot be written whole, all of them are removed again, so that others can follow.
    pub(crate) fn append<'a>(
        &mut self,
        lines: impl IntoIterator<Item = (&'a LineBody, u64)>,
    ) -> io::Result<u64> {
        if self.torn {
            self.file.set_len(self.length)?;
            self.torn = false;
        }
        let (mut last, mut tick, mut count) = (self.last, self.tick, self.lines);
        self.text.clear();
        for (body, at_least) in lines {
            tick = (tick + 1).max(at_least);
            let from = self.text.len();
            self.text.extend_from_slice(&body.0);
            LineBody::tick(&mut self.text, tick);
            last = chain::seal(&mut self.text, from, &last, self.key.as_ref());
            count += 1;
        }
        let written = self.file.write_all(&self.text);
        let length = self.text.len() as u64;
        self.text.shrink_to(MOST_ROOM);
        if let Err(error) = written {
            self.torn = self.file.set_len(self.length).is_err();
            return Err(error);
        }
        self.length += length;
        (self.last, self.tick, self.lines, self.rested) = (last, tick, count, false);
        Ok(self.length)
    }

    /// Writes a clean end, so that the next holder need not read everything.
    pub(crate) fn mark_clean(&mut self) -> Result<(), Error> {
        if self.rested {
            return Ok(());
        }
        let body = LineBody::new("rest", self.lines + 1).with("began", self.began);
        self.append([(&body, 0)]).map_err(Error::file("write", &self.path))?;
        self.rested = true;
        Ok(())
    }

    /// Seals the segment.
    pub(crate) fn seal(
        mut self,
        layout: &Layout,
        manifest: &mut Manifest,
        guard: &StoreLock,
    ) -> Result<(), Error> {
        let body = LineBody::new("sealed", self.number).at(SystemTime::now());
        self.append([(&body, 0)]).map_err(Error::file("write", &self.path))?;
        if layout.sync {
            self.file.sync_data().map_err(Error::file("bring to the disk", &self.path))?;
        }
        let last = self.last.to_string();
        let Self { lines, length: bytes, tick: until, .. } = self;
        let at = microseconds(SystemTime::now());
        manifest.seal(self.number, &SegmentEnd { lines, bytes, last, until, at }, guard)
    }

    /// Returns whether the next line should go into the next segment.
    pub(crate) fn is_full(&self, now: u64) -> bool {
        self.length >= FULL || now.max(self.tick).saturating_sub(self.began) >= DAY
    }

    /// Returns whether the file still has a name, so that it can be found again.
    pub(crate) fn is_there(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.nlink() > 0)
    }

    /// Returns the file, for waiting until it is on disk.
    pub(crate) fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}

/// The clean end of a segment: how many lines it has, including itself, and the tick of its header.
#[derive(serde::Deserialize)]
struct CleanEnd {
    rest: u64,
    began: u64,
}

fn is_newline(byte: &u8) -> bool {
    *byte == b'\n'
}

/// Returns whether some process holds the segment.
pub(crate) fn is_held(path: &Path, _held: &StoreLock) -> Result<bool, Error> {
    match File::open(path) {
        Ok(file) => Ok(!hold(&file).map_err(Error::file("lock", path))?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::file("open", path)(error)),
    }
}
