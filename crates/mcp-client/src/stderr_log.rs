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
pub struct StderrLine {
    /// When it was read.
    pub at: SystemTime,
    /// What it says, without control characters, and cut where it is long.
    pub text: String,
}

impl Default for StderrLog {
    fn default() -> Self {
        Self { kept: Mutex::default(), live: broadcast::Sender::new(KEPT) }
    }
}

impl StderrLog {
    /// The lines that are kept, oldest first.
    pub fn lines(&self) -> Vec<StderrLine> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().cloned().collect()
    }

    /// The lines that are kept, and those to come; none is missing between them.
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
        // Nobody may be listening.
        _ = self.live.send(line);
    }
}
