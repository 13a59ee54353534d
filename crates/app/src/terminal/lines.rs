//! Lines, read from the terminal as they are typed. The terminal itself lets people correct them; Ctrl-C ends a line.

use std::io::{self, Write};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex};

use super::{guard::guarded, input::TerminalInput};

/// The character of Ctrl-C.
const INTERRUPT: u8 = 0x03;

/// What somebody typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TypedLine {
    /// A line, without its end.
    Text(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D, or the terminal is closed.
    End,
}

/// Lines as they are typed. Dropping this restores the terminal.
pub(crate) struct TypedLines(TerminalInput<TypedLine>);

impl TypedLines {
    /// Takes lines.
    ///
    /// # Errors
    /// Stdin is not a terminal.
    pub(crate) fn open() -> io::Result<Self> {
        let input = TerminalInput::open(
            |terminal| {
                terminal.local_modes.remove(LocalModes::ISIG);
                // Ctrl-C ends the line that it is typed into, and is its last character.
                terminal.special_codes[SpecialCodeIndex::VEOL] = INTERRUPT;
            },
            // The rest of an unfinished line is discarded.
            OptionalActions::Flush,
            read,
            |line| *line == TypedLine::End,
        );
        input.map(Self)
    }

    /// Shows a prompt and returns the line that is typed behind it.
    pub(crate) async fn ask(&mut self, prompt: &str) -> TypedLine {
        {
            let mut stderr = io::stderr().lock();
            // If the prompt cannot be shown, the terminal is gone, and reading ends, too.
            let _ = stderr.write_all(guarded(prompt).as_bytes()).and_then(|()| stderr.flush());
        }
        self.0.next().await.unwrap_or(TypedLine::End)
    }
}

fn read() -> TypedLine {
    // Bypasses the buffer of `io::stdin()`: `poll` does not see bytes in it. A terminal returns one line per read.
    let mut bytes = [0_u8; 4096];
    match rustix::io::read(io::stdin(), &mut bytes) {
        Ok(length @ 1..) => line(&bytes[..length]),
        _ => TypedLine::End,
    }
}

fn line(bytes: &[u8]) -> TypedLine {
    if bytes.ends_with(&[INTERRUPT]) {
        return TypedLine::Interrupt;
    }
    let text = String::from_utf8_lossy(bytes);
    TypedLine::Text(text.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctrl_c_ends_a_line_whatever_is_in_it() {
        assert_eq!(line(b"Ada \xc3\x84\n"), TypedLine::Text("Ada Ä".to_owned()));
        assert_eq!(line(b"\n"), TypedLine::Text(String::new()));
        assert_eq!(line(b"half a li\x03"), TypedLine::Interrupt);
    }
}
