//! Shows that a call is under way, once that takes long enough to wonder.

use std::{
    future::Future,
    io::{self, Write},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tokio::time::{Instant, interval_at};

const PATIENCE: Duration = Duration::from_millis(150);
const STEP: Duration = Duration::from_millis(80);
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const CLEAR_LINE: &str = "\r\x1b[2K";

static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// What other lines on stderr must write first, so that they do not start behind the spinner.
pub(crate) fn clear() -> &'static [u8] {
    if IS_SHOWN.load(Ordering::Relaxed) { CLEAR_LINE.as_bytes() } else { b"" }
}

/// Waits for `work`, with the spinner and what `label` says of it on stderr.
pub(crate) async fn watch<F: Future>(label: impl Fn() -> String, work: F) -> F::Output {
    let started = Instant::now();
    let mut steps = interval_at(started + PATIENCE, STEP);
    let mut frames = FRAMES.iter().cycle();
    let shown = Shown;
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            output = &mut work => {
                drop(shown);
                return output;
            }
            now = steps.tick() => {
                let seconds = (now - started).as_secs_f32();
                let frame = frames.next().unwrap_or(&"…");
                draw(&format!("{CLEAR_LINE}{frame} {} {seconds:.1}s", label()));
                IS_SHOWN.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// Takes the spinner away at the end, whatever the end is.
struct Shown;

impl Drop for Shown {
    fn drop(&mut self) {
        if IS_SHOWN.swap(false, Ordering::Relaxed) {
            draw(CLEAR_LINE);
        }
    }
}

fn draw(text: &str) {
    let mut stderr = io::stderr().lock();
    // A spinner that cannot be shown is no reason to fail.
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}
