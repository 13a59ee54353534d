//! Everything about one call, read from the journal.

use std::io::{self, BufRead, BufReader, Read};

use rusqlite::{OptionalExtension, Row};
use switchboard_toolcall::CallId;

use super::{COLUMNS, LineLocation, Reader, record};
use crate::{
    chain::{self, Hash, SealedLine},
    error::Error,
    index::{CallIndex, apart},
    layout::Layout,
    line::{JournalLine, LineKind},
    record::{CallDetail, LinePosition, Record},
    segment::SegmentFile,
};

impl Reader {
    /// Returns everything about one call. `None` if no record has the id.
    ///
    /// # Errors
    /// The store cannot be read, or the call's lines are damaged.
    pub fn show(&mut self, id: CallId) -> Result<Option<CallDetail>, Error> {
        let Some(index) = self.fresh()? else { return Ok(None) };
        let Some(place) = find(index, id)? else { return Ok(None) };
        self.detail(place, &mut LineReader::new(&self.layout))
    }

    /// Returns everything about a call whose row is `found`. `None` if retention has just removed its content.
    pub(super) fn detail(
        &self,
        found: FoundCall,
        lines: &mut LineReader,
    ) -> Result<Option<CallDetail>, Error> {
        let FoundCall { mut record, begun, ended } = found;
        complete(&mut record, begun, lines);
        let mut detail = CallDetail::of(record);
        let (text, place) = lines.line(begun)?;
        if LineKind::of(&text) == Some(LineKind::Removed) {
            return Ok(None);
        }
        detail.lines.push(place);
        if let Some(ended) = ended {
            let (text, place) = lines.line(ended)?;
            if LineKind::of(&text) == Some(LineKind::Removed) {
                return Ok(None);
            }
            detail.lines.push(place);
            self.fill(&mut detail, &text)?;
        }
        Ok(Some(detail))
    }

    /// Returns where a call begins.
    pub(crate) fn begun(&mut self, id: CallId) -> Result<Option<LineLocation>, Error> {
        let Some(index) = self.fresh()? else { return Ok(None) };
        Ok(find(index, id)?.map(|found| found.begun))
    }

    /// Sets the line numbers of the call, which means reading the files up to there.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn count_lines(&self, detail: &mut CallDetail) -> Result<(), Error> {
        for place in &mut detail.lines {
            let path = self.layout.segment(place.segment);
            let line = SegmentFile::open(&self.layout, place.segment)
                .and_then(|segment| number(segment, place.offset));
            place.line = Some(line.map_err(Error::file("read", &path))?);
        }
        Ok(())
    }

    fn fill(&self, detail: &mut CallDetail, text: &[u8]) -> Result<(), Error> {
        let Some(JournalLine::End(end)) = JournalLine::parse(text) else {
            return Err(Error::damaged(
                &self.layout.journal(),
                "the end of the call cannot be read",
            ));
        };
        let whole = end.whole.as_deref().map(|id| self.artifacts.read(id)).transpose()?.flatten();
        let whole = whole.map(|whole| String::from_utf8_lossy(&whole.bytes).into_owned());
        detail.end(*end, whole);
        Ok(())
    }
}

/// A call as the index has it, and where its lines are.
pub(super) struct FoundCall {
    pub(super) record: Record,
    begun: LineLocation,
    ended: Option<LineLocation>,
}

impl FoundCall {
    /// The columns that [`read`](Self::read) reads, after those of a record.
    pub(super) const COLUMNS: &str = "ended, end_length";

    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let ended = match row.get::<_, Option<i64>>(18)?.map(apart) {
            Some((segment, offset)) => Some((segment, offset, row.get(19)?)),
            None => None,
        };
        let (record, begun) = record(row)?;
        Ok(Self { record, begun, ended })
    }
}

fn find(index: &CallIndex, id: CallId) -> Result<Option<FoundCall>, Error> {
    let question = format!("SELECT {COLUMNS}, {} FROM calls WHERE id = ?1", FoundCall::COLUMNS);
    let find = || {
        let mut rows = index.connection.prepare_cached(&question)?;
        rows.query_row([id.to_string()], FoundCall::read).optional()
    };
    find().map_err(index.tried("read"))
}

/// Reads lines one after another, most of them of the same segment.
pub(crate) struct LineReader {
    layout: Layout,
    open: Option<(u64, SegmentFile)>,
}

impl LineReader {
    pub(crate) fn new(layout: &Layout) -> Self {
        Self { layout: layout.clone(), open: None }
    }

    /// Returns the text of a line.
    pub(crate) fn read(&mut self, (segment, offset, length): LineLocation) -> io::Result<Vec<u8>> {
        let file = match &mut self.open {
            Some((number, file)) if *number == segment => file,
            open => &mut open.insert((segment, SegmentFile::open(&self.layout, segment)?)).1,
        };
        file.read_range(offset, length)
    }

    /// Returns the text of a line, and its position.
    pub(crate) fn line(
        &mut self,
        (segment, offset, length): LineLocation,
    ) -> Result<(Vec<u8>, LinePosition), Error> {
        let path = self.layout.segment(segment);
        // Including the hash at the end of the line before.
        let begin = offset.saturating_sub(chain::END);
        let mut text = self
            .read((segment, begin, offset - begin + length))
            .map_err(Error::file("read", &path))?;
        let before = usize::try_from(offset - begin).unwrap_or(usize::MAX);
        let own = text.split_off(text.len().min(before));
        match (SealedLine::parse(&own), chain::before(&text)) {
            (Some(sealed), previous) => {
                let (hash, previous) = (sealed.hash, previous.unwrap_or(Hash::NONE));
                Ok((own, LinePosition { segment, line: None, offset, hash, previous }))
            }
            _ => Err(Error::damaged(&path, format!("the line at byte {offset} cannot be read"))),
        }
    }
}

/// Reads the arguments of a record from the journal if they are too long for the index.
pub(super) fn complete(record: &mut Record, begun: LineLocation, lines: &mut LineReader) {
    if !record.arguments.is_empty() {
        return;
    }
    let line = lines.read(begun);
    // Damaged lines are reported by `verify`.
    record.arguments = match line.as_deref().map(JournalLine::parse) {
        Ok(Some(JournalLine::Open(open))) => open.arguments.get().to_owned(),
        _ => "null".to_owned(),
    };
}

/// Returns the number of the line that begins at `offset`, from 1.
fn number(segment: SegmentFile, offset: u64) -> io::Result<u64> {
    let mut text = BufReader::with_capacity(1 << 16, segment.into_cursor(0).take(offset));
    let mut number = 1;
    loop {
        let read = text.fill_buf()?;
        if read.is_empty() {
            return Ok(number);
        }
        number += read.iter().filter(|byte| **byte == b'\n').count() as u64;
        let length = read.len();
        text.consume(length);
    }
}
