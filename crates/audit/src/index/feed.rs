//! Brings the index up to date with the journal.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use jiff::Timestamp;
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};
use switchboard_toolcall::CallId;

use super::Index;
use crate::{
    error::Error,
    line::{End, Line, Open},
    segment::lines,
};

/// How much of a segment is read at once.
const CHUNK: u64 = 4 << 20;

/// Longer arguments stay in the journal alone.
const LONG: usize = 4096;

/// Where a line is.
#[derive(Clone, Copy)]
struct Place {
    segment: u64,
    offset: u64,
    length: usize,
}

impl Index {
    /// Reads what was written since the last time, by any process; returns how many lines that was.
    pub(crate) fn feed(&mut self) -> Result<u64, Error> {
        let mut lengths = Vec::new();
        let mut numbers = segments(&self.layout.journal())?;
        // Newest first: an end that is seen in a later segment then has its beginning in what is read of an earlier one.
        numbers.sort_unstable_by_key(|number| std::cmp::Reverse(*number));
        for number in numbers {
            match fs::metadata(self.layout.segment(number)) {
                Ok(metadata) => lengths.push((number, metadata.len())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::file("read", &self.layout.segment(number))(error)),
            }
        }
        let mut fed = 0;
        let known: HashMap<u64, u64> = self.read_to()?.into_iter().collect();
        for (number, length) in lengths.into_iter().rev() {
            if known.get(&number).is_none_or(|read| *read < length) {
                fed += self.feed_segment(number, length)?;
            }
        }
        Ok(fed)
    }

    fn feed_segment(&mut self, number: u64, length: u64) -> Result<u64, Error> {
        let path = self.layout.segment(number);
        let mut file = File::open(&path).map_err(Error::file("open", &path))?;
        let (mut fed, mut chunk) = (0, CHUNK);
        loop {
            let tried = self.tried("feed");
            let behavior = TransactionBehavior::Immediate;
            let change = self.connection.transaction_with_behavior(behavior).map_err(tried)?;
            let tried = || Error::index("feed", &self.path);
            // Looked up within the change: another process may feed too.
            let from = read_so_far(&change, number).map_err(tried())?;
            if from >= length {
                return Ok(fed);
            }
            let text = read(&mut file, from, chunk).map_err(Error::file("read", &path))?;
            let (count, until) = feed_lines(&change, number, from, &text).map_err(tried())?;
            change.commit().map_err(tried())?;
            fed += count;
            match until > from {
                true => chunk = CHUNK,
                // A line that is longer than a chunk, or one that is still being written.
                false if (text.len() as u64) < chunk => return Ok(fed),
                false => chunk *= 2,
            }
        }
    }
}

/// The numbers of the segments in the folder.
pub(crate) fn segments(journal: &Path) -> Result<Vec<u64>, Error> {
    let files = match fs::read_dir(journal) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::file("read the folder", journal)(error)),
    };
    let number = |file: fs::DirEntry| file.file_name().to_str()?.strip_suffix(".log")?.parse().ok();
    let mut numbers: Vec<u64> = files.flatten().filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

fn read_so_far(change: &Transaction<'_>, number: u64) -> rusqlite::Result<u64> {
    let mut row = change.prepare_cached("SELECT read FROM segments WHERE number = ?1")?;
    Ok(row.query_row([number], |row| row.get(0)).optional()?.unwrap_or(0))
}

fn read(file: &mut File, from: u64, most: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(from))?;
    let mut text = Vec::new();
    file.take(most).read_to_end(&mut text)?;
    Ok(text)
}

/// Feeds the whole lines of a text that begins at `from`; returns how many there were and where they end.
fn feed_lines(
    change: &Transaction<'_>,
    segment: u64,
    from: u64,
    text: &[u8],
) -> rusqlite::Result<(u64, u64)> {
    // Most calls end soon: beginning and end are then written as one row.
    let mut open: HashMap<CallId, (Open<'_>, Place)> = HashMap::new();
    let (mut count, mut until) = (0, from);
    for (at, line) in lines(text) {
        let place = Place { segment, offset: from + at, length: line.len() };
        match Line::parse(line) {
            Some(Line::Open(call)) => _ = open.insert(call.id, (call, place)),
            Some(Line::End(end)) => match open.remove(&end.id) {
                Some((call, begun)) => insert(change, &call, begun, Some((&end, place)))?,
                None => update(change, &end, place)?,
            },
            Some(Line::Unknown(id)) => {
                if let Some((call, begun)) = open.remove(&id) {
                    insert(change, &call, begun, None)?;
                }
                mark_unknown(change, id)?;
            }
            // What cannot be read is `verify`'s to report.
            Some(Line::Other) | None => {}
        }
        count += 1;
        until = place.offset + line.len() as u64 + 1;
    }
    for (call, begun) in open.values() {
        insert(change, call, *begun, None)?;
    }
    let mut read = change.prepare_cached(
        "INSERT INTO segments (number, read) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET read = ?2",
    )?;
    read.execute([segment, until])?;
    Ok((count, until))
}

fn insert(
    change: &Transaction<'_>,
    call: &Open<'_>,
    begun: Place,
    end: Option<(&End<'_>, Place)>,
) -> rusqlite::Result<()> {
    let mut row = change.prepare_cached(
        "INSERT OR IGNORE INTO calls VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
    )?;
    let started = call.at.parse().map_or(0, |at: Timestamp| at.as_microsecond());
    let place = end.map(|(_, place)| place);
    let end = end.map(|(end, _)| end);
    let found = end.and_then(|end| end.found.as_deref());
    row.execute(params![
        call.id.to_string(),
        call.tick,
        started,
        found.unwrap_or(&call.tool),
        end.and_then(|end| end.server.as_deref()),
        call.caller.as_deref(),
        call.conversation.as_deref(),
        Some(call.arguments.get()).filter(|arguments| arguments.len() <= LONG),
        end.map(|end| &*end.outcome),
        end.map(|end| end.duration_ns),
        end.map(|end| end.bytes),
        end.and_then(|end| end.reused).map(|reused| reused.code()),
        begun.segment,
        begun.offset,
        begun.length,
        place.map(|place| place.segment),
        place.map(|place| place.offset),
        place.map(|place| place.length),
    ])?;
    match (end, place) {
        (Some(end), Some(place)) => name_artifacts(change, end, place.segment),
        _ => Ok(()),
    }
}

fn update(change: &Transaction<'_>, end: &End<'_>, place: Place) -> rusqlite::Result<()> {
    // An end that was written is truer than the guess that there is none.
    let mut row = change.prepare_cached(
        "UPDATE calls SET outcome = ?2, duration = ?3, server = ?4, bytes = ?5, reused = ?6, tool = coalesce(?7, tool),
         end_segment = ?8, end_offset = ?9, end_length = ?10
         WHERE id = ?1 AND (outcome IS NULL OR outcome = 'outcome_unknown')",
    )?;
    row.execute(params![
        end.id.to_string(),
        &*end.outcome,
        end.duration_ns,
        end.server.as_deref(),
        end.bytes,
        end.reused.map(|reused| reused.code()),
        end.found.as_deref(),
        place.segment,
        place.offset,
        place.length,
    ])?;
    name_artifacts(change, end, place.segment)
}

fn mark_unknown(change: &Transaction<'_>, id: CallId) -> rusqlite::Result<()> {
    let mut row = change.prepare_cached(
        "UPDATE calls SET outcome = 'outcome_unknown' WHERE id = ?1 AND outcome IS NULL",
    )?;
    row.execute([id.to_string()]).map(|_| ())
}

fn name_artifacts(change: &Transaction<'_>, end: &End<'_>, segment: u64) -> rusqlite::Result<()> {
    for artifact in &end.artifacts {
        let mut row = change.prepare_cached("INSERT OR IGNORE INTO artifacts VALUES (?1, ?2)")?;
        row.execute(params![artifact.id, segment])?;
    }
    Ok(())
}
