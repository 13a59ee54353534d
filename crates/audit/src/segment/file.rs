//! The text of a segment, whether its file is compressed or not.

use std::{
    borrow::BorrowMut,
    collections::VecDeque,
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::FileExt,
    path::PathBuf,
};

use zstd::bulk::Decompressor;

use super::seekable::{Frame, FrameTable, damaged};
use crate::layout::Layout;

/// A segment that is open for reading.
///
/// While a segment is being compressed both its files exist; the one that is not compressed is then read, as long as it is there.
pub(crate) struct SegmentFile {
    pub(crate) path: PathBuf,
    content: Content,
}

enum Content {
    Plain(File),
    Compressed(Box<CompressedFile>),
}

struct CompressedFile {
    file: File,
    table: FrameTable,
    /// Made when a frame is read: most files are only asked for their length.
    decompressor: Option<Decompressor<'static>>,
    /// The frames that were read last: a call's lines are near each other, but may be on both sides of a border.
    recent: VecDeque<(u64, Vec<u8>)>,
}

/// How many frames stay in memory.
const RECENT: usize = 2;

impl SegmentFile {
    /// Opens a segment. The error is `NotFound` if it has no file.
    pub(crate) fn open(layout: &Layout, number: u64) -> io::Result<Self> {
        let path = layout.segment(number);
        match File::open(&path) {
            Ok(file) => return Ok(Self { path, content: Content::Plain(file) }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Self::open_compressed(layout.compressed_segment(number))
    }

    /// Opens the compressed file of a segment.
    pub(crate) fn open_compressed(path: PathBuf) -> io::Result<Self> {
        let file = File::open(&path)?;
        let table = FrameTable::read(&file)?;
        let file = CompressedFile { file, table, decompressor: None, recent: VecDeque::new() };
        Ok(Self { path, content: Content::Compressed(Box::new(file)) })
    }

    /// Returns how many bytes a segment has, uncompressed.
    pub(crate) fn length_of(layout: &Layout, number: u64) -> io::Result<u64> {
        match fs::metadata(layout.segment(number)) {
            Ok(metadata) => Ok(metadata.len()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Self::open(layout, number)?.length()
            }
            Err(error) => Err(error),
        }
    }

    /// Returns how many bytes the segment has, uncompressed.
    pub(crate) fn length(&self) -> io::Result<u64> {
        match &self.content {
            Content::Plain(file) => Ok(file.metadata()?.len()),
            Content::Compressed(file) => Ok(file.table.length),
        }
    }

    /// Returns whether it is compressed, which only sealed segments are.
    pub(crate) fn is_compressed(&self) -> bool {
        matches!(self.content, Content::Compressed(_))
    }

    /// Reads from an offset until the buffer is full or the segment ends. Returns how many bytes there are.
    pub(crate) fn read_at(&mut self, buffer: &mut [u8], from: u64) -> io::Result<usize> {
        let mut length = 0;
        while length < buffer.len() {
            let (room, at) = (&mut buffer[length..], from + length as u64);
            let more = match &mut self.content {
                Content::Plain(file) => file.read_at(room, at)?,
                Content::Compressed(file) => file.read_at(room, at)?,
            };
            if more == 0 {
                break;
            }
            length += more;
        }
        Ok(length)
    }

    /// Returns the text from an offset on: so many bytes, or fewer if the segment ends.
    pub(crate) fn read_range(&mut self, from: u64, most: u64) -> io::Result<Vec<u8>> {
        let left = self.length()?.saturating_sub(from).min(most);
        let mut text = vec![0; usize::try_from(left).unwrap_or(usize::MAX)];
        let length = self.read_at(&mut text, from)?;
        text.truncate(length);
        Ok(text)
    }

    /// Returns the whole text.
    pub(crate) fn read_all(&mut self) -> io::Result<Vec<u8>> {
        self.read_range(0, u64::MAX)
    }

    /// Reads on from an offset.
    pub(crate) fn cursor(&mut self, offset: u64) -> SegmentCursor<&mut Self> {
        SegmentCursor { file: self, offset }
    }

    /// Reads on from an offset.
    pub(crate) fn into_cursor(self, offset: u64) -> SegmentCursor<Self> {
        SegmentCursor { file: self, offset }
    }
}

impl CompressedFile {
    /// Reads what one frame has from an offset on.
    fn read_at(&mut self, buffer: &mut [u8], from: u64) -> io::Result<usize> {
        let Some(frame) = self.table.frame_at(from) else { return Ok(0) };
        let text = self.text(frame)?;
        let rest = usize::try_from(from - frame.from).ok().and_then(|skip| text.get(skip..));
        let rest = rest.unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn text(&mut self, frame: Frame) -> io::Result<&[u8]> {
        let known = self.recent.iter().position(|(from, _)| *from == frame.from);
        let recent = match known.and_then(|known| self.recent.remove(known)) {
            Some(recent) => recent,
            None => {
                let compressed = frame.read(&self.file)?;
                let decompressor = match &mut self.decompressor {
                    Some(decompressor) => decompressor,
                    none => none.insert(Decompressor::new()?),
                };
                let text = decompressor
                    .decompress(&compressed, frame.length)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                if text.len() != frame.length {
                    return Err(damaged("a frame is shorter than the table of frames says"));
                }
                self.recent.truncate(RECENT - 1);
                (frame.from, text)
            }
        };
        self.recent.push_front(recent);
        Ok(self.recent.front().map_or(&[], |(_, text)| text))
    }
}

/// Whether a segment with this error is skipped: retention has just dropped it, or its compressed file is damaged, which `verify`
/// reports.
pub(crate) fn is_skipped(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData)
}

/// Reads a segment from front to back.
pub(crate) struct SegmentCursor<F> {
    file: F,
    offset: u64,
}

impl<F: BorrowMut<SegmentFile>> Read for SegmentCursor<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.borrow_mut().read_at(buffer, self.offset)?;
        self.offset += length as u64;
        Ok(length)
    }
}
