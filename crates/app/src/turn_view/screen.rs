//! Shows a turn: the answer on stdout, everything else on stderr.

use std::io::{self, IsTerminal};

use clap::ColorChoice;
use switchboard_agent::AgentEvent;

use super::{markdown::Markdown, status::TurnStatus};
use crate::terminal::{self, Paint, WriteError, text};

/// Shows a turn while it happens.
pub(crate) struct TurnScreen {
    answers: AnswerDisplay,
    /// Renders the text; `None` if it is shown as it is.
    markdown: Option<Markdown>,
    is_terminal: bool,
    /// Whether what was written to stdout ended its line.
    at_line_start: bool,
    /// `None` unless people watch.
    status: Option<TurnStatus>,
}

/// Whether the model's text is shown while it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerDisplay {
    /// As it arrives.
    Streamed,
    /// Later, by the caller, who gets it with the outcome.
    Later,
}

impl TurnScreen {
    /// Creates a screen; unless people watch, it shows only text.
    pub(crate) fn new(answers: AnswerDisplay, is_watched: bool, color: ColorChoice) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let is_laid_out = is_terminal && terminal::colours(color, &io::stdout());
        let is_watched = is_watched && io::stderr().is_terminal();
        Self {
            answers,
            markdown: is_laid_out.then(|| Markdown::for_width(terminal::width())),
            is_terminal,
            at_line_start: true,
            status: is_watched.then(|| TurnStatus::new(Paint::stderr(color))),
        }
    }

    /// Whether people watch.
    pub(crate) fn is_watched(&self) -> bool {
        self.status.is_some()
    }

    /// Starts a turn.
    pub(super) fn begin(&mut self) {
        if let Some(status) = &mut self.status {
            status.wait();
        }
    }

    /// Shows one thing that happened.
    pub(super) fn show(&mut self, event: AgentEvent) -> Result<(), WriteError> {
        match event {
            AgentEvent::Text(text) if self.answers == AnswerDisplay::Streamed => {
                return self.text(&text);
            }
            AgentEvent::Turn { .. } => {
                self.end_line()?;
                if let Some(status) = &mut self.status {
                    status.wait();
                }
            }
            other => {
                if let Some(status) = &mut self.status {
                    status.follow(other);
                }
            }
        }
        Ok(())
    }

    /// Updates the status line.
    pub(super) fn step(&mut self) {
        // Even if stdout is a pipe: `tee` may write to the same line.
        if let Some(status) = self.status.as_mut().filter(|_| self.at_line_start) {
            status.step();
        }
    }

    /// Ends the turn.
    pub(super) fn end(&mut self) -> Result<(), WriteError> {
        if let Some(status) = &mut self.status {
            status.hide();
        }
        self.end_line()
    }

    /// Prints an answer that was not shown while it came.
    pub(crate) fn print(&mut self, answer: &str) -> Result<(), WriteError> {
        self.text(answer)?;
        self.end_line()
    }

    fn text(&mut self, text: &str) -> Result<(), WriteError> {
        let shown = match &mut self.markdown {
            Some(markdown) => markdown.push(text),
            None if self.is_terminal => text::piece(text),
            None => text.to_owned(),
        };
        self.write(&shown)
    }

    fn end_line(&mut self) -> Result<(), WriteError> {
        let rest = self.markdown.as_mut().map(Markdown::finish).unwrap_or_default();
        self.write(&rest)?;
        if self.at_line_start { Ok(()) } else { self.write("\n") }
    }

    fn write(&mut self, text: &str) -> Result<(), WriteError> {
        if text.is_empty() {
            return Ok(());
        }
        if let Some(status) = &mut self.status {
            status.hide();
        }
        self.at_line_start = text.ends_with('\n');
        terminal::write(text)
    }
}
