//! Starting a segment: waits for the store's lock, repairs what dead processes left, and writes to several files. None of
//! that happens on a caller's thread or while the journal is locked: calls that start meanwhile wait for the segment.

use std::{collections::BTreeSet, sync::Arc, time::SystemTime};

use switchboard_toolcall::CallId;
use tokio::{runtime::Handle, sync::oneshot};
use tracing::warn;

use super::{Journal, JournalPosition, JournalState, QueuedLine};
use crate::{
    error::Error,
    layout::{Layout, StoreLock},
    line::{LineBody, microseconds},
    manifest::Manifest,
    segment::JournalSegment,
};

/// A task that finds or starts a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SegmentTask {
    /// Finds or starts the first segment of this process.
    First,
    /// Starts the next segment because the present one is full.
    Next,
}

/// A call that started while there was no segment.
pub(super) struct EarlyCall {
    line: QueuedLine,
    /// The line that it ends with, if it has ended already.
    pub(super) end: Option<LineBody>,
    opened: oneshot::Sender<Result<JournalPosition, Error>>,
}

/// Receives the position of such a call's line once it is written.
pub(crate) type OpenReceiver = oneshot::Receiver<Result<JournalPosition, Error>>;

impl EarlyCall {
    pub(super) fn new(line: QueuedLine) -> (Self, OpenReceiver) {
        let (opened, receiver) = oneshot::channel();
        (Self { line, end: None, opened }, receiver)
    }

    pub(super) fn id(&self) -> CallId {
        self.line.id
    }
}

impl Journal {
    /// Spawns the task unless one is under way.
    pub(super) fn begin_task(
        self: &Arc<Self>,
        state: &mut JournalState,
        task: SegmentTask,
        now: u64,
    ) {
        if state.task.is_some() {
            return;
        }
        state.task = Some(task);
        let journal = self.clone();
        let work = move || match task {
            SegmentTask::First => journal.find_segment(now),
            SegmentTask::Next => journal.begin_next(now),
        };
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(work)),
            // A thread, because the journal is locked here.
            Err(_) => drop(std::thread::spawn(work)),
        }
    }

    /// Finds a segment, and writes what waits for it.
    fn find_segment(&self, now: u64) {
        let found = self.acquire(now);
        let mut state = self.lock();
        state.task = None;
        state.looked = now;
        let early = std::mem::take(&mut state.early);
        match found {
            Ok(segment) => {
                state.adopt(segment);
                early.into_iter().for_each(|early| state.write_early(early));
                state.write_batch();
            }
            Err(error) => {
                let error = Arc::new(error);
                state.failed = Some((now, error.clone()));
                for EarlyCall { opened, .. } in early {
                    // The caller may be gone.
                    _ = opened.send(Err(Error::Again(error.clone())));
                }
            }
        }
    }

    /// Takes over a segment that nobody holds, or starts one.
    pub(super) fn acquire(&self, now: u64) -> Result<JournalSegment, Error> {
        acquire(&self.layout, now)
    }

    /// Starts the next segment if this one is full. If that fails, this one continues.
    fn begin_next(&self, now: u64) {
        // Callers write to the full one while this waits.
        let guard = self.layout.lock();
        let mut state = self.lock();
        state.task = None;
        // The batch belongs to the present segment.
        state.write_batch();
        let Some(segment) = state.segment.take() else { return };
        if !segment.is_full(now) {
            state.segment = Some(segment);
            return;
        }
        let next = guard.and_then(|guard| {
            let mut manifest = Manifest::read(&self.layout)?;
            let (open, tick) = (segment.open.clone(), segment.tick.max(now));
            let next = JournalSegment::begin(&self.layout, &mut manifest, open, tick, &guard)?;
            Ok((next, manifest, guard))
        });
        match next {
            Ok((next, mut manifest, guard)) => {
                state.segment = Some(next);
                // The next one lists the open calls; if sealing fails, the next process seals.
                if let Err(cause) = segment.seal(&self.layout, &mut manifest, &guard) {
                    warn!(%cause, "a full segment of the journal could not be sealed");
                }
            }
            Err(cause) => {
                warn!(%cause, "the next segment of the journal could not be begun");
                state.stuck = now;
                state.segment = Some(segment);
            }
        }
    }
}

impl JournalState {
    /// Uses a segment from now on, unless another thread of this process was faster.
    pub(super) fn adopt(&mut self, mut segment: JournalSegment) {
        self.failed = None;
        if self.segment.is_none() {
            self.segment = Some(segment);
        } else if let Err(cause) = segment.mark_clean() {
            warn!(%cause, "a segment of the journal could not be closed; it will be checked when it is next opened");
        }
    }

    /// Writes the start of a call that waited for a segment, and its end if it has one.
    fn write_early(&mut self, early: EarlyCall) {
        let EarlyCall { line, end, opened } = early;
        let id = line.id;
        if let Some(segment) = &mut self.segment {
            segment.open.insert(id);
        }
        self.batch.push(line);
        let written = self.write(id);
        if let (Ok(_), Some(body)) = (&written, end) {
            self.batch.push(QueuedLine { id, body, began: None });
        }
        // The caller may be gone.
        _ = opened.send(written);
    }
}

/// Takes over a segment that nobody holds, or starts one.
fn acquire(layout: &Layout, now: u64) -> Result<JournalSegment, Error> {
    layout.create()?;
    let guard = layout.lock()?;
    let mut manifest = Manifest::read(layout)?;
    manifest.may_write()?;
    match repair(layout, &mut manifest, &guard)? {
        Some(segment) => Ok(segment),
        None => JournalSegment::begin(layout, &mut manifest, BTreeSet::new(), now, &guard),
    }
}

/// Repairs what dead processes left, seals full segments, and returns one that has room.
pub(crate) fn repair(
    layout: &Layout,
    manifest: &mut Manifest,
    guard: &StoreLock,
) -> Result<Option<JournalSegment>, Error> {
    // Without permission to write, the repair is left to others.
    if manifest.may_write().is_err() {
        return Ok(None);
    }
    let now = microseconds(SystemTime::now());
    let mut with_room = None;
    for entry in manifest.unsealed() {
        let Some(segment) = JournalSegment::take_over(layout, &entry, guard)? else { continue };
        // Unsigned lines end where the key begins: the manifest's signed line covers them.
        let is_foreign = layout.key.is_some() && !entry.is_signed;
        if segment.is_full(now) || is_foreign {
            segment.seal(layout, manifest, guard)?;
        } else if with_room.is_none() {
            with_room = Some(segment);
        }
    }
    Ok(with_room)
}
