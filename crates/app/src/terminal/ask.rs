//! Asks the person at the terminal, if there is one: questions on stderr, answers from stdin.

use std::{
    io::{self, BufRead, IsTerminal, Write},
    process, thread,
};

use super::guard::guarded;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::{
    runtime,
    signal::unix::{SignalKind, signal},
    sync::{Mutex, MutexGuard},
};

/// The exit status of a process that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// Whether there is somebody to ask.
pub(crate) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Waits until no other question is asked at this terminal; no other is asked until the guard is dropped.
pub(crate) async fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}

/// Asks and returns the answer without its line's end.
///
/// # Errors
/// Stdin is closed or cannot be read.
pub(crate) fn line(question: &str) -> io::Result<String> {
    let mut stderr = io::stderr().lock();
    stderr.write_all(guarded(question).as_bytes()).and_then(|()| stderr.flush())?;
    let mut answer = String::new();
    if io::stdin().lock().read_line(&mut answer)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(answer.trim_end_matches(['\n', '\r']).to_owned())
}

/// As [`line()`], but the answer is not echoed.
///
/// # Errors
/// As [`line()`].
pub(crate) fn secret(question: &str) -> io::Result<String> {
    let hidden = EchoOff::new()?;
    let answer = line(question);
    drop(hidden);
    // The newline was not echoed either.
    super::tell("\n");
    answer
}

/// As [`secret`], for a process that does nothing else: Ctrl-C ends it, and the terminal echoes again.
///
/// # Errors
/// As [`line()`].
pub(crate) fn secret_alone(question: &str) -> io::Result<String> {
    let before = tcgetattr(io::stdin())?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let mut interrupts = {
        let _inside = runtime.enter();
        signal(SignalKind::interrupt())?
    };
    thread::spawn(move || {
        runtime.block_on(interrupts.recv());
        _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
        // The caller of this function has locked stderr.
        _ = rustix::io::write(io::stderr(), b"\n");
        process::exit(INTERRUPTED);
    });
    secret(question)
}

/// The terminal does not echo until this is dropped.
struct EchoOff(Termios);

impl EchoOff {
    fn new() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &hidden)?;
        Ok(Self(before))
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to restore.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}
