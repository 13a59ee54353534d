//! Everything about one call, read from the journal.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::Path,
};

use rusqlite::{OptionalExtension, Row};
use switchboard_toolcall::CallId;

use super::{COLUMNS, LineLocation, Reader, record};
use crate::{
    chain::{self, Hash, SealedLine},
    error::Error,
    index::{CallIndex, apart},
    layout::Layout,
    line::JournalLine,
    record::{CallDetail, LinePosition, Record},
};

impl Reader {
    /// Returns everything about one call. `None` if no record has the id.
    ///
    /// # Errors
    /// The store cannot be read, or the call's lines are damaged.
    pub fn show(&mut self, id: CallId) -> Result<Option<CallDetail>, Error> {
        let Some(index) = self.fresh()? else { return Ok(None) };
        let Some(place) = find(index, id)? else { return Ok(None) };
        self.detail(place).map(Some)
    }

    /// Returns everything about a call whose row is `found`.
    pub(super) fn detail(&self, found: FoundCall) -> Result<CallDetail, Error> {
        let FoundCall { record, begun, ended } = found;
        let record = self.complete(vec![(record, begun)]).remove(0);
        let mut detail = CallDetail::of(record);
        let (_, place) = line(&self.layout, begun)?;
        detail.lines.push(place);
        if let Some(ended) = ended {
            let (text, place) = line(&self.layout, ended)?;
            detail.lines.push(place);
            self.fill(&mut detail, &text)?;
        }
        Ok(detail)
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
            let line = number(&path, place.offset).map_err(Error::file("read", &path))?;
            place.line = Some(line);
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
pub(crate) struct LineReader<'a> {
    layout: &'a Layout,
    open: Option<(u64, File)>,
    text: Vec<u8>,
}

impl<'a> LineReader<'a> {
    pub(crate) fn new(layout: &'a Layout) -> Self {
        Self { layout, open: None, text: Vec::new() }
    }

    /// Returns the text of a line.
    pub(crate) fn read(&mut self, (segment, offset, length): LineLocation) -> io::Result<&[u8]> {
        let file = match &self.open {
            Some((number, file)) if *number == segment => file,
            _ => &self.open.insert((segment, File::open(self.layout.segment(segment))?)).1,
        };
        let mut file = file;
        file.seek(SeekFrom::Start(offset))?;
        self.text.clear();
        file.take(length).read_to_end(&mut self.text)?;
        Ok(&self.text)
    }
}

/// Returns the text of a line, and its position.
pub(crate) fn line(
    layout: &Layout,
    (segment, offset, length): LineLocation,
) -> Result<(Vec<u8>, LinePosition), Error> {
    let path = layout.segment(segment);
    // Including the hash at the end of the line before.
    let begin = offset.saturating_sub(chain::END);
    let read = || {
        let mut file = File::open(&path)?;
        file.seek(SeekFrom::Start(begin))?;
        let mut text = Vec::new();
        file.take(offset - begin + length).read_to_end(&mut text)?;
        Ok::<_, io::Error>(text)
    };
    let mut text = read().map_err(Error::file("read", &path))?;
    let own = text.split_off(text.len().min(usize::try_from(offset - begin).unwrap_or(usize::MAX)));
    match (SealedLine::parse(&own), chain::before(&text)) {
        (Some(sealed), previous) => {
            let (hash, previous) = (sealed.hash, previous.unwrap_or(Hash::NONE));
            Ok((own, LinePosition { segment, line: None, offset, hash, previous }))
        }
        _ => Err(Error::damaged(&path, format!("the line at byte {offset} cannot be read"))),
    }
}

/// Returns the number of the line that begins at `offset`, from 1.
fn number(path: &Path, offset: u64) -> io::Result<u64> {
    let mut text = BufReader::with_capacity(1 << 16, File::open(path)?.take(offset));
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
