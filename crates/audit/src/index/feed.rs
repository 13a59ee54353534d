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
    chain::{Hash, Sealed},
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
        let known = self.read_to()?;
        for (number, length) in lengths.into_iter().rev() {
            if known.get(&number).is_none_or(|(read, _)| *read < length) {
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
            let (from, last) = read_so_far(&change, number).map_err(tried())?;
            if from >= length {
                return Ok(fed);
            }
            let text = read(&mut file, from, chunk).map_err(Error::file("read", &path))?;
            let mut feed = Feed { change: &change, segment: number, open: HashMap::new() };
            let (count, until) = feed.lines(from, last, &text).map_err(tried())?;
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

/// Where the next line begins, and the hash that it follows.
fn read_so_far(change: &Transaction<'_>, number: u64) -> rusqlite::Result<(u64, Option<Hash>)> {
    let mut row = change.prepare_cached("SELECT read, last FROM segments WHERE number = ?1")?;
    let read = row.query_row([number], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)));
    Ok(read.optional()?.map_or((0, None), |(read, last)| (read, Hash::parse(&last))))
}

fn read(file: &mut File, from: u64, most: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(from))?;
    let mut text = Vec::new();
    file.take(most).read_to_end(&mut text)?;
    Ok(text)
}

/// A part of a segment on its way into the index.
struct Feed<'a, 'b> {
    change: &'b Transaction<'b>,
    segment: u64,
    /// Most calls end soon: beginning and end are then written as one row.
    open: HashMap<CallId, (Open<'a>, Place)>,
}

impl<'a> Feed<'a, '_> {
    /// Feeds the whole lines of a text that begins at `from` and follows `last`; returns how many there were and where
    /// they end.
    ///
    /// Lines at the end that do not follow are left: they were torn, and whoever repairs the segment cuts them off.
    fn lines(
        &mut self,
        from: u64,
        last: Option<Hash>,
        text: &'a [u8],
    ) -> rusqlite::Result<(u64, u64)> {
        let (mut count, mut until, mut previous, mut last) = (0, from, last, last);
        for (at, line) in lines(text) {
            let sealed = Sealed::parse(line);
            let follows = |sealed: &Sealed<'_>| previous.is_none_or(|hash| sealed.follows(&hash));
            let is_good = sealed.as_ref().is_some_and(follows);
            previous = sealed.map(|sealed| sealed.hash);
            if !is_good {
                continue;
            }
            let place = Place { segment: self.segment, offset: from + at, length: line.len() };
            self.line(line, place)?;
            count += 1;
            until = place.offset + line.len() as u64 + 1;
            last = previous;
        }
        for (call, begun) in self.open.values() {
            insert(self.change, call, *begun, None)?;
        }
        if let Some(last) = last {
            let mut read = self.change.prepare_cached(
                "INSERT INTO segments VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET read = ?2, last = ?3",
            )?;
            read.execute(params![self.segment, until, last.as_str()])?;
        }
        Ok((count, until))
    }

    fn line(&mut self, line: &'a [u8], place: Place) -> rusqlite::Result<()> {
        match Line::parse(line) {
            Some(Line::Open(call)) => _ = self.open.insert(call.id, (call, place)),
            Some(Line::End(end)) => match self.open.remove(&end.id) {
                Some((call, begun)) => insert(self.change, &call, begun, Some((&end, place)))?,
                None => update(self.change, &end, place)?,
            },
            Some(Line::Unknown(id)) => {
                if let Some((call, begun)) = self.open.remove(&id) {
                    insert(self.change, &call, begun, None)?;
                }
                mark_unknown(self.change, id)?;
            }
            // What cannot be read is `verify`'s to report.
            Some(Line::Other) | None => {}
        }
        Ok(())
    }
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
        let mut row =
            change.prepare_cached("INSERT OR IGNORE INTO artifacts VALUES (?1, ?2, ?3)")?;
        row.execute(params![artifact.id, segment, end.id.to_string()])?;
    }
    Ok(())
}
