//! The form of a compressed segment: zstd frames that are compressed each for itself, and a table of them at the end.
//!
//! It is zstd's seekable format. The table is a frame that decompressors skip, so `zstd -dc` shows the lines.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::unix::fs::FileExt,
};

use zstd::bulk::Compressor;

/// How many bytes of the segment a frame has: the more, the smaller the file; the fewer, the faster a single line is read.
const FRAME: usize = 256 << 10;
/// The most bytes of a frame that somebody else wrote: what is read is in memory.
const MOST: u32 = 8 << 20;
/// How much work goes into compression. Lines are full of hashes and numbers: more work finds no more in them, and the default, 3,
/// makes the files larger by a sixth (docs/performance.md).
const LEVEL: i32 = 1;

/// The number that the table's frame begins with.
const TABLE: u32 = 0x184D_2A5E;
/// The number that the file ends with.
const END: u32 = 0x8F92_EAB1;
/// How long the table's end is: the number of frames, a byte of flags, [`END`].
const FOOTER: usize = 9;
/// How long the table's beginning is: [`TABLE`], and the length of what follows.
const HEADER: usize = 8;
/// How long an entry is: the lengths of a frame, compressed and not.
const ENTRY: usize = 8;

/// Compresses the text of a segment, a frame at a time. Returns how many bytes it takes then.
pub(crate) fn compress(mut text: impl Read, file: &mut impl Write) -> io::Result<u64> {
    let mut compressor = Compressor::new(LEVEL)?;
    // Damage is found when a frame is read.
    compressor.include_checksum(true)?;
    let (mut piece, mut entries) = (Vec::with_capacity(FRAME), Vec::new());
    let (mut size, mut count) = (0, 0_u32);
    loop {
        piece.clear();
        (&mut text).take(FRAME as u64).read_to_end(&mut piece)?;
        if piece.is_empty() {
            break;
        }
        let frame = compressor.compress(&piece)?;
        entries.extend_from_slice(&length(frame.len())?.to_le_bytes());
        entries.extend_from_slice(&length(piece.len())?.to_le_bytes());
        file.write_all(&frame)?;
        (size, count) = (size + frame.len() as u64, count + 1);
    }
    let mut table = TABLE.to_le_bytes().to_vec();
    table.extend_from_slice(&length(entries.len() + FOOTER)?.to_le_bytes());
    table.extend_from_slice(&entries);
    table.extend_from_slice(&count.to_le_bytes());
    table.push(0);
    table.extend_from_slice(&END.to_le_bytes());
    file.write_all(&table)?;
    Ok(size + table.len() as u64)
}

fn length(length: usize) -> io::Result<u32> {
    u32::try_from(length).map_err(|_| damaged("it is too long"))
}

/// The frames of a compressed segment.
pub(super) struct FrameTable {
    frames: Vec<Frame>,
    /// How many bytes the segment has.
    pub(super) length: u64,
}

/// Where a frame is, and which bytes of the segment it has.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// Where it is in the file.
    at: u64,
    size: usize,
    /// Where its text is in the segment.
    pub(super) from: u64,
    pub(super) length: usize,
}

impl FrameTable {
    /// Reads the table at the end of a file.
    pub(super) fn read(file: &File) -> io::Result<Self> {
        let whole = file.metadata()?.len();
        let broken = || damaged("the table of its frames cannot be read");
        let mut footer = [0; FOOTER];
        let end = whole.checked_sub(FOOTER as u64).ok_or_else(broken)?;
        file.read_exact_at(&mut footer, end)?;
        let (count, flags) = (number(&footer[..4]), footer[4]);
        // Entries with checksums are longer; we write none.
        if number(&footer[5..]) != END || flags != 0 {
            return Err(broken());
        }
        let entries = u64::from(count) * ENTRY as u64;
        let from = end.checked_sub(entries + HEADER as u64).ok_or_else(broken)?;
        let mut table = vec![0; usize::try_from(end - from).map_err(|_| broken())?];
        file.read_exact_at(&mut table, from)?;
        let (header, entries) = table.split_at(HEADER);
        let has_length = u64::from(number(&header[4..])) == whole - from - HEADER as u64;
        if number(&header[..4]) != TABLE || !has_length {
            return Err(broken());
        }
        let (mut at, mut length, mut frames) = (0, 0, Vec::new());
        for entry in entries.chunks_exact(ENTRY) {
            let (size, text) = (number(&entry[..4]), number(&entry[4..]));
            if size > MOST || text > MOST {
                return Err(broken());
            }
            frames.push(Frame { at, size: size as usize, from: length, length: text as usize });
            (at, length) = (at + u64::from(size), length + u64::from(text));
        }
        match at == from {
            true => Ok(Self { frames, length }),
            false => Err(broken()),
        }
    }

    /// Returns the frame with the byte at this offset of the segment.
    pub(super) fn frame_at(&self, offset: u64) -> Option<Frame> {
        let after = self.frames.partition_point(|frame| frame.from <= offset);
        let frame = *self.frames[..after].last()?;
        (offset < frame.from + frame.length as u64).then_some(frame)
    }
}

impl Frame {
    /// Reads the frame as it is in the file.
    pub(super) fn read(&self, file: &File) -> io::Result<Vec<u8>> {
        let mut frame = vec![0; self.size];
        file.read_exact_at(&mut frame, self.at)?;
        Ok(frame)
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

pub(super) fn damaged(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
