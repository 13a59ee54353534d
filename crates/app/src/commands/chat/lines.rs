//! Where lines come from: somebody who types, or a pipe.

use std::{
    io::{self, BufRead, IsTerminal},
    thread,
};

use anyhow::Context;
use rustyline::{Config, Editor, error::ReadlineError, history::MemHistory};
use tokio::{sync::mpsc, task::block_in_place};

use super::{history::History, store};
use crate::{interrupt::Interrupted, terminal};

const PROMPT: &str = "> ";

/// What comes next.
#[derive(Debug)]
pub(super) enum ChatLine {
    Text(String),
    End,
}

/// Lines, one after another.
pub(super) enum ChatInput {
    Editor(Box<LineEditor>),
    Piped(mpsc::Receiver<io::Result<String>>),
}

/// Somebody who types.
pub(super) struct LineEditor {
    editor: Editor<(), MemHistory>,
    history: History,
}

impl ChatInput {
    /// Reads from the terminal, with the history of typed lines; or plain stdin if that or stdout is not a terminal.
    pub(super) fn open() -> Self {
        let is_typed = io::stdin().is_terminal() && io::stdout().is_terminal();
        match is_typed.then(|| LineEditor::new(History::at(store::history_file()))) {
            Some(Ok(typed)) => Self::Editor(Box::new(typed)),
            Some(Err(_)) | None => Self::Piped(piped()),
        }
    }

    /// Whether somebody types.
    pub(super) fn is_typed(&self) -> bool {
        matches!(self, Self::Editor(_))
    }

    /// The next line.
    ///
    /// # Errors
    /// Stdin cannot be read, or Ctrl-C was pressed while reading from a pipe.
    pub(super) async fn next(&mut self) -> anyhow::Result<ChatLine> {
        match self {
            // Servers keep running on the runtime's other threads.
            Self::Editor(typed) => block_in_place(|| typed.next()),
            Self::Piped(lines) => tokio::select! {
                line = lines.recv() => match line.transpose().context("failed to read stdin")? {
                    Some(line) => Ok(ChatLine::Text(line)),
                    None => Ok(ChatLine::End),
                },
                _ = tokio::signal::ctrl_c() => Err(Interrupted.into()),
            },
        }
    }
}

impl LineEditor {
    fn new(history: History) -> rustyline::Result<Self> {
        let config = Config::builder().max_history_size(1000)?.build();
        let typed = MemHistory::with_config(&config);
        let mut editor = Editor::with_history(config, typed)?;
        for line in history.lines() {
            editor.add_history_entry(line)?;
        }
        Ok(Self { editor, history })
    }

    fn next(&mut self) -> anyhow::Result<ChatLine> {
        let mut was_interrupted = false;
        loop {
            match self.editor.readline(PROMPT) {
                Ok(line) => {
                    if !line.trim().is_empty() && self.editor.add_history_entry(&line)? {
                        self.history.add(&line);
                    }
                    return Ok(ChatLine::Text(line));
                }
                Err(ReadlineError::Interrupted) if was_interrupted => return Ok(ChatLine::End),
                Err(ReadlineError::Interrupted) => {
                    was_interrupted = true;
                    terminal::tell("Ctrl-C once more ends the chat");
                }
                Err(ReadlineError::Eof) => return Ok(ChatLine::End),
                Err(error) => return Err(error).context("failed to read the terminal"),
            }
        }
    }
}

/// Reads stdin on a thread of its own, so that Ctrl-C is heard meanwhile.
fn piped() -> mpsc::Receiver<io::Result<String>> {
    let (sender, lines) = mpsc::channel(1);
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            // Fails once the chat is over.
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
    });
    lines
}
