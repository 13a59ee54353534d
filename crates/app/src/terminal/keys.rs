//! Single keys, read from the terminal as they are pressed; Ctrl-C is one of them.

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
    termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr},
};
use tokio::sync::mpsc;

/// How often the reader looks whether keys are still wanted.
const LOOK: Duration = Duration::from_millis(50);

/// A key that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// A letter, or anything else with no meaning of its own.
    Letter(char),
    /// Ctrl-C, or Escape.
    Interrupt,
    /// Ctrl-D, or nobody is there any more.
    End,
}

/// Keys as they are pressed, until this is dropped: then the terminal is as it was.
pub(crate) struct Keys {
    before: Termios,
    unwanted: Arc<AtomicBool>,
    pressed: mpsc::UnboundedReceiver<Key>,
}

impl Keys {
    /// Takes keys one by one. What was typed before counts for nothing: it was no answer.
    ///
    /// # Errors
    /// Stdin is no terminal.
    pub(crate) fn open() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut single = before.clone();
        single.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        tcsetattr(io::stdin(), OptionalActions::Flush, &single)?;
        let unwanted = Arc::new(AtomicBool::new(false));
        let (sender, pressed) = mpsc::unbounded_channel();
        let told = unwanted.clone();
        // Reading cannot be broken off; so nothing is read before a key is there, nor after the last that is wanted.
        thread::spawn(move || {
            while !told.load(Ordering::Acquire) {
                match is_there() {
                    Ok(false) => {}
                    Ok(true) if told.load(Ordering::Acquire) => return,
                    Ok(true) => {
                        let key = read();
                        if sender.send(key).is_err() || key == Key::End {
                            return;
                        }
                    }
                    Err(_) => return,
                }
            }
        });
        Ok(Self { before, unwanted, pressed })
    }

    /// The next key.
    pub(crate) async fn next(&mut self) -> Key {
        self.pressed.recv().await.unwrap_or(Key::End)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.unwanted.store(true, Ordering::Release);
        // A terminal that is gone needs no restoring.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// Returns whether something can be read from stdin; waits for it a moment.
pub(super) fn is_there() -> io::Result<bool> {
    let stdin = io::stdin();
    let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
    let nanoseconds = i64::from(LOOK.subsec_nanos());
    let limit = Timespec { tv_sec: 0, tv_nsec: nanoseconds };
    Ok(poll(&mut watched, Some(&limit))? > 0)
}

fn read() -> Key {
    // Past the buffer of stdin: what lay in it would never be there for `poll`.
    let mut byte = [0_u8];
    match rustix::io::read(io::stdin(), &mut byte) {
        Ok(1) => match byte[0] {
            0x03 | 0x1b => Key::Interrupt,
            0x04 => Key::End,
            byte => Key::Letter(char::from(byte)),
        },
        _ => Key::End,
    }
}
