//! What a server wrote to its stderr, across its restarts: the last lines, and those to come.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use tokio::sync::broadcast;

/// How many lines are kept.
const KEPT: usize = 200;

/// The last lines of a server's stderr.
pub struct StderrLog {
    kept: Mutex<VecDeque<StderrLine>>,
    live: broadcast::Sender<StderrLine>,
}

/// A line that a server wrote to its stderr.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StderrLine {
    /// When it was read.
    pub at: SystemTime,
    /// The text, without control characters and shortened if it is long.
    pub text: String,
}

impl Default for StderrLog {
    fn default() -> Self {
        Self { kept: Mutex::default(), live: broadcast::Sender::new(KEPT) }
    }
}

impl StderrLog {
    /// Returns the kept lines, oldest first.
    pub fn lines(&self) -> Vec<StderrLine> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().cloned().collect()
    }

    /// Returns the kept lines, and a receiver of further ones; no line is lost in between.
    pub fn follow(&self) -> (Vec<StderrLine>, broadcast::Receiver<StderrLine>) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        (kept.iter().cloned().collect(), self.live.subscribe())
    }

    pub(super) fn add(&self, text: &str) {
        let line = StderrLine { at: SystemTime::now(), text: text.to_owned() };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(line.clone());
        // There may be no subscriber.
        _ = self.live.send(line);
    }
}
