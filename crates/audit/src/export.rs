//! Exports the journal to other systems, with a cursor for each in a file beside it.
//!
//! Nothing is lost while nobody receives: the journal has it. One process at a time exports a store to a target, whichever
//! processes write to it. Delivery is at least once: what was exported but not committed comes again, so receivers must ignore a call's stage that
//! they have seen.

mod cursor;
mod lines;
mod node;
mod call_update;
mod shipping;

use std::{
    fs::{File, TryLockError},
    io,
};

use switchboard_runtime::private_files;
use switchboard_toolcall::CallId;
use tracing::warn;

use crate::{
    artifacts,
    error::{Error, chain},
    index::segments,
    journal,
    key::StoreFolder,
    layout::Layout,
    line::{LineKind, first_id},
    manifest::Manifest,
    reader::{LineLocation, LineReader, Reader},
    segment::{SegmentFile, is_skipped},
};
use cursor::ExportCursor;
use lines::{SegmentLine, SegmentLines};

pub use call_update::{CallStage, CallUpdate};
pub use node::StoreNode;
pub use shipping::{RecordDestination, ShippingProgress, ShippingTask, ship_once};

/// Where a store is exported to: each has a cursor of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportTarget {
    /// The stream of the cluster.
    Cluster,
    /// A log store that speaks OTLP.
    Otlp,
}

impl ExportTarget {
    /// Returns the name of its cursor's file.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::Cluster => "told.json",
            Self::Otlp => "told-otlp.json",
        }
    }
}

/// The updates of a store that were not exported yet.
pub struct JournalExport {
    layout: Layout,
    target: ExportTarget,
    node: StoreNode,
    /// How far the journal was read.
    read: ExportCursor,
    /// Held as long as this process exports.
    _lock: File,
}

impl JournalExport {
    /// Makes this process the exporter of a store to a target; returns `None` if another process is, or if the store is empty.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn open(
        folder: impl Into<StoreFolder>,
        target: ExportTarget,
    ) -> Result<Option<Self>, Error> {
        let layout = Layout::new(folder);
        if !layout.exists()? {
            return Ok(None);
        }
        let path = layout.export_cursor(target).with_extension("lock");
        let mut options = File::options();
        let lock = private_files::open(options.create(true).truncate(false).write(true), &path);
        let lock = lock.map_err(Error::file("open", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(Error::file("lock", &path)(error)),
        }
        let node = StoreNode::of(&layout)?;
        let read = ExportCursor::read(&layout, target)?;
        Ok(Some(Self { layout, target, node, read, _lock: lock }))
    }

    /// Returns the store's node.
    pub fn node(&self) -> &StoreNode {
        &self.node
    }

    /// Returns up to `most` updates, oldest first over all writers.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn next(&mut self, most: usize) -> Result<Vec<CallUpdate>, Error> {
        let mut updates = Vec::new();
        let mut heads = self.heads()?;
        let mut reader = LineReader::new(&self.layout);
        while updates.len() < most {
            let first = heads.iter().enumerate().min_by_key(|(_, (line, _))| line.tick);
            let Some((index, _)) = first else { break };
            let (line, lines) = &mut heads[index];
            updates.extend(self.update(&line.text, line.place, &mut reader)?);
            let number = line.place.0;
            self.read.reach(number, line.end(), line.hash);
            let next = match lines.next() {
                Err(error) if is_skipped(&error) => None,
                next => next.map_err(Error::file("read", &self.layout.segment(number)))?,
            };
            match next {
                Some(next) => *line = next,
                None => _ = heads.swap_remove(index),
            }
        }
        Ok(updates)
    }

    /// Returns the next line of each segment, with the reader of those behind it.
    fn heads(&mut self) -> Result<Vec<(SegmentLine, SegmentLines)>, Error> {
        let lengths = self.lengths()?;
        let is_there = |number: &u64| {
            // A folder that is listed while a file takes the place of another may show neither.
            lengths.iter().any(|(other, _)| other == number)
                || self.layout.segment_files(*number).iter().any(|path| path.exists())
        };
        self.read.segments.retain(|number, _| is_there(number));
        let mut heads = Vec::new();
        for (number, length) in lengths {
            let from = self.read.of(number);
            if from.offset >= length {
                continue;
            }
            let head = || {
                let mut lines = SegmentLines::open(&self.layout, number, &from, length)?;
                Ok::<_, io::Error>(lines.next()?.map(|line| (line, lines)))
            };
            match head() {
                Err(error) if is_skipped(&error) => {}
                head => {
                    let path = self.layout.segment(number);
                    heads.extend(head.map_err(Error::file("read", &path))?);
                }
            }
        }
        Ok(heads)
    }

    /// Stores the cursor: everything that was returned so far has been received.
    ///
    /// # Errors
    /// The store cannot be written to.
    pub fn commit(&self) -> Result<(), Error> {
        let path = self.layout.export_cursor(self.target);
        let text = serde_json::to_vec(&self.read).unwrap_or_default();
        artifacts::write(&path, &[&text]).map_err(Error::file("write", &path))
    }

    /// Returns how many bytes of the journal were not returned yet.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn lag_bytes(&self) -> Result<u64, Error> {
        let left = |(number, length): (u64, u64)| {
            let read = self.read.segments.get(&number).map_or(0, |reached| reached.offset);
            length.saturating_sub(read)
        };
        Ok(self.lengths()?.into_iter().map(left).sum())
    }

    /// Marks the open calls of dead processes, so that their ends can be exported.
    ///
    /// # Errors
    /// The store cannot be changed.
    pub fn repair(&self) -> Result<(), Error> {
        let guard = self.layout.lock()?;
        let mut manifest = Manifest::read(&self.layout)?;
        journal::repair(&self.layout, &mut manifest, &guard).map(|_| ())
    }

    /// Returns the segments and their lengths, in order. The newest are measured first, so that a call whose end is seen has
    /// its start within the measured length of an earlier segment.
    fn lengths(&self) -> Result<Vec<(u64, u64)>, Error> {
        let mut lengths = Vec::new();
        for number in segments(&self.layout.journal())?.into_iter().rev() {
            match SegmentFile::length_of(&self.layout, number) {
                Ok(length) => lengths.push((number, length)),
                Err(error) if is_skipped(&error) => {}
                Err(error) => return Err(Error::file("read", &self.layout.segment(number))(error)),
            }
        }
        lengths.reverse();
        Ok(lengths)
    }

    /// Returns the update that a line stands for, with the call's start.
    fn update(
        &mut self,
        line: &[u8],
        place: LineLocation,
        reader: &mut LineReader,
    ) -> Result<Option<CallUpdate>, Error> {
        let (Some(kind), Some(id)) = (LineKind::of(line), first_id(line)) else { return Ok(None) };
        let stage = match kind {
            LineKind::Open => CallStage::Started,
            LineKind::End => CallStage::Ended,
            LineKind::Unknown => CallStage::Unknown,
            _ => return Ok(None),
        };
        let begun = match stage {
            CallStage::Started => {
                self.read.open.insert(id, place);
                place
            }
            CallStage::Ended | CallStage::Unknown => match self.read.open.remove(&id) {
                Some(begun) => begun,
                None => match self.find(id) {
                    Some(begun) => begun,
                    // Its start was dropped by retention.
                    None => return Ok(None),
                },
            },
        };
        let mut places = vec![begun];
        if stage == CallStage::Ended {
            places.push(place);
        }
        match places.into_iter().map(|place| reader.line(place)).collect::<Result<Vec<_>, _>>() {
            // Retention has removed its content.
            Ok(lines) if lines.iter().any(|(line, _)| is_removed(line)) => Ok(None),
            Ok(lines) => Ok(CallUpdate::new(id, stage, self.node.clone(), lines)),
            Err(cause) => {
                warn!(call = %id, cause = chain(&cause), "a damaged record is not exported");
                Ok(None)
            }
        }
    }

    /// Finds the start of a call that the cursor does not have.
    fn find(&self, id: CallId) -> Option<LineLocation> {
        Reader::open(self.layout.folder()).and_then(|mut reader| reader.begun(id)).ok().flatten()
    }
}

fn is_removed(line: &[u8]) -> bool {
    LineKind::of(line) == Some(LineKind::Removed)
}
