//! Reads what is typed at the terminal on a thread of its own, until it is no longer wanted.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    termios::{OptionalActions, Termios, tcgetattr, tcsetattr},
};
use tokio::sync::mpsc;

/// How often the reader checks whether input is still wanted.
const LOOK: Duration = Duration::from_millis(50);

/// Input as it is typed. Dropping this restores the terminal.
pub(super) struct TerminalInput<T> {
    before: Termios,
    /// Whether unread input is discarded when this is dropped.
    unread: OptionalActions,
    unwanted: Arc<AtomicBool>,
    typed: mpsc::UnboundedReceiver<T>,
}

impl<T: Send + 'static> TerminalInput<T> {
    /// Changes the terminal's mode and takes inputs of `read` until one that `is_last`. Discards what was typed before: it
    /// was not an answer.
    ///
    /// # Errors
    /// Stdin is not a terminal.
    pub(super) fn open(
        change: impl FnOnce(&mut Termios),
        unread: OptionalActions,
        read: fn() -> T,
        is_last: fn(&T) -> bool,
    ) -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut changed = before.clone();
        change(&mut changed);
        tcsetattr(io::stdin(), OptionalActions::Flush, &changed)?;
        let unwanted = Arc::new(AtomicBool::new(false));
        let (sender, typed) = mpsc::unbounded_channel();
        let is_unwanted = unwanted.clone();
        // A read cannot be cancelled, so the thread reads only if input is available, and not after the last wanted input.
        thread::spawn(move || {
            while !is_unwanted.load(Ordering::Acquire) {
                match is_there() {
                    Ok(false) => {}
                    Ok(true) if is_unwanted.load(Ordering::Acquire) => return,
                    Ok(true) => {
                        let input = read();
                        let is_last = is_last(&input);
                        if sender.send(input).is_err() || is_last {
                            return;
                        }
                    }
                    Err(_) => return,
                }
            }
        });
        Ok(Self { before, unread, unwanted, typed })
    }

    /// Returns the next input; `None` after the last.
    pub(super) async fn next(&mut self) -> Option<T> {
        self.typed.recv().await
    }
}

impl<T> Drop for TerminalInput<T> {
    fn drop(&mut self) {
        self.unwanted.store(true, Ordering::Release);
        // If the terminal is gone, there is nothing to restore.
        let _ = tcsetattr(io::stdin(), self.unread, &self.before);
    }
}

/// Waits a moment for input, and returns whether stdin can be read without blocking.
fn is_there() -> io::Result<bool> {
    let stdin = io::stdin();
    let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
    let nanoseconds = i64::from(LOOK.subsec_nanos());
    let limit = Timespec { tv_sec: 0, tv_nsec: nanoseconds };
    Ok(poll(&mut watched, Some(&limit))? > 0)
}
