//! Output for people: colours, widths, and a stdout that may be closed at any time.

pub(crate) mod ask;
pub(crate) mod guard;
pub(crate) mod json;
mod input;
pub(crate) mod keys;
pub(crate) mod lines;
pub(crate) mod marks;
pub(crate) mod progress;
pub(crate) mod spinner;
pub(crate) mod text;

use std::{
    borrow::Cow,
    error::Error,
    fmt,
    io::{self, ErrorKind, IsTerminal, Write},
    process::ExitCode,
};

use clap::ColorChoice;
use terminal_size::{Width, terminal_size};

use crate::{environment, interrupt::Interrupted, logging};

/// Whether to use colours on `stream`.
pub(crate) fn colours(choice: ColorChoice, stream: &impl IsTerminal) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => stream.is_terminal() && !is_dumb() && !environment::is_set("NO_COLOR"),
    }
}

/// How many columns there are to fill.
pub(crate) fn width() -> usize {
    terminal_size().map_or(80, |(Width(columns), _)| usize::from(columns))
}

/// Whether `TERM` says that the terminal can only write lines.
fn is_dumb() -> bool {
    environment::variable("TERM").is_ok_and(|kind| kind == "dumb")
}

/// Whether people watch what a command prints, so that a spinner helps.
pub(crate) fn is_watched(json: bool) -> bool {
    !json && io::stdout().is_terminal() && io::stderr().is_terminal() && !is_dumb()
}

/// Writes a result and a line's end to stdout.
///
/// # Errors
/// Writing fails. A pipe that its reader has closed, as `head` does, is not an error.
pub(crate) fn print(text: &str) -> Result<(), WriteError> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    write(&format!("{text}{end}"))
}

/// Writes text to stdout: byte for byte to a file or another program, on a terminal without control sequences.
///
/// # Errors
/// As [`print()`].
pub(crate) fn write(text: &str) -> Result<(), WriteError> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(for_stdout(text).as_bytes());
    match written.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(WriteError(error)),
        _ => Ok(()),
    }
}

/// Returns the text in the form that is written to stdout.
pub(crate) fn for_stdout(text: &str) -> Cow<'_, str> {
    if !io::stdout().is_terminal() {
        return Cow::Borrowed(text);
    }
    match guard::guarded(text) {
        Cow::Borrowed(text) => marks::for_locale(text),
        Cow::Owned(text) => Cow::Owned(marks::for_locale(&text).into_owned()),
    }
}

/// Writes a message for people to stderr; errors are ignored, because there is no other place for it.
pub(crate) fn tell(text: &str) {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    logging::flush();
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(spinner::clear());
    let text = format!("{}{end}", guard::guarded(text));
    let _ = stderr.write_all(marks::for_locale(&text).as_bytes());
}

/// Writing to stdout failed: neither wrong usage nor a wrong config.
#[derive(Debug)]
pub(crate) struct WriteError(io::Error);

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed to write to stdout")
    }
}

impl Error for WriteError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// The command failed, but neither by wrong usage nor by a wrong config.
#[derive(Debug)]
pub(crate) struct CommandFailed(pub(crate) String);

impl fmt::Display for CommandFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for CommandFailed {}

/// Prints the error with its causes to stderr, and returns the exit status.
pub(crate) fn report(error: &anyhow::Error, color: ColorChoice) -> ExitCode {
    let paint = Paint(colours(color, &io::stderr()));
    // Many errors quote text of servers or models.
    let error_text = text::lines(&format!("{error:#}"));
    tell(&format!("{} {error_text}", paint.bold_red("error:")));
    let failed =
        error.is::<WriteError>() || error.is::<CommandFailed>() || error.is::<Interrupted>();
    ExitCode::from(if failed { 1 } else { 2 })
}

/// Colours text, or leaves it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint(pub(crate) bool);

impl Paint {
    /// For stdout, as the user wants it.
    pub(crate) fn stdout(choice: ColorChoice) -> Self {
        Self(colours(choice, &io::stdout()))
    }

    /// For stderr, as the user wants it.
    pub(crate) fn stderr(choice: ColorChoice) -> Self {
        Self(colours(choice, &io::stderr()))
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.with("31", text)
    }

    pub(crate) fn bold_red(self, text: &str) -> String {
        self.with("1;31", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }

    pub(crate) fn blue(self, text: &str) -> String {
        self.with("34", text)
    }

    pub(crate) fn cyan(self, text: &str) -> String {
        self.with("36", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        match self.0 {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }
}
