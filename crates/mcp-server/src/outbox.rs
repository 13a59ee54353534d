//! Messages to a client, in order; some are kept after reading so that a stream can be resumed.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use switchboard_mcp_wire::{Outgoing, flatten};

/// How many bytes are held for one client, the newest message aside.
const MOST_BYTES: usize = 4 << 20;

/// A queue of messages with one reader at a time.
#[derive(Debug)]
pub(crate) struct Outbox {
    /// How many messages are kept after they have been read.
    kept: usize,
    state: Mutex<OutboxState>,
}

#[derive(Debug, Default)]
struct OutboxState {
    messages: VecDeque<Bytes>,
    /// The number of the first message held.
    first: u64,
    /// The number of the first message that has not been read.
    unread: u64,
    bytes: usize,
    ended: bool,
    /// The number of the current reader; a later reader replaces it.
    reader: u64,
    waker: Option<Waker>,
}

impl Outbox {
    /// Creates an empty queue that keeps `kept` messages after they were read.
    pub(crate) fn keeping(kept: usize) -> Arc<Self> {
        Arc::new(Self { kept, state: Mutex::default() })
    }

    /// Appends a message, on one line.
    pub(crate) fn send(&self, message: &Outgoing<'_>) {
        let mut line = message.to_bytes();
        flatten(&mut line);
        self.push(line.into());
    }

    /// Appends a message that is on one line already.
    pub(crate) fn push(&self, message: Bytes) {
        let mut state = self.lock();
        if state.ended {
            return;
        }
        state.bytes += message.len();
        state.messages.push_back(message);
        state.trim(self.kept);
        wake(state);
    }

    /// Ends the queue: later messages are dropped.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        wake(state);
    }

    /// Reads from message `from` on; an earlier reader ends.
    pub(crate) fn reader(self: &Arc<Self>, from: u64) -> OutboxReader {
        let mut state = self.lock();
        state.reader += 1;
        let reader = OutboxReader { outbox: self.clone(), epoch: state.reader, next: from };
        wake(state);
        reader
    }

    /// Reads the messages that are unread; an earlier reader ends.
    pub(crate) fn unread(self: &Arc<Self>) -> OutboxReader {
        let from = self.lock().unread;
        self.reader(from)
    }

    /// Ends the current reader; unread messages wait for the next.
    pub(crate) fn interrupt(&self) {
        let mut state = self.lock();
        state.reader += 1;
        wake(state);
    }

    /// Whether nothing has been sent.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().messages.is_empty()
    }

    /// Ready when there is something to read, or when the queue has ended.
    pub(crate) fn poll_any(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.ended || !state.messages.is_empty() {
            return Poll::Ready(());
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    fn lock(&self) -> MutexGuard<'_, OutboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes the reader after the lock is released.
fn wake(mut state: MutexGuard<'_, OutboxState>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl OutboxState {
    /// Drops messages that were read and need not be kept, and the oldest if there are too many bytes.
    fn trim(&mut self, kept: usize) {
        while let Some(oldest) = self.messages.front() {
            let read = self.first < self.unread && self.messages.len() > kept;
            // Bounds the memory that a slow reader uses.
            let much = self.messages.len() > 1 && self.bytes > MOST_BYTES;
            if !read && !much {
                return;
            }
            self.bytes -= oldest.len();
            self.messages.pop_front();
            self.first += 1;
        }
    }
}

/// Reads an outbox.
#[derive(Debug)]
pub(crate) struct OutboxReader {
    outbox: Arc<Outbox>,
    epoch: u64,
    next: u64,
}

impl OutboxReader {
    /// Returns the next message with its number; `None` if the queue has ended or another reader took over.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(u64, Bytes)>> {
        let mut state = self.outbox.lock();
        if state.reader != self.epoch {
            return Poll::Ready(None);
        }
        self.next = self.next.max(state.first);
        let at = usize::try_from(self.next - state.first).unwrap_or(usize::MAX);
        if let Some(message) = state.messages.get(at).cloned() {
            let number = self.next;
            self.next += 1;
            state.unread = state.unread.max(self.next);
            state.trim(self.outbox.kept);
            return Poll::Ready(Some((number, message)));
        }
        if state.ended {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Returns the queue that it reads.
    pub(crate) fn outbox(&self) -> &Arc<Outbox> {
        &self.outbox
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reader: &mut OutboxReader) -> Vec<u64> {
        let mut cx = Context::from_waker(Waker::noop());
        std::iter::from_fn(|| match reader.poll_next(&mut cx) {
            Poll::Ready(Some((number, _))) => Some(number),
            _ => None,
        })
        .collect()
    }

    #[test]
    fn what_was_read_is_kept_as_long_as_it_may_be() {
        let outbox = Outbox::keeping(3);
        let push = |count| (0..count).for_each(|_| outbox.push(Bytes::from_static(b"x")));
        push(5);
        let mut first = outbox.reader(0);
        assert_eq!(read(&mut first), [0, 1, 2, 3, 4]);
        push(1);
        let mut second = outbox.reader(2);
        // The three newest are kept; the first reader has ended.
        assert_eq!((read(&mut first), read(&mut second)), (vec![], vec![3, 4, 5]));
        let nothing_kept = Outbox::keeping(0);
        nothing_kept.push(Bytes::from_static(b"x"));
        assert_eq!(read(&mut nothing_kept.reader(0)), [0]);
        assert_eq!(read(&mut nothing_kept.reader(0)), [0_u64; 0]);
    }

    #[test]
    fn a_reader_that_does_not_keep_up_is_bounded() {
        let outbox = Outbox::keeping(3);
        for _ in 0..10 {
            outbox.push(vec![0; MOST_BYTES / 2].into());
        }
        assert_eq!(read(&mut outbox.reader(0)), [8, 9]);
        outbox.push(vec![0; MOST_BYTES * 2].into());
        assert_eq!(read(&mut outbox.reader(0)), [10]);
    }
}
