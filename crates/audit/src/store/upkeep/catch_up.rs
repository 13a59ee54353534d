//! Keeps the index near the journal while calls leave the upkeep thread no time.

use std::time::Duration;

use tokio::time::Instant;
use tracing::debug;

use super::FEED;
use crate::{error::Error, index::CallIndex, layout::Layout};

/// How many bytes the index may be behind before this takes part: with 10,000 calls a second, half a second of them.
const MOST_BEHIND: u64 = 2 << 20;
/// How many bytes are fed before it rests.
const ROUND: u64 = 4 << 20;
/// How many bytes of them in one transaction.
const STEP: u64 = 1 << 20;

/// Feeds the index if it is far behind.
pub(super) struct CatchUp {
    layout: Layout,
    index: Option<CallIndex>,
}

impl CatchUp {
    pub(super) fn new(layout: Layout) -> Self {
        Self { layout, index: None }
    }

    /// Feeds a part if the index is far behind. Returns when the next round is due: as much later as this one took, so that
    /// at most half a core is taken from calls.
    pub(super) fn round(&mut self) -> Duration {
        let started = Instant::now();
        match self.feed() {
            Ok(true) => started.elapsed(),
            Ok(false) => FEED,
            Err(error) => {
                // The upkeep thread meets the same error, and warns.
                debug!(%error, "the index could not be fed");
                self.index = None;
                FEED
            }
        }
    }

    /// Returns whether the index was far behind, and is less so now.
    fn feed(&mut self) -> Result<bool, Error> {
        if self.index.is_none() && !self.layout.exists()? {
            return Ok(false);
        }
        let index = match &mut self.index {
            Some(index) => index,
            none => none.insert(CallIndex::open(&self.layout)?),
        };
        // A damaged line is never fed.
        Ok(index.behind()? > MOST_BEHIND && index.feed_in_steps(STEP, ROUND)? > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::Arc, thread};

    use switchboard_toolcall::CallId;

    use super::*;
    use crate::{config::Config, journal::Journal, line::LineBody, store::Store};

    /// Writes calls until the journal has so many bytes.
    fn write(layout: &Layout, bytes: u64) {
        let journal = Arc::new(Journal::new(layout.clone()));
        let segment = layout.segment(1);
        while fs::metadata(&segment).map_or(0, |file| file.len()) < bytes {
            for _ in 0..500 {
                let id = CallId::generate();
                if let Ok(crate::journal::LineWrite::Pending(opened)) =
                    journal.open(id, LineBody::new("open", id), 1)
                {
                    opened.blocking_recv().unwrap().unwrap();
                }
                journal.close(id, LineBody::new("end", id));
            }
        }
        journal.shut_down();
    }

    // RC-2
    #[test]
    fn an_index_that_is_far_behind_is_fed_by_parts_until_it_is_near() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().join("store"));
        let mut catch_up = CatchUp::new(layout.clone());
        assert!(!catch_up.feed().unwrap(), "there is nothing yet");
        write(&layout, ROUND + MOST_BEHIND + 1);
        let behind = |catch_up: &CatchUp| catch_up.index.as_ref().unwrap().behind().unwrap();
        assert!(catch_up.feed().unwrap());
        let left = behind(&catch_up);
        assert!((1..=MOST_BEHIND + 1).contains(&left), "a round, and not more: {left}");
        write(&layout, ROUND + 2 * MOST_BEHIND);
        while catch_up.feed().unwrap() {}
        assert!(behind(&catch_up) <= MOST_BEHIND);
    }

    // RC-2: the thread that feeds the index lets calls go first; the one that takes part when it is late does not.
    #[cfg(target_os = "linux")]
    #[test]
    fn who_is_late_does_not_give_way() {
        let nice = |name: &str| {
            let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
            let mut threads = threads.filter(|thread| {
                let is_named = fs::read_to_string(thread.path().join("comm"));
                is_named.is_ok_and(|found| found.trim() == name)
            });
            let status = fs::read_to_string(threads.next()?.path().join("stat")).ok()?;
            let mut fields = status.rsplit(") ").next()?.split(' ');
            fields.nth(16)?.parse::<i32>().ok()
        };
        let own = rustix::process::getpriority_process(None).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Config::default(), folder.path().join("store"));
        store.start_upkeep().unwrap();
        while nice("audit-upkeep") != Some(19) || nice("audit-catch-up").is_none() {
            thread::yield_now();
        }
        assert_eq!(nice("audit-catch-up"), Some(own));
    }
}
