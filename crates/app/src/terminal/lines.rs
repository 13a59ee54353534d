//! Lines, read from the terminal as they are typed. The terminal itself lets people correct them; Ctrl-C ends a line.

use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use tokio::sync::mpsc;

use super::{guard::guarded, keys::is_there};

/// What Ctrl-C types.
const INTERRUPT: u8 = 0x03;

/// What somebody typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line, without its end.
    Text(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D, or nobody is there any more.
    End,
}

/// Lines as they are typed, until this is dropped: then the terminal is as it was.
pub(crate) struct Lines {
    before: Termios,
    unwanted: Arc<AtomicBool>,
    typed: mpsc::UnboundedReceiver<Line>,
}

impl Lines {
    /// Takes lines. What was typed before counts for nothing: it was no answer.
    ///
    /// # Errors
    /// Stdin is no terminal.
    pub(crate) fn open() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut lines = before.clone();
        lines.local_modes.remove(LocalModes::ISIG);
        // Ctrl-C ends the line that it is typed into, and is its last character.
        lines.special_codes[SpecialCodeIndex::VEOL] = INTERRUPT;
        tcsetattr(io::stdin(), OptionalActions::Flush, &lines)?;
        let unwanted = Arc::new(AtomicBool::new(false));
        let (sender, typed) = mpsc::unbounded_channel();
        let told = unwanted.clone();
        // Reading cannot be broken off; so nothing is read before a line is there, nor after the last that is wanted.
        thread::spawn(move || {
            while !told.load(Ordering::Acquire) {
                match is_there() {
                    Ok(false) => {}
                    Ok(true) if told.load(Ordering::Acquire) => return,
                    Ok(true) => {
                        let line = read();
                        let is_last = line == Line::End;
                        if sender.send(line).is_err() || is_last {
                            return;
                        }
                    }
                    Err(_) => return,
                }
            }
        });
        Ok(Self { before, unwanted, typed })
    }

    /// Shows a prompt and returns the line that is typed behind it.
    pub(crate) async fn ask(&mut self, prompt: &str) -> Line {
        {
            let mut stderr = io::stderr().lock();
            // Where nothing can be shown, nothing can be typed either.
            let _ = stderr.write_all(guarded(prompt).as_bytes()).and_then(|()| stderr.flush());
        }
        self.typed.recv().await.unwrap_or(Line::End)
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.unwanted.store(true, Ordering::Release);
        // A terminal that is gone needs no restoring. What is left of a line is nobody's.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}

fn read() -> Line {
    // Past the buffer of stdin: what lay in it would never be there for `poll`. A terminal gives one line at a time.
    let mut bytes = [0_u8; 4096];
    match rustix::io::read(io::stdin(), &mut bytes) {
        Ok(length @ 1..) => line(&bytes[..length]),
        _ => Line::End,
    }
}

fn line(bytes: &[u8]) -> Line {
    if bytes.ends_with(&[INTERRUPT]) {
        return Line::Interrupt;
    }
    let text = String::from_utf8_lossy(bytes);
    Line::Text(text.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctrl_c_ends_a_line_whatever_is_in_it() {
        assert_eq!(line(b"Ada \xc3\x84\n"), Line::Text("Ada Ä".to_owned()));
        assert_eq!(line(b"\n"), Line::Text(String::new()));
        assert_eq!(line(b"half a li\x03"), Line::Interrupt);
    }
}
