//! Lines, read from the terminal as they are typed. The terminal itself lets people correct them; Ctrl-C ends a line.

use std::io::{self, Write};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex};

use super::{guard::guarded, input::TerminalInput};

/// What Ctrl-C types.
const INTERRUPT: u8 = 0x03;

/// What somebody typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TypedLine {
    /// A line, without its end.
    Text(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D, or nobody is there any more.
    End,
}

/// Lines as they are typed, until this is dropped: then the terminal is as it was.
pub(crate) struct TypedLines(TerminalInput<TypedLine>);

impl TypedLines {
    /// Takes lines.
    ///
    /// # Errors
    /// Stdin is no terminal.
    pub(crate) fn open() -> io::Result<Self> {
        let input = TerminalInput::open(
            |terminal| {
                terminal.local_modes.remove(LocalModes::ISIG);
                // Ctrl-C ends the line that it is typed into, and is its last character.
                terminal.special_codes[SpecialCodeIndex::VEOL] = INTERRUPT;
            },
            // What is left of a line is nobody's.
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
            // Where nothing can be shown, nothing can be typed either.
            let _ = stderr.write_all(guarded(prompt).as_bytes()).and_then(|()| stderr.flush());
        }
        self.0.next().await.unwrap_or(TypedLine::End)
    }
}

fn read() -> TypedLine {
    // Past the buffer of stdin: what lay in it would never be there for `poll`. A terminal gives one line at a time.
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
