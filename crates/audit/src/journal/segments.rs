//! Beginning a segment: waits for the store's lock, reads what others left behind, and writes to several files. None of
//! that is done on the thread of a caller, nor while the journal is locked: calls that begin meanwhile are kept until
//! there is a segment.

use std::{collections::BTreeSet, sync::Arc, time::SystemTime};

use switchboard_toolcall::CallId;
use tokio::{runtime::Handle, sync::oneshot};
use tracing::warn;

use super::{Held, Journal, Position, Queued};
use crate::{
    error::Error,
    layout::{Guard, Layout},
    line::{Body, microseconds},
    manifest::Manifest,
    segment::Segment,
};

/// What is being done about the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Finds or begins the first segment of this process.
    First,
    /// Begins the next segment because the present one is full.
    Next,
}

/// A call that began while there was no segment.
pub(super) struct Early {
    line: Queued,
    /// The line that it ends with, if it has ended already.
    pub(super) end: Option<Body>,
    opened: oneshot::Sender<Result<Position, Error>>,
}

/// Says when the line of such a call was written, and where.
pub(crate) type Opened = oneshot::Receiver<Result<Position, Error>>;

impl Early {
    pub(super) fn new(line: Queued) -> (Self, Opened) {
        let (opened, receiver) = oneshot::channel();
        (Self { line, end: None, opened }, receiver)
    }

    pub(super) fn id(&self) -> CallId {
        self.line.id
    }
}

impl Journal {
    /// Begins the task beside the callers' threads, unless one is under way.
    pub(super) fn begin_task(self: &Arc<Self>, held: &mut Held, task: Task, now: u64) {
        if held.task.is_some() {
            return;
        }
        held.task = Some(task);
        let journal = self.clone();
        let work = move || match task {
            Task::First => journal.find_segment(now),
            Task::Next => journal.begin_next(now),
        };
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(work)),
            // Without a runtime nobody is served, so anybody may wait; a thread, as the journal is locked here.
            Err(_) => drop(std::thread::spawn(work)),
        }
    }

    /// Finds a segment, and writes what waits for it.
    fn find_segment(&self, now: u64) {
        let found = acquire(&self.layout, now);
        let mut held = self.lock();
        held.task = None;
        held.looked = now;
        let early = std::mem::take(&mut held.early);
        match found {
            Ok(segment) => {
                held.segment = Some(segment);
                held.failed = None;
                early.into_iter().for_each(|early| held.write_early(early));
                held.write_batch();
            }
            Err(error) => {
                let error = Arc::new(error);
                held.failed = Some((now, error.clone()));
                for Early { opened, .. } in early {
                    // Whose caller has gone need not know.
                    _ = opened.send(Err(Error::Again(error.clone())));
                }
            }
        }
    }

    /// Begins the next segment if this one is full. If that fails, this one goes on.
    fn begin_next(&self, now: u64) {
        // Callers go on with the full one while we wait here.
        let guard = self.layout.lock();
        let mut held = self.lock();
        held.task = None;
        // What waits to be written belongs into the segment that it waits for.
        held.write_batch();
        let Some(segment) = held.segment.take() else { return };
        if !segment.is_full(now) {
            held.segment = Some(segment);
            return;
        }
        let next = guard.and_then(|guard| {
            let mut manifest = Manifest::read(&self.layout)?;
            let (open, tick) = (segment.open.clone(), segment.tick.max(now));
            let next = Segment::begin(&self.layout, &mut manifest, open, tick, &guard)?;
            Ok((next, manifest, guard))
        });
        match next {
            Ok((next, mut manifest, guard)) => {
                held.segment = Some(next);
                // The next one knows what is open; a seal that fails is made up for by the next process.
                if let Err(cause) = segment.seal(&self.layout, &mut manifest, &guard) {
                    warn!(%cause, "a full segment of the journal could not be sealed");
                }
            }
            Err(cause) => {
                warn!(%cause, "the next segment of the journal could not be begun");
                held.stuck = now;
                held.segment = Some(segment);
            }
        }
    }
}

impl Held {
    /// Writes the beginning of a call that waited for a segment, and its end if it has one.
    fn write_early(&mut self, early: Early) {
        let Early { line, end, opened } = early;
        let id = line.id;
        if let Some(segment) = &mut self.segment {
            segment.open.insert(id);
        }
        self.batch.push(line);
        let written = self.write(id);
        if let (Ok(_), Some(body)) = (&written, end) {
            self.batch.push(Queued { id, body, began: None });
        }
        // Whose caller has gone need not know.
        _ = opened.send(written);
    }
}

/// Takes a segment that nobody holds, or begins one.
fn acquire(layout: &Layout, now: u64) -> Result<Segment, Error> {
    layout.create()?;
    let guard = layout.lock()?;
    let mut manifest = Manifest::read(layout)?;
    manifest.may_write()?;
    match repair(layout, &mut manifest, &guard)? {
        Some(segment) => Ok(segment),
        None => Segment::begin(layout, &mut manifest, BTreeSet::new(), now, &guard),
    }
}

/// Repairs what dead processes left behind, seals what is full, and returns a segment that has room.
pub(crate) fn repair(
    layout: &Layout,
    manifest: &mut Manifest,
    guard: &Guard,
) -> Result<Option<Segment>, Error> {
    // Who may not write leaves the repair to who may.
    if manifest.may_write().is_err() {
        return Ok(None);
    }
    let now = microseconds(SystemTime::now());
    let mut with_room = None;
    for entry in manifest.unsealed() {
        let Some(segment) = Segment::take_over(layout, &entry, guard)? else { continue };
        // What was written without the key ends where the key begins: the manifest's signed line vouches for it.
        let is_foreign = layout.key.is_some() && !entry.is_signed;
        if segment.is_full(now) || is_foreign {
            segment.seal(layout, manifest, guard)?;
        } else if with_room.is_none() {
            with_room = Some(segment);
        }
    }
    Ok(with_room)
}
