//! The journal as this process writes it: one segment at a time, held until the process ends.
//!
//! Lines of calls that run at the same time are written together (`together.rs`). Nobody goes on before their own is.
//! What may wait for other processes or read much, which is to begin a segment, is done beside the callers' threads
//! (`segments.rs`).

mod segments;
mod together;

use std::{
    collections::{HashMap, VecDeque},
    fs::File,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use switchboard_toolcall::CallId;
use tracing::{error, warn};

use crate::{error::Error, layout::Layout, line::Body, segment::Segment};

pub(crate) use segments::repair;
use segments::{Early, Task};
pub(crate) use together::{Together, Written};

/// Where a line ends: its segment, and how many bytes that has with it.
pub(crate) type Position = (u64, u64);

/// Appends lines, and holds the segment that they go to.
pub(crate) struct Journal {
    layout: Layout,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    segment: Option<Segment>,
    /// Lines that are written together, oldest first.
    batch: Vec<Queued>,
    /// The number of that batch; those before it are written.
    number: u64,
    /// Beginnings that could not be written, until who waits for them knows.
    unwritten: HashMap<CallId, Arc<Error>>,
    /// Ends that could not be written yet, oldest first.
    backlog: VecDeque<(CallId, Body)>,
    backlog_bytes: usize,
    /// Calls that begin while there is no segment yet, oldest first.
    early: Vec<Early>,
    /// What is being done about the segment.
    task: Option<Task>,
    /// When it was last seen that the segment's file is there.
    looked: u64,
    /// Why the journal could not be opened, and when that was.
    failed: Option<(u64, Arc<Error>)>,
    /// When the next segment could not be begun.
    stuck: u64,
}

/// A line that is to be written.
struct Queued {
    id: CallId,
    body: Body,
    /// When the call began; none for the line that it ends with.
    began: Option<u64>,
}

/// How long a failure stands before it is tried again, in microseconds.
const PATIENCE: u64 = 250_000;
/// How often it is looked whether the segment's file is still there, in microseconds.
const LOOK: u64 = 1_000_000;
/// How many bytes of ends wait while the disk takes none.
const MOST_WAITING: usize = 8 << 20;

impl Journal {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { layout, held: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the line that a call begins with, at once where no other call runs and there is a segment to write to.
    pub(crate) fn open(
        self: &Arc<Self>,
        id: CallId,
        body: Body,
        now: u64,
    ) -> Result<Written<'_>, Error> {
        let mut held = self.lock();
        let line = Queued { id, body, began: Some(now) };
        match held.ready(now)? {
            Ready::Yes => {}
            Ready::Full => self.begin_task(&mut held, Task::Next, now),
            Ready::No => {
                let (early, opened) = Early::new(line);
                held.early.push(early);
                self.begin_task(&mut held, Task::First, now);
                return Ok(Written::Later(opened));
            }
        }
        let is_alone = held.running() == 0;
        if let Some(segment) = &mut held.segment {
            segment.open.insert(id);
        }
        held.batch.push(line);
        match is_alone {
            true => held.write(id).map(Written::Now),
            false => Ok(Written::Soon(Together::new(self, id, held.number))),
        }
    }

    /// Writes the line that a call ends with, at once where no other call runs, or keeps it until it can be written.
    pub(crate) fn close(&self, id: CallId, body: Body) -> Option<Written<'_>> {
        let mut held = self.lock();
        if let Some(early) = held.early.iter_mut().find(|early| early.id() == id) {
            // Written after its beginning.
            early.end = Some(body);
            return None;
        }
        // A call that could not be opened has no end either.
        if !held.segment.as_ref()?.open.contains(&id) {
            return None;
        }
        let is_alone = held.running() == 1;
        held.batch.push(Queued { id, body, began: None });
        match is_alone {
            true => held.write(id).ok().map(Written::Now),
            false => Some(Written::Soon(Together::new(self, id, held.number))),
        }
    }

    /// Writes what could not be written before.
    pub(crate) fn catch_up(&self) -> Result<(), Error> {
        self.lock().catch_up()
    }

    /// The segment's file and where it ends now, for whoever waits until the disk has it.
    pub(crate) fn position(&self) -> io::Result<Option<(File, Position)>> {
        let held = self.lock();
        let Some(segment) = &held.segment else { return Ok(None) };
        Ok(Some((segment.file()?, (segment.number, segment.length))))
    }

    /// Whether the call is running in this process.
    pub(crate) fn runs(&self, id: CallId) -> bool {
        let held = self.lock();
        held.early.iter().any(|early| early.id() == id)
            || held.segment.as_ref().is_some_and(|segment| segment.open.contains(&id))
    }

    /// Lets go of the segment; the next one who needs it goes on with it.
    pub(crate) fn rest(&self) {
        let mut held = self.lock();
        held.write_batch();
        if let Err(cause) = held.catch_up() {
            warn!(%cause, "the ends of calls could not be recorded");
        }
        let Some(mut segment) = held.segment.take() else { return };
        // Where calls are still open, whoever takes over must find them.
        if segment.open.is_empty()
            && let Err(cause) = segment.rest()
        {
            warn!(%cause, "the journal could not be put to rest; it will be checked when it is next opened");
        }
    }
}

/// Whether there is a segment to write to.
enum Ready {
    Yes,
    /// There is, and the next one should be begun.
    Full,
    No,
}

impl Held {
    /// Looks whether there is a segment to write to.
    ///
    /// # Errors
    /// A moment ago there was none to be had.
    fn ready(&mut self, now: u64) -> Result<Ready, Error> {
        if let Some(segment) = &self.segment
            && now.abs_diff(self.looked) >= LOOK
        {
            self.looked = now;
            if !segment.is_there() {
                error!(file = %segment.path.display(), "the journal was deleted under us; a new one is begun");
                // What waits to be written belongs into the segment that it waits for.
                self.write_batch();
                self.segment = None;
            }
        }
        match (&self.segment, &self.failed) {
            (Some(segment), _) => {
                let may_try = now.abs_diff(self.stuck) >= PATIENCE;
                Ok(if segment.is_full(now) && may_try { Ready::Full } else { Ready::Yes })
            }
            (None, Some((when, failed))) if now.abs_diff(*when) < PATIENCE => {
                Err(Error::Again(failed.clone()))
            }
            (None, _) => Ok(Ready::No),
        }
    }

    /// How many calls are open.
    fn running(&self) -> usize {
        self.segment.as_ref().map_or(0, |segment| segment.open.len())
    }

    fn append<'a>(
        &mut self,
        lines: impl IntoIterator<Item = (&'a Body, u64)>,
    ) -> Result<Position, Error> {
        let Some(segment) = &mut self.segment else {
            return Err(Error::Background("there is no journal".to_owned()));
        };
        let end = segment.append(lines).map_err(Error::file("write", &segment.path))?;
        Ok((segment.number, end))
    }

    /// The ends that wait are written first, as they came first.
    fn catch_up(&mut self) -> Result<(), Error> {
        while let Some((id, body)) = self.backlog.pop_front() {
            if let Err(error) = self.append([(&body, 0)]) {
                self.backlog.push_front((id, body));
                return Err(error);
            }
            self.ended(id);
            self.backlog_bytes -= body.0.len();
        }
        Ok(())
    }

    fn ended(&mut self, id: CallId) {
        if let Some(segment) = &mut self.segment {
            segment.open.remove(&id);
        }
    }

    /// Keeps an end until it can be written, within bounds.
    fn wait_with(&mut self, id: CallId, body: Body) {
        self.backlog_bytes += body.0.len();
        self.backlog.push_back((id, body));
        while self.backlog_bytes > MOST_WAITING {
            let Some((id, body)) = self.backlog.pop_front() else { break };
            self.backlog_bytes -= body.0.len();
            // It stays open in the journal, and will be `outcome_unknown`.
            error!(call = %id, "the end of a call is lost: the disk takes no records");
        }
    }
}
