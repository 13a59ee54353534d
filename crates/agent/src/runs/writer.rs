//! Writes the lines of a run's file: those that are there at the same time in one write.

use std::{
    fs::File,
    future,
    io::{self, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
};

use super::{
    hash::RunHash,
    live::{RunLine, lock},
};

/// The file of a run that this process runs.
#[derive(Debug)]
pub(super) struct RunWriter {
    state: Mutex<WriterState>,
    /// Whether lines must reach the disk before the run goes on.
    syncs: bool,
}

#[derive(Debug)]
struct WriterState {
    /// `None` once the run has ended, or its file could not be written.
    file: Option<Arc<File>>,
    /// Lines that are not written yet.
    pending: Vec<u8>,
    hash: RunHash,
}

impl RunWriter {
    pub(super) fn new(file: File, syncs: bool, hash: RunHash) -> Self {
        let state = WriterState { file: Some(Arc::new(file)), pending: Vec::new(), hash };
        Self { state: Mutex::new(state), syncs }
    }

    fn state(&self) -> MutexGuard<'_, WriterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the SHA-256 of the file up to its last turn.
    pub(super) fn turn_sha256(&self) -> Option<Arc<str>> {
        self.state().hash.last_turn()
    }

    /// Adds a line, which is written with the next ones.
    pub(super) fn add(&self, line: &RunLine) -> io::Result<()> {
        let mut state = self.state();
        let state = &mut *state;
        if state.file.is_some() {
            let begin = state.pending.len();
            if let Err(error) = serde_json::to_writer(&mut state.pending, line) {
                state.pending.truncate(begin);
                return Err(error.into());
            }
            state.pending.push(b'\n');
            state.hash.add(&state.pending[begin..]);
        }
        Ok(())
    }

    /// Locks the file for this process, and writes its first line.
    pub(super) fn begin(&self) -> io::Result<()> {
        if let Some(file) = &self.state().file {
            lock(file)?;
        }
        match self.flush()? {
            Some(file) => file.sync_data(),
            None => Ok(()),
        }
    }

    /// Writes the lines that were added. Returns the file if it is to be synced.
    pub(super) fn flush(&self) -> io::Result<Option<Arc<File>>> {
        let mut state = self.state();
        let pending = std::mem::take(&mut state.pending);
        let Some(file) = &state.file else { return Ok(None) };
        if !pending.is_empty()
            && let Err(error) = (&**file).write_all(&pending)
        {
            state.file = None;
            return Err(error);
        }
        Ok(state.file.clone().filter(|_| self.syncs))
    }

    /// Writes the lines that were added, with those that other calls of the turn add now, and waits for the disk if lines must
    /// reach it.
    pub(super) async fn commit(&self) -> io::Result<()> {
        let mut is_again = false;
        future::poll_fn(|cx| match std::mem::replace(&mut is_again, true) {
            true => Poll::Ready(()),
            false => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        })
        .await;
        let Some(file) = self.flush()? else { return Ok(()) };
        let synced = tokio::task::spawn_blocking(move || file.sync_data());
        let synced = synced.await.unwrap_or_else(|ended| Err(io::Error::other(ended)));
        synced.inspect_err(|_| self.state().file = None)
    }

    /// Ends the file. Returns `None` if it has ended, or could not be written; until the returned file is dropped, no other process
    /// has the run.
    pub(super) fn end(&self) -> Option<Arc<File>> {
        self.state().file.take()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        os::{fd::OwnedFd, unix::net::UnixDatagram},
    };

    use futures_util::future::join_all;

    use super::*;
    use crate::runs::RunLine;

    /// Commits a line to a pipe, which cannot be synced, and returns whether that worked and what arrived.
    async fn committed(syncs: bool) -> (bool, String) {
        let (mut reader, writer) = io::pipe().unwrap();
        let writer = RunWriter::new(File::from(OwnedFd::from(writer)), syncs, RunHash::default());
        let began = |position| RunLine::CallBegun { position, honours_keys: false, at: 7 };
        writer.add(&began(0)).unwrap();
        writer.add(&began(1)).unwrap();
        let is_well = writer.commit().await.is_ok();
        // After a failure nothing more is written.
        writer.add(&began(2)).unwrap();
        writer.flush().unwrap();
        drop(writer);
        let mut text = String::new();
        io::Read::read_to_string(&mut reader, &mut text).unwrap();
        (is_well, text)
    }

    // RC-1, RN-2
    #[tokio::test]
    async fn a_line_waits_for_the_disk_if_it_must() {
        let line =
            |n| format!("{{\"began\":{{\"position\":{n},\"honours_keys\":false,\"at\":7}}}}\n");
        let [zero, one, two] = [0, 1, 2].map(line);
        assert_eq!(committed(false).await, (true, format!("{zero}{one}{two}")));
        assert_eq!(committed(true).await, (false, format!("{zero}{one}")));
    }
    // RN-1: one write for the calls of a turn that begin together.
    #[tokio::test]
    async fn lines_of_one_moment_are_one_write() {
        // Each write to such a socket arrives as one message.
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        let writer = RunWriter::new(File::from(OwnedFd::from(ours)), false, RunHash::default());
        let commit = async |position| {
            writer.add(&RunLine::CallBegun { position, honours_keys: false, at: 7 }).unwrap();
            writer.commit().await.unwrap();
        };
        join_all((0..8).map(commit)).await;
        writer.flush().unwrap();
        join_all((8..10).map(commit)).await;
        theirs.set_nonblocking(true).unwrap();
        let mut buffer = [0; 4096];
        let mut counted = Vec::new();
        while let Ok(length) = theirs.recv(&mut buffer) {
            counted.push(buffer[..length].iter().filter(|byte| **byte == b'\n').count());
        }
        assert_eq!(counted, [8, 2]);
    }
}
