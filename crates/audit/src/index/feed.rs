//! Brings the index up to date with the journal.

use std::{fs, io, path::Path};

use rusqlite::{ErrorCode, OptionalExtension, Transaction, TransactionBehavior};

use super::{CallIndex, calls::CallRows};
use crate::{
    chain::{self, Hash, SealedLine},
    error::Error,
    layout::Layout,
    segment::{SegmentFile, is_skipped, lines},
};

/// How much of a segment is read at once: little enough to stay in the processor's cache.
const PIECE: usize = 256 << 10;

/// How much of a segment goes into the index in one transaction. Most calls end within it, so that start and end are
/// written as one row; and other processes do not wait long.
const CHANGE: u64 = 4 << 20;

/// How many bytes a line that seals a segment has at most.
const SEALED: u64 = 1024;

/// How often a transaction is tried while nobody else gets on.
const TRIES: u32 = 6;

impl CallIndex {
    /// Reads what any process has written since the last time. Returns the number of lines.
    pub(crate) fn feed(&mut self) -> Result<u64, Error> {
        self.feed_in_steps(CHANGE, u64::MAX)
    }

    /// Reads about `most` bytes of it, at most `step` in one transaction. Returns the number of lines.
    pub(crate) fn feed_in_steps(&mut self, step: u64, most: u64) -> Result<u64, Error> {
        let (mut fed, mut left, mut room) = (0, most, Vec::new());
        for (number, read, length) in self.unread()? {
            let until = length.min(read.saturating_add(left));
            if read < until {
                fed += self.feed_segment(number, until, step, &mut room)?;
                left -= until - read;
            }
        }
        Ok(fed)
    }

    /// Returns how many bytes of the journal are not in the index.
    pub(crate) fn behind(&self) -> Result<u64, Error> {
        Ok(self.unread()?.iter().map(|(_, read, length)| length - read).sum())
    }

    /// Returns the segments with something to read, oldest first: how far they were read, and how long they are.
    fn unread(&self) -> Result<Vec<(u64, u64, u64)>, Error> {
        let mut lengths = Vec::new();
        let mut numbers = segments(&self.layout.journal())?;
        // Newest first: the start of a call whose end is seen in a later segment is then in the part that is read of an
        // earlier one.
        numbers.sort_unstable_by_key(|number| std::cmp::Reverse(*number));
        let mut whole = self.whole.borrow_mut();
        numbers.retain(|number| !whole.contains(number));
        for number in numbers {
            match SegmentFile::length_of(&self.layout, number) {
                Ok(length) => lengths.push((number, length)),
                Err(error) if is_skipped(&error) => {}
                Err(error) => return Err(Error::file("read", &self.layout.segment(number))(error)),
            }
        }
        let known = self.read_to()?;
        let mut unread = Vec::new();
        for (number, length) in lengths.into_iter().rev() {
            let read = known.get(&number).map_or(0, |(read, _)| *read);
            if read < length {
                unread.push((number, read, length));
            } else if is_sealed(&self.layout, number, length) {
                whole.insert(number);
            }
        }
        Ok(unread)
    }

    /// Feeds a segment up to `length`, at most `step` bytes in one transaction; `room` is a reusable buffer.
    fn feed_segment(
        &mut self,
        number: u64,
        length: u64,
        step: u64,
        room: &mut Vec<u8>,
    ) -> Result<u64, Error> {
        let path = self.layout.segment(number);
        let mut file = match SegmentFile::open(&self.layout, number) {
            Err(error) if is_skipped(&error) => return Ok(0),
            file => file.map_err(Error::file("open", &path))?,
        };
        let mut fed = 0;
        loop {
            let Some(change) = self.begin(number, length)? else { return Ok(fed) };
            let tried = || Error::index("feed", &self.path);
            // Read within the transaction: another process may feed too.
            let mut read = SegmentRead::so_far(&change, number).map_err(tried())?;
            let from = read.until;
            let mut calls = CallRows::new(&change, &self.layout, number).map_err(tried())?;
            let mut most = PIECE;
            while read.until < length.min(from + step) {
                let text = match read_at_most(&mut file, read.until, most, room) {
                    Err(error) if is_skipped(&error) => break,
                    text => text.map_err(Error::file("read", &path))?,
                };
                match read.take(text, &mut calls).map_err(tried())? {
                    true => most = PIECE,
                    // A line longer than the buffer, or one that is still being written.
                    false if text.len() < most => break,
                    false => most *= 2,
                }
            }
            let lead = calls.finish().map_err(tried())?;
            if read.until == from {
                return Ok(fed);
            }
            read.keep(&change, number, lead).map_err(tried())?;
            change.commit().map_err(tried())?;
            fed += read.lines;
        }
    }
}

impl CallIndex {
    /// Begins a transaction that feeds a segment. `None` if others have fed it up to `length` meanwhile.
    ///
    /// Whoever feeds too may take its turns so fast, or be stopped for so long, that SQLite gives up on waiting; so this tries
    /// again as long as the others get on.
    fn begin(&self, number: u64, length: u64) -> Result<Option<Transaction<'_>>, Error> {
        let (mut read, mut tries) = (None, 0);
        loop {
            let behavior = TransactionBehavior::Immediate;
            let error = match Transaction::new_unchecked(&self.connection, behavior) {
                Ok(change) => return Ok(Some(change)),
                Err(error) => error,
            };
            let now = self.read_to()?.get(&number).map(|(read, _)| *read);
            tries = if now > read { 0 } else { tries + 1 };
            read = now;
            if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) || tries > TRIES {
                return Err(Error::index("feed", &self.path)(error));
            }
            if now.is_some_and(|read| read >= length) {
                return Ok(None);
            }
        }
    }
}

/// Returns the numbers of the segments in the folder. One whose compressed file just takes the place of the other may be missing.
pub(crate) fn segments(journal: &Path) -> Result<Vec<u64>, Error> {
    let files = match fs::read_dir(journal) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::file("read the folder", journal)(error)),
    };
    let number = |file: fs::DirEntry| {
        let name = file.file_name();
        let name = name.to_str()?;
        name.strip_suffix(".zst").unwrap_or(name).strip_suffix(".log")?.parse().ok()
    };
    let mut numbers: Vec<u64> = files.flatten().filter_map(number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// Returns whether the last line of the segment seals it, so that it does not grow any more.
fn is_sealed(layout: &Layout, number: u64, length: u64) -> bool {
    let Ok(mut file) = SegmentFile::open(layout, number) else { return false };
    if file.is_compressed() {
        return true;
    }
    let Ok(end) = file.read_range(length.saturating_sub(SEALED), SEALED) else { return false };
    let Some(line) = end.strip_suffix(b"\n") else { return false };
    let start = line.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    line.get(start..).is_some_and(|line| line.starts_with(b"{\"sealed\":"))
}

/// Reads from `from` into the buffer.
fn read_at_most<'a>(
    file: &mut SegmentFile,
    from: u64,
    most: usize,
    room: &'a mut Vec<u8>,
) -> io::Result<&'a [u8]> {
    // The buffer is overwritten, not cleared each time.
    if room.len() < most {
        room.resize(most, 0);
    }
    let length = file.read_at(&mut room[..most], from)?;
    Ok(&room[..length])
}

/// How far a segment was read.
struct SegmentRead {
    /// The offset of the next line.
    until: u64,
    /// The hash of the line before it.
    last: Option<Hash>,
    /// How many lines were fed since.
    lines: u64,
}

impl SegmentRead {
    fn so_far(change: &Transaction<'_>, number: u64) -> rusqlite::Result<Self> {
        let mut row = change.prepare_cached("SELECT read, last FROM segments WHERE number = ?1")?;
        let read = row.query_row([number], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)));
        let read = read.optional()?.map(|(read, last)| (read, Hash::parse(&last)));
        let (until, last) = read.unwrap_or((0, None));
        Ok(Self { until, last, lines: 0 })
    }

    fn keep(&self, change: &Transaction<'_>, number: u64, lead: i64) -> rusqlite::Result<()> {
        let mut row = change.prepare_cached(
            "INSERT INTO segments VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET read = ?2, last = ?3, lead = max(lead, ?4)",
        )?;
        let last = self.last.as_ref().map_or("", Hash::as_str);
        row.execute((number, self.until, last, lead)).map(|_| ())
    }

    /// Feeds the whole lines of a text. Returns `false` if none of them was valid.
    ///
    /// Lines at the end that do not follow the chain are left: they were torn, and are truncated when the segment is
    /// repaired. A segment is only torn at its end, so if the first line follows what was read before, and the last one
    /// the line before it, those in between are not hashed again. Whether they were altered is up to `verify`.
    fn take(&mut self, text: &[u8], calls: &mut CallRows<'_>) -> rusqlite::Result<bool> {
        let (from, text) = (self.until, whole_lines(text));
        if is_sound(text, self.last) {
            (self.until, self.last) = (from + text.len() as u64, chain::before(text));
            let sealed = lines(text).filter(|(_, line)| SealedLine::is_like(line));
            self.lines += calls.take(from, sealed)?;
        } else {
            let good = self.good(text);
            self.lines += calls.take(from, good.into_iter())?;
        }
        Ok(self.until > from)
    }

    /// Returns the lines that follow the one before them, hashed one by one.
    fn good<'a>(&mut self, text: &'a [u8]) -> Vec<(u64, &'a [u8])> {
        let (from, mut previous) = (self.until, self.last);
        let mut good = Vec::new();
        for (at, line) in lines(text) {
            let sealed = SealedLine::parse(line);
            let follows =
                |sealed: &SealedLine<'_>| previous.is_none_or(|hash| sealed.follows(&hash));
            let is_good = sealed.as_ref().is_some_and(follows);
            previous = sealed.map(|sealed| sealed.hash);
            if is_good {
                good.push((at, line));
                (self.until, self.last) = (from + at + line.len() as u64 + 1, previous);
            }
        }
        good
    }
}

fn whole_lines(text: &[u8]) -> &[u8] {
    &text[..memchr::memrchr(b'\n', text).map_or(0, |at| at + 1)]
}

/// Returns whether the first of these lines follows `last`, and the last one the line before it.
fn is_sound(text: &[u8], last: Option<Hash>) -> bool {
    let follows = |line: &[u8], previous: Option<Hash>| {
        SealedLine::parse(line).is_some_and(|line| previous.is_none_or(|hash| line.follows(&hash)))
    };
    let Some((_, first)) = lines(text).next() else { return false };
    let before_last = whole_lines(&text[..text.len() - 1]);
    let last_line = &text[before_last.len()..text.len() - 1];
    follows(first, last)
        && (before_last.is_empty()
            || chain::before(before_last).is_some_and(|hash| follows(last_line, Some(hash))))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::layout::Layout;

    #[test]
    fn segments_that_are_sealed_and_read_are_not_looked_at_again() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().join("store"));
        fs::create_dir_all(layout.journal()).unwrap();
        let append = |number: u64, text: &str| {
            let file =
                fs::OpenOptions::new().create(true).append(true).open(layout.segment(number));
            file.unwrap().write_all(text.as_bytes()).unwrap();
        };
        let begun = "{\"segment\":1}\n";
        append(1, &format!("{begun}{{\"sealed\":1,\"at\":\"2026\"}}\n"));
        append(2, begun);
        let index = CallIndex::open(&layout).unwrap();
        let numbers = || -> Vec<u64> {
            index.unread().unwrap().into_iter().map(|(number, ..)| number).collect()
        };
        assert_eq!(numbers(), [1, 2]);
        for number in [1, 2] {
            let length = fs::metadata(layout.segment(number)).unwrap().len();
            let values = (number, length, "0".repeat(64));
            let add = "INSERT INTO segments (number, read, last, lead) VALUES (?1, ?2, ?3, 0)";
            index.connection.execute(add, values).unwrap();
        }
        assert!(numbers().is_empty());
        // Only the other one can grow, so only that is looked at.
        append(1, "more\n");
        append(2, "more\n");
        assert_eq!(numbers(), [2]);
    }
}
