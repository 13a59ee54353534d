//! Lines that calls write together: one write for all that were ready at the same time.
//!
//! Whoever has a line to write lets the tasks that are ready run once, so that they can add theirs. The first to come
//! back writes all of them; the others find theirs written.

use std::{
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use switchboard_toolcall::CallId;
use tracing::warn;

use super::{Held, Journal, Position, Queued, segments::Opened};
use crate::error::Error;

/// Whether a line is written, goes with the next batch, or waits for a segment.
pub(crate) enum Written<'a> {
    Now(Position),
    Soon(Together<'a>),
    /// Written by somebody else, also if nobody waits for it.
    Later(Opened),
}

/// A line that goes with the next batch: written when this is done, or dropped.
pub(crate) struct Together<'a> {
    journal: &'a Journal,
    id: CallId,
    /// The number of its batch.
    batch: u64,
    /// Whether others had the time to add their lines.
    waited: bool,
    settled: bool,
}

impl<'a> Together<'a> {
    pub(super) fn new(journal: &'a Journal, id: CallId, batch: u64) -> Self {
        Self { journal, id, batch, waited: false, settled: false }
    }

    /// Waits for nobody: if the line is not written yet, it and its batch are now. Returns a place that is not before its
    /// end.
    pub(crate) fn at_once(mut self) -> Result<Position, Error> {
        self.settle()
    }

    fn settle(&mut self) -> Result<Position, Error> {
        self.settled = true;
        let mut held = self.journal.lock();
        match held.number == self.batch {
            true => held.write(self.id),
            false => held.outcome(self.id),
        }
    }
}

impl Future for Together<'_> {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if !mem::replace(&mut self.waited, true) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(self.settle().map(|_| ()))
    }
}

impl Drop for Together<'_> {
    fn drop(&mut self) {
        if !self.settled {
            // Whose beginning this is has gone; whose end it is, that waits until it can be written.
            _ = self.settle();
        }
    }
}

impl Held {
    /// Writes the batch that the line of call `id` is part of.
    pub(super) fn write(&mut self, id: CallId) -> Result<Position, Error> {
        self.write_batch();
        self.outcome(id)
    }

    /// What became of the line of a call whose batch was written, and where the journal ends.
    fn outcome(&mut self, id: CallId) -> Result<Position, Error> {
        // Nearly always there is none, and nothing need be looked up.
        let unwritten = if self.unwritten.is_empty() { None } else { self.unwritten.remove(&id) };
        match unwritten {
            Some(error) => Err(Error::Again(error)),
            None => {
                Ok(self.segment.as_ref().map_or((0, 0), |segment| (segment.number, segment.length)))
            }
        }
    }

    /// Writes the lines that wait.
    pub(super) fn write_batch(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        self.number += 1;
        let mut batch = mem::take(&mut self.batch);
        let lines = batch.iter().map(|line| (&line.body, line.tick()));
        match self.catch_up().and_then(|()| self.append(lines)) {
            Ok(_) => batch.drain(..).for_each(|line| self.is_written(&line)),
            // What is too much together may fit one by one.
            Err(_) => batch.drain(..).for_each(|line| self.write_alone(line)),
        }
        // Kept, so that its room need not be found anew.
        self.batch = batch;
    }

    /// Writes a line. One that cannot be written stays unwritten if it is a beginning, and waits on if it is an end.
    fn write_alone(&mut self, line: Queued) {
        let written = self.catch_up().and_then(|()| self.append([(&line.body, line.tick())]));
        match written {
            Ok(_) => self.is_written(&line),
            Err(cause) if line.began.is_some() => {
                self.ended(line.id);
                self.unwritten.insert(line.id, Arc::new(cause));
            }
            Err(cause) => {
                warn!(%cause, call = %line.id, "the end of a call could not be recorded yet");
                self.wait_with(line.id, line.body);
            }
        }
    }

    fn is_written(&mut self, line: &Queued) {
        if line.began.is_none() {
            self.ended(line.id);
        }
    }
}

impl Queued {
    /// What the line's tick is at the least.
    fn tick(&self) -> u64 {
        self.began.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, task::Waker, time::SystemTime};

    use super::*;
    use crate::{layout::Layout, line::Body};

    /// A journal with a segment, and how many lines its file has.
    fn journal(folder: &tempfile::TempDir) -> (Arc<Journal>, impl Fn() -> usize) {
        let layout = Layout::new(folder.path().join("store"));
        let file = layout.segment(1);
        let lines = move || fs::read_to_string(&file).map_or(0, |text| text.lines().count());
        let journal = Arc::new(Journal::new(layout));
        let id = CallId::generate_at(SystemTime::now());
        let Written::Later(opened) = journal.open(id, Body::new("open", id), 1).unwrap() else {
            panic!("there is no segment yet")
        };
        opened.blocking_recv().unwrap().unwrap();
        assert!(matches!(journal.close(id, Body::new("end", id)), Some(Written::Now(_))));
        (journal, lines)
    }

    fn open(journal: &Arc<Journal>) -> (CallId, Written<'_>) {
        let id = CallId::generate_at(SystemTime::now());
        (id, journal.open(id, Body::new("open", id), 1).unwrap())
    }

    fn poll(line: &mut Together<'_>) -> Poll<bool> {
        let mut cx = Context::from_waker(Waker::noop());
        Pin::new(line).poll(&mut cx).map(|written| written.is_ok())
    }

    // RC-1
    #[test]
    fn lines_of_calls_at_the_same_time_are_written_together() {
        let folder = tempfile::tempdir().unwrap();
        let (journal, lines) = journal(&folder);
        assert_eq!(lines(), 3, "the header and a call");
        let (first, Written::Now(_)) = open(&journal) else { panic!("nobody else runs") };
        assert_eq!(lines(), 4);
        let (_, Written::Soon(mut second)) = open(&journal) else { panic!("another runs") };
        let Some(Written::Soon(mut end)) = journal.close(first, Body::new("end", first)) else {
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
        let (_, Written::Soon(mut dropped)) = open(&journal) else { panic!("others run") };
        assert_eq!(poll(&mut dropped), Poll::Pending);
        drop(dropped);
        assert_eq!(lines(), 6);
        let (_, Written::Soon(line)) = open(&journal) else { panic!("others run") };
        let position = line.at_once().unwrap();
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
        let (first, Written::Later(first_opened)) = open(&journal) else { panic!("it is locked") };
        let (second, Written::Later(second_opened)) = open(&journal) else {
            panic!("it is locked")
        };
        assert!(journal.runs(first) && journal.runs(second));
        // One whose caller goes before its beginning is written has an end all the same.
        drop(second_opened);
        assert!(journal.close(second, Body::new("end", second)).is_none());
        drop(guard);
        assert!(first_opened.blocking_recv().unwrap().is_ok());
        assert!(journal.runs(first));
        journal.rest();
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
        let opened = journal.open(id, Body::new("open", id), tomorrow).unwrap();
        assert!(matches!(opened, Written::Now((1, _))), "the old one goes on");
        drop(guard);
        while !layout.segment(2).exists() || journal.lock().task.is_some() {
            std::thread::yield_now();
        }
        let text = fs::read_to_string(layout.segment(2)).unwrap();
        assert!(text.contains("\"carried\":[") && text.contains(&id.to_string()), "{text}");
        assert!(journal.runs(id));
    }
}
