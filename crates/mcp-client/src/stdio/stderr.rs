//! Reads the server's stderr: keeps the last lines, and forwards a limited number to our log (MC-4).

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use switchboard_mcp_wire::lines::{LineSplitter, WireLine};
use switchboard_process::excerpt::excerpt;
use tokio::{io::AsyncReadExt, process::ChildStderr, time::Instant};

use super::StdioShared;
use switchboard_process::guard::STARTED;

/// How many lines are kept.
const KEPT: usize = 50;

/// How much of a line is kept, in characters.
const WIDTH: usize = 500;

/// Longer lines are cut, in bytes.
const LONGEST: usize = 16 * 1024;

/// How many lines per second are forwarded to our log.
const LOGGED: u32 = 50;

/// The last lines.
#[derive(Default)]
pub(super) struct StderrTail(Mutex<VecDeque<String>>);

impl StderrTail {
    pub(super) fn lines(&self) -> Vec<String> {
        self.locked().iter().cloned().collect()
    }

    /// Removes and returns the last line, if `is_wanted` returns `true` for it.
    pub(super) fn take_last(&self, is_wanted: impl FnOnce(&str) -> bool) -> Option<String> {
        let mut lines = self.locked();
        match lines.back() {
            Some(line) if is_wanted(line) => lines.pop_back(),
            _ => None,
        }
    }

    fn add(&self, line: String) {
        let mut lines = self.locked();
        if lines.len() == KEPT {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    fn locked(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads until the server closes its stderr.
pub(super) async fn read(mut stderr: ChildStderr, shared: Arc<StdioShared>) {
    let mut forward = StderrForwarder { since: Instant::now(), passed: 0, left_out: 0 };
    let mut lines = LineSplitter::new(LONGEST);
    while stderr.read_buf(lines.room()).await.is_ok_and(|length| length > 0) {
        while let Some(line) = lines.next() {
            shared.hear(&line, &mut forward);
        }
    }
    if let Some(line) = lines.finish() {
        shared.hear(&line, &mut forward);
    }
    forward.say_left_out(&shared.name);
}

impl StdioShared {
    fn hear(&self, line: &WireLine<'_>, forward: &mut StderrForwarder) {
        let bytes = match line {
            WireLine::Whole(line) => line,
            WireLine::TooLong(line) => line.head.as_slice(),
        };
        if let Some(group) = bytes.strip_prefix(STARTED.as_bytes()) {
            return self.group.learn(group);
        }
        let line = excerpt(bytes, WIDTH);
        if !line.trim().is_empty() {
            forward.pass(&self.name, &line);
            if let Some(log) = &self.log {
                log.add(&line);
            }
            self.tail.add(line);
        }
    }
}

/// Forwards lines to our log, up to a number per second.
struct StderrForwarder {
    since: Instant,
    passed: u32,
    left_out: u64,
}

impl StderrForwarder {
    fn pass(&mut self, server: &str, line: &str) {
        if self.since.elapsed() >= Duration::from_secs(1) {
            self.say_left_out(server);
            *self = Self { since: Instant::now(), passed: 0, left_out: 0 };
        }
        if self.passed < LOGGED {
            self.passed += 1;
            tracing::debug!(%server, line, "server stderr");
        } else {
            self.left_out += 1;
        }
    }

    fn say_left_out(&self, server: &str) {
        if self.left_out > 0 {
            tracing::debug!(%server, lines = self.left_out, "server stderr: lines left out");
        }
    }
}
