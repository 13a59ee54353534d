//! Shows that a call is running, once it takes longer than `PATIENCE`.

use std::{
    future::Future,
    io::{self, Write},
    iter::Cycle,
    slice::Iter,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tokio::time::{Instant, interval_at};

use super::{marks, text};

/// How long nothing is shown.
pub(crate) const PATIENCE: Duration = Duration::from_millis(150);
/// How long each frame is shown.
pub(crate) const STEP: Duration = Duration::from_millis(80);
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const CLEAR_LINE: &str = "\r\x1b[2K";

static IS_SHOWN: AtomicBool = AtomicBool::new(false);
static IS_PAUSED: AtomicBool = AtomicBool::new(false);

/// While this is held no spinner is shown: a question has its place.
pub(crate) struct SpinnerPause;

impl SpinnerPause {
    pub(crate) fn begin() -> Self {
        IS_PAUSED.store(true, Ordering::Relaxed);
        if IS_SHOWN.swap(false, Ordering::Relaxed) {
            draw(CLEAR_LINE);
        }
        Self
    }
}

impl Drop for SpinnerPause {
    fn drop(&mut self) {
        IS_PAUSED.store(false, Ordering::Relaxed);
    }
}

/// Returns what other lines on stderr must write first, so that they do not start after the spinner.
pub(crate) fn clear() -> &'static [u8] {
    if IS_SHOWN.load(Ordering::Relaxed) { CLEAR_LINE.as_bytes() } else { b"" }
}

/// Waits for `work`, with the spinner and what `label` says of it on stderr.
pub(crate) async fn watch<F: Future>(label: impl Fn() -> String, work: F) -> F::Output {
    let started = Instant::now();
    let mut steps = interval_at(started + PATIENCE, STEP);
    let mut spinner = Spinner::new();
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            output = &mut work => {
                spinner.hide();
                return output;
            }
            now = steps.tick() => spinner.show(&label(), now - started),
        }
    }
}

/// An animated last line on stderr. It is erased when this is dropped.
pub(crate) struct Spinner(Cycle<Iter<'static, &'static str>>);

impl Spinner {
    pub(crate) fn new() -> Self {
        Self(FRAMES.iter().cycle())
    }

    /// Shows the next frame, with the label and the elapsed time.
    pub(crate) fn show(&mut self, label: &str, elapsed: Duration) {
        if IS_PAUSED.load(Ordering::Relaxed) {
            return;
        }
        let label = text::one_line(label);
        let frame = self.0.next().unwrap_or(&"…");
        draw(&format!("{CLEAR_LINE}{frame} {label} {:.1}s", elapsed.as_secs_f32()));
        IS_SHOWN.store(true, Ordering::Relaxed);
    }

    /// Erases the line.
    pub(crate) fn hide(&self) {
        if IS_SHOWN.swap(false, Ordering::Relaxed) {
            draw(CLEAR_LINE);
        }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.hide();
    }
}

fn draw(text: &str) {
    let mut stderr = io::stderr().lock();
    // A spinner that cannot be shown must not fail the command.
    let text = marks::for_locale(text);
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}
