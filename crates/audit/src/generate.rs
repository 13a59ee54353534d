//! Writes segments of calls that nobody made, for tests and measurements of large stores: with the journal's own writer.

use std::{collections::BTreeSet, sync::Arc};

use switchboard_runtime::{CallEnd, CallStart};
use switchboard_toolcall::CallId;

use crate::{
    config::Results,
    error::Error,
    key::StoreFolder,
    layout::Layout,
    line::{self, LineBody, microseconds},
    manifest::Manifest,
    retention::Compression,
    segment::{FULL, JournalSegment},
};

/// How many lines are written at once.
const TOGETHER: usize = 256;

/// Writes one segment after the other.
pub struct SegmentGenerator {
    layout: Layout,
    segment: Option<JournalSegment>,
    compression: Compression,
    /// The lines of the next write, each with the least tick that it may have.
    lines: Vec<(LineBody, u64)>,
    open: BTreeSet<CallId>,
}

impl SegmentGenerator {
    /// Writes to the store in a folder, beside what is there.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn new(folder: impl Into<StoreFolder>) -> Result<Self, Error> {
        let layout = Layout::new(folder);
        layout.create()?;
        let compression = Compression::new(layout.clone());
        Ok(Self { layout, segment: None, compression, lines: Vec::new(), open: BTreeSet::new() })
    }

    /// Writes the beginning of a call.
    ///
    /// # Errors
    /// The store cannot be written to.
    pub fn open(&mut self, start: &Arc<CallStart>) -> Result<(), Error> {
        self.write(line::opened(start), microseconds(start.started))?;
        self.open.insert(start.id);
        Ok(())
    }

    /// Writes the end of a call, also of one that began in an earlier segment.
    ///
    /// # Errors
    /// The store cannot be written to.
    pub fn end(&mut self, end: &CallEnd<'_>) -> Result<(), Error> {
        let at = microseconds(end.start.started + end.duration);
        let body = line::ended(end, Results::Full, |_| None);
        self.write(body, at)?;
        self.open.remove(&end.start.id);
        Ok(())
    }

    fn write(&mut self, body: LineBody, tick: u64) -> Result<(), Error> {
        if self.segment.is_none() {
            let guard = self.layout.lock()?;
            let mut manifest = Manifest::read(&self.layout)?;
            let carried = self.open.clone();
            let segment =
                JournalSegment::begin(&self.layout, &mut manifest, carried, tick, &guard)?;
            self.segment = Some(segment);
        }
        self.lines.push((body, tick));
        if self.lines.len() < TOGETHER { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<(), Error> {
        let Some(segment) = &mut self.segment else { return Ok(()) };
        let lines = self.lines.iter().map(|(body, tick)| (body, *tick));
        segment.append(lines).map_err(Error::file("write", &segment.path))?;
        self.lines.clear();
        Ok(())
    }

    /// Returns whether the segment has the size at which a store begins the next one.
    pub fn is_full(&self) -> bool {
        self.segment.as_ref().is_some_and(|segment| segment.length >= FULL)
    }

    /// Seals the segment; calls that have not ended are carried to the next one.
    ///
    /// # Errors
    /// The store cannot be written to.
    pub fn seal(&mut self) -> Result<(), Error> {
        self.flush()?;
        let Some(segment) = self.segment.take() else { return Ok(()) };
        let guard = self.layout.lock()?;
        let mut manifest = Manifest::read(&self.layout)?;
        segment.seal(&self.layout, &mut manifest, &guard)
    }

    /// Seals the segments that no process holds. Returns how many there were.
    ///
    /// # Errors
    /// The store cannot be written to.
    pub fn seal_all(folder: impl Into<StoreFolder>) -> Result<u64, Error> {
        let layout = Layout::new(folder);
        let guard = layout.lock()?;
        let mut manifest = Manifest::read(&layout)?;
        let mut count = 0;
        for entry in manifest.unsealed() {
            let Some(segment) = JournalSegment::take_over(&layout, &entry, &guard)? else {
                continue;
            };
            segment.seal(&layout, &mut manifest, &guard)?;
            count += 1;
        }
        Ok(count)
    }

    /// Compresses the sealed segments.
    ///
    /// # Errors
    /// The store cannot be written to.
    pub fn compress(&mut self) -> Result<(), Error> {
        while self.compression.next()? {}
        Ok(())
    }
}
