//! Measures by how many seconds the index is behind the journal, without feeding it.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};
use tokio::time::Instant;

use crate::Failure;

/// How often it is looked.
const PAUSE: Duration = Duration::from_millis(20);

/// A thread that looks at the journal and the index.
pub(crate) struct LagMeter {
    stop: Sender<()>,
    thread: JoinHandle<Result<Lag, Failure>>,
}

/// How far the index was behind.
#[derive(Default)]
struct Lag {
    /// How often it was looked.
    looks: u64,
    most: Duration,
    sum: Duration,
    most_bytes: u64,
}

impl LagMeter {
    pub(crate) fn start(folder: &Path) -> Self {
        let (stop, stopped) = channel();
        let folder = folder.to_owned();
        Self { stop, thread: thread::spawn(move || measure(&folder, &stopped)) }
    }

    /// Ends, and prints how far the index was behind.
    pub(crate) fn print(self) -> Result<(), Failure> {
        drop(self.stop);
        let lag = self.thread.join().map_err(|_| "the lag could not be measured")??;
        println!(
            "the index was behind the journal by {:.2} s and {} KB at most, {:.2} s on average ({} looks)",
            lag.most.as_secs_f64(),
            lag.most_bytes / 1_000,
            lag.sum.as_secs_f64() / lag.looks.max(1) as f64,
            lag.looks
        );
        Ok(())
    }
}

fn measure(folder: &Path, stopped: &Receiver<()>) -> Result<Lag, Failure> {
    let (journal, index) = (folder.join("journal"), folder.join("index.db"));
    let mut lag = Lag::default();
    // When the journal had how many bytes first, as far as the index does not have them.
    let mut written: VecDeque<(Instant, u64)> = VecDeque::new();
    let mut connection = None;
    while stopped.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
        let fed = fed(&index, &mut connection)?;
        let (now, bytes) = (Instant::now(), bytes(&journal)?);
        if written.back().is_none_or(|(_, before)| *before < bytes) {
            written.push_back((now, bytes));
        }
        while written.front().is_some_and(|(_, bytes)| *bytes <= fed) {
            written.pop_front();
        }
        // They were written between this look and the one before: the index is behind by one pause more at most.
        let behind = written.front().map_or(Duration::ZERO, |(at, _)| now - *at);
        lag.looks += 1;
        lag.sum += behind;
        lag.most = lag.most.max(behind);
        lag.most_bytes = lag.most_bytes.max(bytes.saturating_sub(fed));
    }
    Ok(lag)
}

/// Returns how many bytes of the journal are in the index.
fn fed(index: &PathBuf, connection: &mut Option<Connection>) -> Result<u64, Failure> {
    if connection.is_none() && index.exists() {
        let opened = Connection::open_with_flags(index, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        opened.busy_timeout(Duration::from_secs(5))?;
        *connection = Some(opened);
    }
    let Some(connection) = connection else { return Ok(0) };
    let sum =
        connection.query_row("SELECT coalesce(sum(read), 0) FROM segments", [], |row| row.get(0));
    // Its tables may not be there yet.
    Ok(sum.unwrap_or(0))
}

/// Returns how many bytes the segments have.
fn bytes(journal: &PathBuf) -> Result<u64, Failure> {
    let mut bytes = 0;
    for file in fs::read_dir(journal).into_iter().flatten() {
        bytes += file?.metadata()?.len();
    }
    Ok(bytes)
}
