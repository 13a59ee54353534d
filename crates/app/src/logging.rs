//! Logs, always on stderr: stdout carries only results (SPEC EX-5, EX-6).

mod outlet;

use std::{
    borrow::Cow,
    io::{self, IsTerminal, Stderr, Write},
    sync::OnceLock,
};

use switchboard_runtime::redact;
use switchboard_toolcall::text;
use tracing::{Level, Metadata};
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use crate::{
    cli::{Cli, CliCommand},
    environment, terminal,
};
use outlet::Outlet;

/// The writer of log lines, once logging has started.
static OUTLET: OnceLock<Outlet<Stderr>> = OnceLock::new();

/// Starts logging at the level of `RUST_LOG`, or at the default level of the command.
pub(crate) fn start(cli: &Cli) {
    let runs_on = match cli.command {
        CliCommand::Serve(_)
        | CliCommand::Zwave(_)
        | CliCommand::Voice(_)
        | CliCommand::Worker(_) => true,
        CliCommand::Tools(_)
        | CliCommand::Servers(_)
        | CliCommand::Restart(_)
        | CliCommand::Logs(_)
        | CliCommand::Cluster(_)
        | CliCommand::Call(_)
        | CliCommand::Resources(_)
        | CliCommand::Prompts(_)
        | CliCommand::Ask(_)
        | CliCommand::Chat(_)
        | CliCommand::Runs(_)
        | CliCommand::Doctor(_)
        | CliCommand::Add(_)
        | CliCommand::Remove(_)
        | CliCommand::Enable(_)
        | CliCommand::Disable(_)
        | CliCommand::Init(_)
        | CliCommand::Connect(_)
        | CliCommand::Import(_)
        | CliCommand::Config(_)
        | CliCommand::Trust(_)
        | CliCommand::Lock(_)
        | CliCommand::Sandbox(_)
        | CliCommand::Token(_)
        | CliCommand::Secret(_)
        | CliCommand::Login(_)
        | CliCommand::Logout(_)
        | CliCommand::Calls(_)
        | CliCommand::Policy(_)
        | CliCommand::Profile(_)
        | CliCommand::Approve(_)
        | CliCommand::Completions(_)
        | CliCommand::Man(_)
        | CliCommand::Version => false,
    };
    let default = if runs_on { "info" } else { "warn" };
    // These report failures of servers, and what waits, themselves.
    let tells_of_servers = matches!(
        cli.command,
        CliCommand::Doctor(_) | CliCommand::Add(_) | CliCommand::Lock(_) | CliCommand::Trust(_)
    );
    // On a terminal `call` shows how the call ended, and the line of the log would say the same before it.
    let shows_outcome = matches!(cli.command, CliCommand::Call(_)) && io::stderr().is_terminal();
    let own = match (tells_of_servers, shows_outcome) {
        (true, _) => ",switchboard_mcp_client=error,switchboard_lock=error",
        (_, true) => ",switchboard_runtime::log=error",
        _ => "",
    };
    let asked = environment::variable("RUST_LOG").ok().filter(|level| !level.trim().is_empty());
    let filter = asked.as_deref().map(EnvFilter::try_new).transpose();
    let problem = filter.as_ref().err().map(ToString::to_string);
    // We log the state of connections to NATS ourselves.
    let usual = || EnvFilter::new(format!("{default},async_nats=error{own}"));
    let filter = filter.ok().flatten().unwrap_or_else(usual);
    let open = if runs_on { Outlet::keeping } else { Outlet::open };
    let outlet = OUTLET.get_or_init(|| open(io::stderr()));
    let is_coloured = terminal::colours(cli.color, &io::stderr());
    let lines = Lines { outlet, is_urgent: true, is_coloured, is_redacted: false };
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(lines);
    log.with_ansi(is_coloured).init();
    if let Some(problem) = problem {
        tracing::warn!("RUST_LOG is not understood ({problem}); the level is {default}");
    }
    // A panic of a tool becomes the error of its call; the details go to the log.
    std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
}

/// Writes the lines that wait; called before anything else is written to stderr, and at the end.
pub(crate) fn flush() {
    if let Some(outlet) = OUTLET.get() {
        // If stderr is closed, the error cannot be reported.
        let _ = outlet.flush();
    }
}

/// Writes each event as one line, whatever text it quotes, so that each line shows its level.
#[derive(Clone, Copy)]
struct Lines {
    outlet: &'static Outlet<Stderr>,
    is_urgent: bool,
    /// Whether the line has colours of ours.
    is_coloured: bool,
    /// Whether the event is redacted already: the events of calls are, field by field, where they are made.
    is_redacted: bool,
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        *self
    }

    fn make_writer_for(&'a self, event: &Metadata<'_>) -> Self {
        let is_redacted = event.target() == "switchboard_runtime::log";
        Self { is_urgent: *event.level() <= Level::WARN, is_redacted, ..*self }
    }
}

impl Write for Lines {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let length = event.len();
        let clear = terminal::spinner::clear();
        let guarded = str::from_utf8(event).map(|text| guarded(text, self.is_coloured));
        let event = guarded.as_ref().map_or(event, |guarded| guarded.as_bytes());
        let shown = if self.is_redacted { Cow::Borrowed(event) } else { redacted(event) };
        match is_one_line(&shown) && clear.is_empty() {
            true => self.outlet.line(&shown, self.is_urgent)?,
            false => {
                let line = [clear, &one_line(&shown)].concat();
                self.outlet.line(&line, self.is_urgent || !clear.is_empty())?;
            }
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.outlet.flush()
    }
}

/// Returns the event without control sequences for a terminal: `tracing-subscriber` leaves some of them in values.
fn guarded(event: &str, is_coloured: bool) -> Cow<'_, str> {
    let is_hidden = |c: char| text::is_hidden(c) && !matches!(c, '\n' | '\r' | '\t');
    match is_coloured {
        true => terminal::guard::guarded(event),
        false if event.contains(is_hidden) => terminal::text::lines(event).into(),
        false => Cow::Borrowed(event),
    }
}

/// Returns the event without secrets: whatever a library, a server or a panic wrote into it.
fn redacted(event: &[u8]) -> Cow<'_, [u8]> {
    let Ok(text) = str::from_utf8(event) else { return Cow::Borrowed(event) };
    let (text, newline) = text.strip_suffix('\n').map_or((text, ""), |text| (text, "\n"));
    match redact::text(text) {
        Cow::Borrowed(_) => Cow::Borrowed(event),
        Cow::Owned(text) => Cow::Owned((text + newline).into_bytes()),
    }
}

fn is_one_line(event: &[u8]) -> bool {
    memchr::memchr2(b'\n', b'\r', event).is_some_and(|first| first + 1 == event.len())
}

fn one_line(event: &[u8]) -> Vec<u8> {
    let event = event.strip_suffix(b"\n").unwrap_or(event);
    let mut line = Vec::with_capacity(event.len() + 1);
    for byte in event {
        match byte {
            b'\n' => line.extend(b"\\n"),
            b'\r' => line.extend(b"\\r"),
            other => line.push(*other),
        }
    }
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    // RC-3: a panic's text comes this way too.
    #[test]
    fn an_event_has_no_secrets() {
        let panic =
            b"ERROR panicked at a.rs:1:2:\nno luck with password=hunter2 and token: 1a2b3c4d5e\n";
        let shown = String::from_utf8(redacted(panic).into_owned()).unwrap();
        assert_eq!(
            shown,
            "ERROR panicked at a.rs:1:2:\nno luck with password=[redacted] and token: [redacted]\n"
        );
        assert!(matches!(redacted(b"INFO a basic tutorial\n"), Cow::Borrowed(_)));
    }

    // EX-5
    #[test]
    fn no_value_steers_a_terminal() {
        let event = "shown text=a\u{1b}[2J\u{9b}b\tc\u{202e}d\n";
        for is_coloured in [true, false] {
            let shown = guarded(event, is_coloured);
            assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{shown:?}");
        }
        let coloured = "\u{1b}[31mred\n";
        assert_eq!(guarded(coloured, true), coloured);
        assert!(!guarded(coloured, false).contains('\u{1b}'));
        assert!(matches!(guarded("INFO plain\n", false), Cow::Borrowed(_)));
    }

    #[test]
    fn an_event_is_one_line() {
        // EX-5
        assert_eq!(one_line(b"WARN a\nINFO forged\n"), b"WARN a\\nINFO forged\n");
        for (event, expected) in [("a\n", true), ("a\r\n", false), ("a\nb\n", false), ("a", false)]
        {
            assert_eq!(is_one_line(event.as_bytes()), expected, "{event:?}");
        }
        assert_eq!(one_line(b"plain\n"), b"plain\n");
    }
}
