//! Group commit: one write for the lines of all calls that are ready at the same time.
//!
//! A task with a line to write yields once, so that other ready tasks can add theirs. The first to be polled again writes the
//! whole batch; the others find theirs written. With 16 clients that is 0.3 writes per call instead of 3.

use std::{
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use switchboard_toolcall::CallId;
use tracing::warn;

use super::{Journal, JournalPosition, JournalState, QueuedLine, segments::OpenReceiver};
use crate::error::Error;

/// How far the write of a line is.
pub(crate) enum LineWrite<'a> {
    Done(JournalPosition),
    Batched(GroupCommit<'a>),
    /// There is no segment yet; another thread writes it, even if the receiver is dropped.
    Pending(OpenReceiver),
}

/// A line of the next batch: written when this future completes or is dropped.
pub(crate) struct GroupCommit<'a> {
    journal: &'a Journal,
    id: CallId,
    /// The number of its batch.
    batch: u64,
    /// Whether it has yielded to other tasks.
    waited: bool,
    finished: bool,
}

impl<'a> GroupCommit<'a> {
    pub(super) fn new(journal: &'a Journal, id: CallId, batch: u64) -> Self {
        Self { journal, id, batch, waited: false, finished: false }
    }

    /// Writes the batch now unless it is written. Returns a position at or behind the line's end.
    pub(crate) fn write_now(mut self) -> Result<JournalPosition, Error> {
        self.finish()
    }

    fn finish(&mut self) -> Result<JournalPosition, Error> {
        self.finished = true;
        let mut state = self.journal.lock();
        match state.number == self.batch {
            true => state.write(self.id),
            false => state.outcome(self.id),
        }
    }
}

impl Future for GroupCommit<'_> {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if !mem::replace(&mut self.waited, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(self.finish().map(|_| ()))
    }
}

impl Drop for GroupCommit<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // On failure a start is dropped with its call, and an end goes to the backlog.
            _ = self.finish();
        }
    }
}

impl JournalState {
    /// Writes the batch that the line of call `id` is part of.
    pub(super) fn write(&mut self, id: CallId) -> Result<JournalPosition, Error> {
        self.write_batch();
        self.outcome(id)
    }

    /// Returns the journal's end if the line of a call was written with its batch.
    fn outcome(&mut self, id: CallId) -> Result<JournalPosition, Error> {
        // Nearly always empty, which saves the hash.
        let unwritten = if self.unwritten.is_empty() { None } else { self.unwritten.remove(&id) };
        match unwritten {
            Some(error) => Err(Error::Again(error)),
            None => {
                Ok(self.segment.as_ref().map_or((0, 0), |segment| (segment.number, segment.length)))
            }
        }
    }

    /// Writes the lines of the batch.
    pub(super) fn write_batch(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        self.number += 1;
        let mut batch = mem::take(&mut self.batch);
        let lines = batch.iter().map(|line| (&line.body, line.tick()));
        match self.catch_up().and_then(|()| self.append(lines)) {
            Ok(_) => batch.drain(..).for_each(|line| self.is_written(&line)),
            // A disk that is nearly full may take them one by one.
            Err(_) => batch.drain(..).for_each(|line| self.write_alone(line)),
        }
        // Put back to reuse its allocation.
        self.batch = batch;
    }

    /// Writes a line. On failure a start fails its call, and an end goes to the backlog.
    fn write_alone(&mut self, line: QueuedLine) {
        let written = self.catch_up().and_then(|()| self.append([(&line.body, line.tick())]));
        match written {
            Ok(_) => self.is_written(&line),
            Err(cause) if line.began.is_some() => {
                self.ended(line.id);
                self.unwritten.insert(line.id, Arc::new(cause));
            }
            Err(cause) => {
                warn!(%cause, call = %line.id, "the end of a call could not be recorded yet");
                self.push_backlog(line.id, line.body);
            }
        }
    }

    fn is_written(&mut self, line: &QueuedLine) {
        if line.began.is_none() {
            self.ended(line.id);
        }
    }
}

impl QueuedLine {
    /// Returns the lower bound of the line's tick.
    fn tick(&self) -> u64 {
        self.began.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, task::Waker, time::SystemTime};

    use super::*;
    use crate::{layout::Layout, line::LineBody};

    /// A journal with a segment, and how many lines its file has.
    fn journal(folder: &tempfile::TempDir) -> (Arc<Journal>, impl Fn() -> usize) {
        let layout = Layout::new(folder.path().join("store"));
        let file = layout.segment(1);
        let lines = move || fs::read_to_string(&file).map_or(0, |text| text.lines().count());
        let journal = Arc::new(Journal::new(layout));
        let id = CallId::generate_at(SystemTime::now());
        let LineWrite::Pending(opened) = journal.open(id, LineBody::new("open", id), 1).unwrap()
        else {
            panic!("there is no segment yet")
        };
        opened.blocking_recv().unwrap().unwrap();
        assert!(matches!(journal.close(id, LineBody::new("end", id)), Some(LineWrite::Done(_))));
        (journal, lines)
    }

    fn open(journal: &Arc<Journal>) -> (CallId, LineWrite<'_>) {
        let id = CallId::generate_at(SystemTime::now());
        (id, journal.open(id, LineBody::new("open", id), 1).unwrap())
    }

    fn poll(line: &mut GroupCommit<'_>) -> Poll<bool> {
        let mut cx = Context::from_waker(Waker::noop());
        Pin::new(line).poll(&mut cx).map(|written| written.is_ok())
    }

    // RC-1
    #[test]
    fn lines_of_calls_at_the_same_time_are_written_together() {
        let folder = tempfile::tempdir().unwrap();
        let (journal, lines) = journal(&folder);
        assert_eq!(lines(), 3, "the header and a call");
        let (first, LineWrite::Done(_)) = open(&journal) else { panic!("nobody else runs") };
        assert_eq!(lines(), 4);
        let (_, LineWrite::Batched(mut second)) = open(&journal) else { panic!("another runs") };
        let Some(LineWrite::Batched(mut end)) = journal.close(first, LineBody::new("end", first))
        else {
            panic!("another runs")
        };
        assert_eq!((poll(&mut second), poll(&mut end)), (Poll::Pending, Poll::Pending));
        assert_eq!(lines(), 4, "others may have something to add");
        assert_eq!(poll(&mut end), Poll::Ready(true));
        assert_eq!(lines(), 6);
        assert_eq!(poll(&mut second), Poll::Ready(true));
        assert_eq!(lines(), 6);
        assert!(!journal.runs(first));
    }

    // RC-1
    #[test]
    fn what_nobody_waits_for_is_written_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (journal, lines) = journal(&folder);
        let _first = open(&journal);
        let (_, dropped) = open(&journal);
        drop(dropped);
        assert_eq!(lines(), 5);
        let (_, LineWrite::Batched(mut dropped)) = open(&journal) else { panic!("others run") };
        assert_eq!(poll(&mut dropped), Poll::Pending);
        drop(dropped);
        assert_eq!(lines(), 6);
        let (_, LineWrite::Batched(line)) = open(&journal) else { panic!("others run") };
        let position = line.write_now().unwrap();
        assert_eq!(
            position,
            (1, fs::metadata(folder.path().join("store/journal/00000001.log")).unwrap().len())
        );
    }

    // RC-1: while another process holds the store's lock, no caller's thread waits for it.
    #[test]
    fn nobody_waits_for_the_lock_of_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().join("store"));
        layout.create().unwrap();
        let journal = Arc::new(Journal::new(layout.clone()));
        let guard = layout.lock().unwrap();
        let (first, LineWrite::Pending(first_opened)) = open(&journal) else {
            panic!("it is locked")
        };
        let (second, LineWrite::Pending(second_opened)) = open(&journal) else {
            panic!("it is locked")
        };
        assert!(journal.runs(first) && journal.runs(second));
        // One whose caller goes before its beginning is written has an end all the same.
        drop(second_opened);
        assert!(journal.close(second, LineBody::new("end", second)).is_none());
        drop(guard);
        assert!(first_opened.blocking_recv().unwrap().is_ok());
        assert!(journal.runs(first));
        journal.shut_down();
        let text = fs::read_to_string(layout.segment(1)).unwrap();
        let kinds: Vec<_> = text.lines().map(|line| line.split('"').nth(1).unwrap()).collect();
        assert_eq!(kinds, ["segment", "open", "open", "end"], "{text}");
    }

    // RC-1: a full segment goes on until there is a next one, which knows what is open.
    #[test]
    fn nobody_waits_for_the_next_segment() {
        let folder = tempfile::tempdir().unwrap();
        let (journal, _) = journal(&folder);
        let layout = Layout::new(folder.path().join("store"));
        let guard = layout.lock().unwrap();
        let tomorrow = crate::line::microseconds(SystemTime::now()) + 2 * crate::segment::DAY;
        let id = CallId::generate_at(SystemTime::now());
        let opened = journal.open(id, LineBody::new("open", id), tomorrow).unwrap();
        assert!(matches!(opened, LineWrite::Done((1, _))), "the old one goes on");
        drop(guard);
        while !layout.segment(2).exists() || journal.lock().task.is_some() {
            std::thread::yield_now();
        }
        let text = fs::read_to_string(layout.segment(2)).unwrap();
        assert!(text.contains("\"carried\":[") && text.contains(&id.to_string()), "{text}");
        assert!(journal.runs(id));
    }
}
