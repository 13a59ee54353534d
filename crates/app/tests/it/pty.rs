//! A terminal of the test's own, so that the binary believes that a person watches.

use std::{
    fs::File,
    io::{Read, Write},
    os::fd::OwnedFd,
    process::{Child, Command},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};

use rustix::{
    fs::{Mode, OFlags},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, tcgetattr},
};

use crate::fixture::wait_until;

/// What a run showed on its terminal, stdout and stderr together.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) status: i32,
    pub(crate) text: String,
}

/// Runs the command on a terminal. Each pair is typed as soon as its first text is shown.
pub(crate) fn run(command: Command, typed: &[(&str, &str)]) -> Shown {
    let mut terminal = start(command);
    for (question, answer) in typed {
        terminal.shows(question);
        terminal.keyboard.write_all(answer.as_bytes()).unwrap();
    }
    terminal.ended()
}

/// Starts the command on a terminal, its stdin included.
pub(crate) fn start(mut command: Command) -> Terminal {
    let (keyboard, terminal) = open();
    command.stdin(terminal.try_clone().unwrap());
    Terminal::on(command, keyboard, terminal)
}

/// Runs the command on a terminal, with the stdin that it has.
pub(crate) fn run_without_keyboard(command: Command) -> Shown {
    Terminal::start(command).ended()
}

/// A terminal and what runs on it.
pub(crate) struct Terminal {
    child: Child,
    keyboard: File,
    shown: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    /// Starts the command with its stdout and stderr on a terminal.
    pub(crate) fn start(command: Command) -> Self {
        let (keyboard, terminal) = open();
        Self::on(command, keyboard, terminal)
    }

    fn on(mut command: Command, keyboard: File, terminal: OwnedFd) -> Self {
        command.stdout(terminal.try_clone().unwrap()).stderr(terminal).env("TERM", "xterm");
        let child = command.spawn().unwrap();
        // The terminal is closed when nobody has it any more, and only then does reading end.
        drop(command);
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut screen, so_far) = (keyboard.try_clone().unwrap(), Arc::clone(&shown));
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Linux ends with an error where others end with nothing.
            while let Ok(read @ 1..) = screen.read(&mut buffer) {
                so_far.lock().unwrap().extend_from_slice(&buffer[..read]);
            }
        });
        Self { child, keyboard, shown, reader }
    }

    /// Waits until the text is shown.
    pub(crate) fn shows(&self, text: &str) {
        wait_until(text, || self.so_far().contains(text));
    }

    /// Whether it shows what is typed.
    pub(crate) fn echoes(&self) -> bool {
        tcgetattr(&self.keyboard).unwrap().local_modes.contains(LocalModes::ECHO)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> Shown {
        let status = self.child.wait().unwrap().code().unwrap_or(-1);
        // Bytes that are no text show themselves as what they are replaced with.
        let Self { shown, reader, .. } = self;
        reader.join().unwrap();
        let text = String::from_utf8_lossy(&shown.lock().unwrap()).into_owned();
        Shown { status, text }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }
}

/// Opens a terminal: the side of the test and the side of the program.
fn open() -> (File, OwnedFd) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = rustix::fs::open(&*name, flags, Mode::empty()).unwrap();
    (File::from(ours), theirs)
}
