//! Group commit: one wait for the disk serves every line that was written before it began.

use std::{
    io,
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::Duration,
};

use tokio::{sync::watch, time::timeout};

use crate::{
    error::Error,
    journal::{Journal, JournalPosition},
};

/// How long a call waits for the disk.
const LONGEST: Duration = Duration::from_secs(5);

/// Syncs the journal to the disk in a thread of its own.
pub(crate) struct SyncThread {
    path: PathBuf,
    wanted: Arc<(Mutex<SyncRequest>, Condvar)>,
    done: watch::Receiver<SyncProgress>,
}

#[derive(Default)]
struct SyncRequest {
    position: JournalPosition,
    stop: bool,
}

/// How far the disk is.
#[derive(Clone, Default)]
struct SyncProgress {
    position: JournalPosition,
    failures: u64,
    error: Option<Arc<io::Error>>,
}

impl SyncThread {
    pub(crate) fn start(journal: Arc<Journal>, path: PathBuf) -> Result<Self, Error> {
        let wanted = Arc::<(Mutex<SyncRequest>, Condvar)>::default();
        let (sender, done) = watch::channel(SyncProgress::default());
        let (thread_wanted, tried) = (wanted.clone(), Error::file("start a thread for", &path));
        let work = move || {
            loop {
                let reached = sender.borrow().position;
                if next(&thread_wanted, reached).is_none() {
                    break;
                }
                let synced = sync(&journal);
                sender.send_modify(|done| match synced {
                    Ok(position) => done.position = done.position.max(position),
                    Err(error) => {
                        done.failures += 1;
                        done.error = Some(Arc::new(error));
                    }
                });
            }
        };
        thread::Builder::new().name("audit-disk".to_owned()).spawn(work).map_err(tried)?;
        Ok(Self { path, wanted, done })
    }

    /// Requests a sync up to the position without waiting.
    pub(crate) fn want(&self, position: JournalPosition) {
        let mut wanted = self.wanted.0.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.position = wanted.position.max(position);
        self.wanted.1.notify_one();
    }

    /// Waits until the disk has everything up to the position.
    pub(crate) async fn has(&self, position: JournalPosition) -> Result<(), Error> {
        let mut done = self.done.clone();
        let failures = done.borrow().failures;
        self.want(position);
        let reached = |done: &SyncProgress| done.position >= position || done.failures > failures;
        let reached = timeout(LONGEST, done.wait_for(reached)).await;
        let slow = || Error::Slow { path: self.path.clone(), seconds: LONGEST.as_secs() };
        let done = reached.map_err(|_| slow())?.map_err(|_| slow())?;
        match &done.error {
            Some(error) if done.position < position => {
                let source = io::Error::new(error.kind(), error.clone());
                Err(Error::file("bring to the disk", &self.path)(source))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for SyncThread {
    fn drop(&mut self) {
        self.wanted.0.lock().unwrap_or_else(PoisonError::into_inner).stop = true;
        self.wanted.1.notify_one();
    }
}

/// Waits until more is wanted than is done; `None` at the end.
fn next(wanted: &(Mutex<SyncRequest>, Condvar), done: JournalPosition) -> Option<()> {
    let guard = wanted.0.lock().unwrap_or_else(PoisonError::into_inner);
    let waits = |wanted: &mut SyncRequest| !wanted.stop && wanted.position <= done;
    let mut guard = wanted.1.wait_while(guard, waits).unwrap_or_else(PoisonError::into_inner);
    if guard.stop {
        return None;
    }
    // What fails is not tried again until somebody asks again.
    guard.position = (0, 0);
    Some(())
}

fn sync(journal: &Journal) -> io::Result<JournalPosition> {
    let Some((file, position)) = journal.position()? else { return Ok((0, 0)) };
    file.sync_data()?;
    Ok(position)
}
