//! New records as they end, straight from the journal.

use std::{
    collections::{BTreeMap, BTreeSet},
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
    segment::{SegmentFile, is_skipped, lines},
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
    /// Segments that were read and grow no more.
    whole: BTreeSet<u64>,
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
            let length = SegmentFile::length_of(&self.layout, number);
            match length {
                Err(error) if is_skipped(&error) => {}
                length => {
                    let path = self.layout.segment(number);
                    _ = read.insert(number, length.map_err(Error::file("read", &path))?);
                }
            }
        }
        Ok(RecordFollower { reader: self, read, whole: BTreeSet::new(), polls: 0 })
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
            self.whole.clear();
        }
        records
    }

    fn read_all(&mut self) -> Result<Vec<CallId>, Error> {
        let mut ended = Vec::new();
        for number in segments(&self.reader.layout.journal())? {
            if !self.whole.contains(&number) {
                self.read_on(number, &mut ended)?;
            }
        }
        Ok(ended)
    }

    fn read_on(&mut self, number: u64, ended: &mut Vec<CallId>) -> Result<(), Error> {
        let layout = &self.reader.layout;
        let from = self.read.entry(number).or_default();
        let read = SegmentFile::open(layout, number).and_then(|mut segment| {
            Ok((segment.is_compressed(), segment.read_range(*from, u64::MAX)?))
        });
        let (is_whole, text) = match read {
            Err(error) if is_skipped(&error) => return Ok(()),
            read => read.map_err(Error::file("read", &layout.segment(number)))?,
        };
        let start = *from;
        for (offset, line) in lines(&text) {
            *from = start + offset + line.len() as u64 + 1;
            if matches!(LineKind::of(line), Some(LineKind::End | LineKind::Unknown)) {
                ended.extend(first_id(line));
            }
        }
        if is_whole {
            self.whole.insert(number);
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
