//! New records as they end, straight from the journal.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read, Seek, SeekFrom},
    time::Duration,
};

use switchboard_toolcall::CallId;
use tokio::time::sleep;

use super::Reader;
use crate::{
    error::Error,
    index::segments,
    line::{LineKind, first_id},
    record::Record,
    segment::lines,
};

/// How often new records are looked for.
const PAUSE: Duration = Duration::from_millis(100);
/// After so many polls, calls of dead processes are closed.
const REPAIR: u32 = 10;

/// Follows the journal of every process that writes to the store.
pub struct RecordFollower {
    reader: Reader,
    /// How far each segment was read.
    read: BTreeMap<u64, u64>,
    polls: u32,
}

impl Reader {
    /// Follows records that end from now on.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn follow(mut self) -> Result<RecordFollower, Error> {
        self.fresh()?;
        let mut read = BTreeMap::new();
        for number in segments(&self.layout.journal())? {
            let path = self.layout.segment(number);
            let length = std::fs::metadata(&path).map_err(Error::file("read", &path))?.len();
            read.insert(number, length);
        }
        Ok(RecordFollower { reader: self, read, polls: 0 })
    }
}

impl RecordFollower {
    /// Waits for records that end. Returns them in the order of their ends.
    ///
    /// # Errors
    /// The store cannot be read.
    ///
    /// # Cancel safety
    /// Nothing is lost: what was not returned comes next time.
    pub async fn next(&mut self) -> Result<Vec<Record>, Error> {
        loop {
            let records = self.poll()?;
            if !records.is_empty() {
                return Ok(records);
            }
            sleep(PAUSE).await;
        }
    }

    /// Returns the records that ended since the last time, without waiting.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn poll(&mut self) -> Result<Vec<Record>, Error> {
        self.polls += 1;
        if self.polls.is_multiple_of(REPAIR) {
            // Calls of processes that died meanwhile end too.
            self.reader.fresh()?;
        }
        let before = self.read.clone();
        let records = self.read_all().and_then(|ended| self.reader.records(&ended));
        if records.is_err() {
            self.read = before;
        }
        records
    }

    fn read_all(&mut self) -> Result<Vec<CallId>, Error> {
        let mut ended = Vec::new();
        for number in segments(&self.reader.layout.journal())? {
            self.read_on(number, &mut ended)?;
        }
        Ok(ended)
    }

    fn read_on(&mut self, number: u64, ended: &mut Vec<CallId>) -> Result<(), Error> {
        let path = self.reader.layout.segment(number);
        let from = self.read.entry(number).or_default();
        let mut text = Vec::new();
        let mut read = || {
            let mut file = File::open(&path)?;
            if file.metadata()?.len() > *from {
                file.seek(SeekFrom::Start(*from))?;
                file.read_to_end(&mut text)?;
            }
            Ok::<_, std::io::Error>(())
        };
        match read() {
            // Retention may have dropped it just now.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            read => read.map_err(Error::file("read", &path))?,
        }
        let start = *from;
        for (offset, line) in lines(&text) {
            *from = start + offset + line.len() as u64 + 1;
            if matches!(LineKind::of(line), Some(LineKind::End | LineKind::Unknown)) {
                ended.extend(first_id(line));
            }
        }
        Ok(())
    }
}

impl Reader {
    /// Returns the records with these ids, in their order.
    fn records(&mut self, ids: &[CallId]) -> Result<Vec<Record>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let Some(index) = self.fresh()? else { return Ok(Vec::new()) };
        let question = format!("SELECT {} FROM calls WHERE id = ?1", super::COLUMNS);
        let find = || {
            let mut rows = index.connection.prepare_cached(&question)?;
            let mut records = Vec::with_capacity(ids.len());
            for id in ids {
                for record in rows.query_map([id.to_string()], super::record)? {
                    records.push(record?);
                }
            }
            Ok(records)
        };
        let found = find().map_err(index.tried("read"))?;
        Ok(self.complete(found))
    }
}
