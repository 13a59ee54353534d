//! What is typed at the terminal, read beside everything else that runs until nobody wants it any more.

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

/// How often the reader looks whether input is still wanted.
const LOOK: Duration = Duration::from_millis(50);

/// Input as it is typed, until this is dropped: then the terminal is as it was.
pub(super) struct TerminalInput<T> {
    before: Termios,
    /// What becomes of what was typed and not read when this is dropped.
    unread: OptionalActions,
    unwanted: Arc<AtomicBool>,
    typed: mpsc::UnboundedReceiver<T>,
}

impl<T: Send + 'static> TerminalInput<T> {
    /// Changes the terminal and takes what `read` reads from it, until that `is_last`. What was typed before counts for
    /// nothing: it was no answer.
    ///
    /// # Errors
    /// Stdin is no terminal.
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
        // Reading cannot be broken off; so nothing is read before something is there, nor after the last that is wanted.
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

    /// Returns what is typed next, or `None` after the last.
    pub(super) async fn next(&mut self) -> Option<T> {
        self.typed.recv().await
    }
}

impl<T> Drop for TerminalInput<T> {
    fn drop(&mut self) {
        self.unwanted.store(true, Ordering::Release);
        // A terminal that is gone needs no restoring.
        let _ = tcsetattr(io::stdin(), self.unread, &self.before);
    }
}

/// Returns whether something can be read from stdin; waits for it a moment.
fn is_there() -> io::Result<bool> {
    let stdin = io::stdin();
    let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
    let nanoseconds = i64::from(LOOK.subsec_nanos());
    let limit = Timespec { tv_sec: 0, tv_nsec: nanoseconds };
    Ok(poll(&mut watched, Some(&limit))? > 0)
}
