//! Background work of a long-running process.
//!
//! One thread with the lowest priority feeds the index, so that calls go first. On full cores it may get nothing for seconds;
//! so a second thread, with the priority of calls, takes part as soon as the index is far behind (`catch_up.rs`).

mod catch_up;

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::Duration,
};

use tracing::{info, warn};

use super::StoreInner;
use crate::{
    config::Config,
    error::{Error, chain},
    journal::Journal,
    layout::Layout,
    reader::Reader,
    retention::{self, Compression},
};
use catch_up::CatchUp;

/// How often the index is updated.
const FEED: Duration = Duration::from_millis(500);
/// How many bytes go into the index in one transaction of the thread that may be stopped in the midst of it: others wait
/// for its end.
const STEP: u64 = 128 << 10;
/// How many bytes are fed before it looks whether it is to stop.
const ROUND: u64 = 1 << 20;
/// How many updates apart retention is applied: ten minutes.
const COLLECT: u64 = 1200;
/// How many updates apart it looks for segments to compress: ten seconds.
const COMPRESS: u64 = 20;

/// Stops the background thread when dropped.
pub(super) struct Upkeep(Arc<(Mutex<bool>, Condvar)>);

impl Upkeep {
    /// Starts the threads; `also` runs each time before retention is applied.
    pub(super) fn start(store: &StoreInner, also: Box<dyn FnMut() + Send>) -> Result<Self, Error> {
        let stop = Arc::<(Mutex<bool>, Condvar)>::default();
        let mut work = UpkeepWork {
            layout: store.layout.clone(),
            config: store.config.clone(),
            journal: store.journal.clone(),
            also,
            reader: None,
            compression: Compression::new(store.layout.clone()),
            is_compressing: false,
            is_well: true,
        };
        let mut catch_up = CatchUp::new(store.layout.clone());
        let stopped = stop.clone();
        let run = move || {
            give_way();
            let mut rounds = 0;
            let mut pause = FEED;
            while !waits(&stopped, pause) {
                let has_more = work.round(rounds);
                pause = if has_more { Duration::ZERO } else { FEED };
                rounds += u64::from(!has_more);
            }
        };
        let tried = Error::file("start a thread for", &store.layout.root);
        thread::Builder::new().name("audit-upkeep".to_owned()).spawn(run).map_err(tried)?;
        let stopped = stop.clone();
        let run = move || {
            let mut pause = FEED;
            while !waits(&stopped, pause) {
                pause = catch_up.round();
            }
        };
        let tried = Error::file("start a thread for", &store.layout.root);
        thread::Builder::new().name("audit-catch-up".to_owned()).spawn(run).map_err(tried)?;
        Ok(Self(stop))
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }
}

/// Lets calls go first: the index can wait, since every query updates it.
fn give_way() {
    let thread = rustix::thread::gettid();
    if let Err(error) = rustix::process::setpriority_process(Some(thread), 19) {
        tracing::debug!(%error, "the index is fed with the priority of calls");
    }
}

/// Waits for the next round. Returns `true` at the end.
fn waits(stop: &(Mutex<bool>, Condvar), pause: Duration) -> bool {
    let guard = stop.0.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = stop.1.wait_timeout_while(guard, pause, |stop| !*stop);
    *waited.unwrap_or_else(PoisonError::into_inner).0
}

struct UpkeepWork {
    layout: Layout,
    config: Config,
    journal: Arc<Journal>,
    also: Box<dyn FnMut() + Send>,
    reader: Option<Reader>,
    compression: Compression,
    /// Whether there may be more segments to compress.
    is_compressing: bool,
    is_well: bool,
}

impl UpkeepWork {
    /// Returns whether there is more to feed, or to compress.
    fn round(&mut self, rounds: u64) -> bool {
        let fed = self.journal.catch_up().and_then(|()| self.feed());
        let is_behind = fed.as_ref().is_ok_and(|is_behind| *is_behind);
        let mut done = fed.map(|_| ());
        // The first time after a few seconds: not everything at once when a process starts.
        if done.is_ok() && !is_behind && rounds % COLLECT == 8 {
            done = self.collect();
        }
        let is_time = self.is_compressing || rounds % COMPRESS == 4;
        self.is_compressing = false;
        if done.is_ok() && !is_behind && is_time && self.config.compress {
            done = self.compression.next().map(|found| self.is_compressing = found);
        }
        // Logged once, not twice a second.
        match &done {
            Err(cause) if self.is_well => {
                warn!(cause = chain(cause), "upkeep of the record store failed; retrying");
            }
            Ok(()) if !self.is_well => info!("upkeep of the record store works again"),
            _ => {}
        }
        self.is_well = done.is_ok();
        if !self.is_well {
            self.reader = None;
        }
        is_behind || self.is_compressing
    }

    /// Feeds a part. Returns whether there is more.
    fn feed(&mut self) -> Result<bool, Error> {
        let reader = match &mut self.reader {
            Some(reader) => reader,
            none => none.insert(Reader::open(self.layout.folder())?),
        };
        reader.feed_in_steps(STEP, ROUND)
    }

    fn collect(&mut self) -> Result<(), Error> {
        (self.also)();
        let collected = retention::gc(&self.layout.root, &self.config)?;
        if collected.segments + collected.calls + collected.artifacts > 0 {
            let retention::GcReport { segments, calls, artifacts, bytes, left } = collected;
            info!(segments, calls, artifacts, bytes, left, "old records were deleted");
        }
        Ok(())
    }
}
