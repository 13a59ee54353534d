//! Single keys, read from the terminal as they are pressed; Ctrl-C is one of them.

use std::io;

use rustix::termios::{LocalModes, OptionalActions};

use super::input::TerminalInput;

/// A key that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyPress {
    /// A letter, or anything else with no meaning of its own.
    Letter(char),
    /// Ctrl-C, or Escape.
    Interrupt,
    /// Ctrl-D, or the terminal is closed.
    End,
}

/// Keys as they are pressed. Dropping this restores the terminal.
pub(crate) struct KeyPresses(TerminalInput<KeyPress>);

impl KeyPresses {
    /// Takes keys one by one.
    ///
    /// # Errors
    /// Stdin is not a terminal.
    pub(crate) fn open() -> io::Result<Self> {
        let single = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        let input = TerminalInput::open(
            |terminal| terminal.local_modes.remove(single),
            OptionalActions::Now,
            read,
            |key| *key == KeyPress::End,
        );
        input.map(Self)
    }

    /// The next key.
    pub(crate) async fn next(&mut self) -> KeyPress {
        self.0.next().await.unwrap_or(KeyPress::End)
    }
}

fn read() -> KeyPress {
    // Bypasses the buffer of `io::stdin()`: `poll` does not see bytes in it.
    let mut byte = [0_u8];
    match rustix::io::read(io::stdin(), &mut byte) {
        Ok(1) => match byte[0] {
            0x03 | 0x1b => KeyPress::Interrupt,
            0x04 => KeyPress::End,
            byte => KeyPress::Letter(char::from(byte)),
        },
        _ => KeyPress::End,
    }
}
