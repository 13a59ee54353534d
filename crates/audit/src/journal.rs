//! The journal as this process writes it: one segment at a time, held until the process ends.
//!
//! Lines of concurrent calls are written in one batch (`group_commit.rs`); a call goes on only when its own line is written.
//! Starting a segment may wait for other processes or read much, so it is done on other threads (`segments.rs`).

mod segments;
mod group_commit;

use std::{
    collections::{HashMap, VecDeque},
    fs::File,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use switchboard_toolcall::CallId;
use tracing::{error, warn};

use crate::{error::Error, layout::Layout, line::LineBody, segment::JournalSegment};

pub(crate) use group_commit::{GroupCommit, LineWrite};
pub(crate) use segments::repair;
use segments::{EarlyCall, SegmentTask};

/// Where a line ends: its segment, and how many bytes that has with it.
pub(crate) type JournalPosition = (u64, u64);

/// Appends lines to the segment that this process holds.
pub(crate) struct Journal {
    layout: Layout,
    state: Mutex<JournalState>,
}

#[derive(Default)]
struct JournalState {
    segment: Option<JournalSegment>,
    /// The lines of the next write, oldest first.
    batch: Vec<QueuedLine>,
    /// The number of that batch; earlier ones are written.
    number: u64,
    /// Starts that could not be written, until their calls have been told.
    unwritten: HashMap<CallId, Arc<Error>>,
    /// Ends that could not be written yet, oldest first.
    backlog: VecDeque<(CallId, LineBody)>,
    backlog_bytes: usize,
    /// Calls that begin while there is no segment yet, oldest first.
    early: Vec<EarlyCall>,
    /// The task under way that finds or starts a segment.
    task: Option<SegmentTask>,
    /// When the segment's file was last seen to exist.
    looked: u64,
    /// Why the journal could not be opened, and when that was.
    failed: Option<(u64, Arc<Error>)>,
    /// When the next segment could not be begun.
    stuck: u64,
}

/// A line to write.
struct QueuedLine {
    id: CallId,
    body: LineBody,
    /// When the call began; `None` for the line that it ends with.
    began: Option<u64>,
}

/// How long after a failure the next attempt is made, in microseconds.
const PATIENCE: u64 = 250_000;
/// How often the segment's file is checked for existence, in microseconds.
const LOOK: u64 = 1_000_000;
/// The most bytes in the backlog.
const MOST_WAITING: usize = 8 << 20;

impl Journal {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { layout, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, JournalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a call's start: immediately if no other call runs and there is a segment.
    pub(crate) fn open(
        self: &Arc<Self>,
        id: CallId,
        body: LineBody,
        now: u64,
    ) -> Result<LineWrite<'_>, Error> {
        let mut state = self.lock();
        let line = QueuedLine { id, body, began: Some(now) };
        match state.ready(now)? {
            SegmentReady::Yes => {}
            SegmentReady::Full => self.begin_task(&mut state, SegmentTask::Next, now),
            SegmentReady::No => {
                let (early, opened) = EarlyCall::new(line);
                state.early.push(early);
                self.begin_task(&mut state, SegmentTask::First, now);
                return Ok(LineWrite::Pending(opened));
            }
        }
        let is_alone = state.running() == 0;
        if let Some(segment) = &mut state.segment {
            segment.open.insert(id);
        }
        state.batch.push(line);
        match is_alone {
            true => state.write(id).map(LineWrite::Done),
            false => Ok(LineWrite::Batched(GroupCommit::new(self, id, state.number))),
        }
    }

    /// Writes a call's end: immediately if no other call runs, or once it can be written.
    pub(crate) fn close(&self, id: CallId, body: LineBody) -> Option<LineWrite<'_>> {
        let mut state = self.lock();
        if let Some(early) = state.early.iter_mut().find(|early| early.id() == id) {
            // Written after its start.
            early.end = Some(body);
            return None;
        }
        // A call that could not be recorded has no end either.
        if !state.segment.as_ref()?.open.contains(&id) {
            return None;
        }
        let is_alone = state.running() == 1;
        state.batch.push(QueuedLine { id, body, began: None });
        match is_alone {
            true => state.write(id).ok().map(LineWrite::Done),
            false => Some(LineWrite::Batched(GroupCommit::new(self, id, state.number))),
        }
    }

    /// Returns whether there is a segment to write to.
    pub(crate) fn has_segment(&self) -> bool {
        self.lock().segment.is_some()
    }

    /// Writes a line that is not about a call. Blocks if there is no segment yet: must not run on a serving thread then.
    pub(crate) fn note(
        self: &Arc<Self>,
        body: &LineBody,
        now: u64,
    ) -> Result<JournalPosition, Error> {
        let mut state = self.lock();
        match state.ready(now)? {
            SegmentReady::Yes => {}
            SegmentReady::Full => self.begin_task(&mut state, SegmentTask::Next, now),
            SegmentReady::No => {
                drop(state);
                let found = self.acquire(now)?;
                state = self.lock();
                state.adopt(found);
            }
        }
        // After the lines that were there before.
        state.write_batch();
        state.catch_up()?;
        state.append([(body, now)])
    }

    /// Writes what could not be written before.
    pub(crate) fn catch_up(&self) -> Result<(), Error> {
        self.lock().catch_up()
    }

    /// Returns the segment's file and its length, for waiting until they are on disk.
    pub(crate) fn position(&self) -> io::Result<Option<(File, JournalPosition)>> {
        let state = self.lock();
        let Some(segment) = &state.segment else { return Ok(None) };
        Ok(Some((segment.file()?, (segment.number, segment.length))))
    }

    /// Returns whether the call is running in this process.
    pub(crate) fn runs(&self, id: CallId) -> bool {
        let state = self.lock();
        state.early.iter().any(|early| early.id() == id)
            || state.segment.as_ref().is_some_and(|segment| segment.open.contains(&id))
    }

    /// Writes the remaining lines and releases the segment, so that another process can continue it.
    pub(crate) fn shut_down(&self) {
        let mut state = self.lock();
        state.write_batch();
        if let Err(cause) = state.catch_up() {
            warn!(%cause, "the ends of calls could not be recorded");
        }
        let Some(mut segment) = state.segment.take() else { return };
        // If calls are open, the clean end is left out, so that the next process looks for them.
        if segment.open.is_empty()
            && let Err(cause) = segment.mark_clean()
        {
            warn!(%cause, "the journal could not be closed; it will be checked when it is next opened");
        }
    }
}

/// Whether there is a segment to write to.
enum SegmentReady {
    Yes,
    /// Yes, and the next one should be started.
    Full,
    No,
}

impl JournalState {
    /// Returns whether there is a segment to write to.
    ///
    /// # Errors
    /// The last attempt to get one has just failed.
    fn ready(&mut self, now: u64) -> Result<SegmentReady, Error> {
        if let Some(segment) = &self.segment
            && now.abs_diff(self.looked) >= LOOK
        {
            self.looked = now;
            if !segment.is_there() {
                error!(file = %segment.path.display(), "the journal was deleted under us; a new one is begun");
                // Pending lines belong into the segment that they wait for.
                self.write_batch();
                self.segment = None;
            }
        }
        match (&self.segment, &self.failed) {
            (Some(segment), _) => {
                let may_try = now.abs_diff(self.stuck) >= PATIENCE;
                Ok(if segment.is_full(now) && may_try {
                    SegmentReady::Full
                } else {
                    SegmentReady::Yes
                })
            }
            (None, Some((when, failed))) if now.abs_diff(*when) < PATIENCE => {
                Err(Error::Again(failed.clone()))
            }
            (None, _) => Ok(SegmentReady::No),
        }
    }

    /// Returns how many calls are open.
    fn running(&self) -> usize {
        self.segment.as_ref().map_or(0, |segment| segment.open.len())
    }

    fn append<'a>(
        &mut self,
        lines: impl IntoIterator<Item = (&'a LineBody, u64)>,
    ) -> Result<JournalPosition, Error> {
        let Some(segment) = &mut self.segment else {
            return Err(Error::Background("there is no journal".to_owned()));
        };
        let end = segment.append(lines).map_err(Error::file("write", &segment.path))?;
        Ok((segment.number, end))
    }

    /// Writes the ends in the backlog, oldest first.
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

    /// Keeps an end in the bounded backlog until it can be written.
    fn push_backlog(&mut self, id: CallId, body: LineBody) {
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
