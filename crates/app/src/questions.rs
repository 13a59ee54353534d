//! Questions that a server asks during a call, shown to the person at this terminal: values (elicitation), a page to
//! open, and whether the server may use the model (sampling).
//!
//! Text of the server is shown behind a bar on the left, so that it cannot pretend to be ours.

mod form;
mod page;
mod sampling;

use std::{fmt, io, sync::Arc};

use clap::ColorChoice;
use serde_json::{Map, Value};
use switchboard_mcp_wire::elicitation::{ElicitResult, Elicitation};
use switchboard_mcp_wire::server_request::{cannot_be_asked, cannot_be_shown};
use switchboard_runtime::validate::checker;
use switchboard_toolcall::{
    BoxFuture, CallerChannel, ErrorKind, QuestionKind, ServerQuestion, ServerQuestions, ToolError,
};

use crate::{
    model::ChosenModel,
    settings::LoadedConfig,
    terminal::{
        self, Paint, ask,
        keys::{KeyPress, KeyPresses},
        spinner::SpinnerPause,
        text,
    },
};

/// The model that servers may use, if the person allows it.
pub(crate) enum Sampler {
    /// The model of the conversation.
    Chosen(ChosenModel),
    /// The model that `switchboard ask` would use.
    Usual(Arc<LoadedConfig>),
    /// No model.
    None,
}

/// Returns the channel to the person at this terminal; `None` if there is nobody to ask.
pub(crate) fn here(sampler: Sampler) -> Option<Arc<dyn CallerChannel>> {
    ask::is_possible().then(|| Arc::new(TerminalAnswers { sampler }) as Arc<dyn CallerChannel>)
}

/// The person at this terminal.
struct TerminalAnswers {
    sampler: Sampler,
}

impl fmt::Debug for TerminalAnswers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtTerminal").finish_non_exhaustive()
    }
}

impl CallerChannel for TerminalAnswers {
    fn answers(&self, kind: QuestionKind) -> bool {
        match kind {
            QuestionKind::Elicit => true,
            QuestionKind::Sample => !matches!(self.sampler, Sampler::None),
            QuestionKind::Roots => false,
        }
    }

    fn ask(&self, asked: ServerQuestions) -> BoxFuture<'_, Result<Map<String, Value>, ToolError>> {
        Box::pin(async move {
            let mut answers = Map::new();
            for (key, question) in &asked.questions {
                if !self.answers(question.kind) {
                    let text = cannot_be_asked(&asked.server, question.kind);
                    return Err(ToolError::new(ErrorKind::ToolError, text));
                }
                let answer = self.one(&asked, question).await?;
                answers.insert(key.clone(), answer);
            }
            Ok(answers)
        })
    }
}

impl TerminalAnswers {
    async fn one(
        &self,
        asked: &ServerQuestions,
        ServerQuestion { kind, params }: &ServerQuestion,
    ) -> Result<Value, ToolError> {
        let _turn = ask::turn().await;
        let _pause = SpinnerPause::begin();
        let screen = QuestionScreen { paint: Paint::stderr(ColorChoice::Auto), asked };
        if *kind == QuestionKind::Sample {
            return sampling::ask(&screen, params, &self.sampler).await;
        }
        let elicitation = Elicitation::read(params, checker);
        let elicitation = elicitation.map_err(|reason| unshown(asked, *kind, &reason))?;
        let answer = match elicitation {
            Elicitation::Form(form) => form::ask(&screen, &form).await,
            Elicitation::Page(page) => page::ask(&screen, &page).await,
        };
        let answer = answer.map_err(gone)?;
        terminal::tell(&format!("  {}", outcome_text(&answer, screen.paint)));
        Ok(answer.into_json())
    }
}

/// Says how a question was answered.
fn outcome_text(answer: &ElicitResult, paint: Paint) -> String {
    match answer {
        ElicitResult::Accept(_) => paint.green("answered"),
        ElicitResult::Decline => paint.red("declined"),
        ElicitResult::Cancel => paint.yellow("cancelled"),
    }
}

/// How a question is shown, and who asks it.
struct QuestionScreen<'a> {
    paint: Paint,
    asked: &'a ServerQuestions,
}

impl QuestionScreen<'_> {
    /// The first lines of a question: who asks for what, and the server's message.
    fn opening(&self, what: &str, message: &str) -> String {
        let server = self.paint.bold(&text::one_line(&self.asked.server));
        let tool = text::one_line(&self.asked.tool);
        let during = match tool.is_empty() {
            true => String::new(),
            false => self.paint.dim(&format!(" (in the call of {tool})")),
        };
        let mark = self.paint.yellow("?");
        format!("\n{mark} MCP server {server} {what}{during}\n{}", self.quoted(message))
    }

    /// Text of the server behind a bar. Long lines are broken here: the terminal would continue them without the bar.
    fn quoted(&self, message: &str) -> String {
        let bar = self.paint.dim("│");
        let room = terminal::width().saturating_sub(4).max(20);
        let message = text::lines(message);
        let lines = message.lines().flat_map(|line| text::wrap(line, room));
        lines.map(|line| format!("  {bar} {line}\n")).collect()
    }

    /// Shows a question and these keys, and returns the key that was pressed; `c` for Ctrl-C and Escape.
    ///
    /// # Errors
    /// There is no terminal any more.
    async fn key(&self, question: &str, keys: &[(char, &str)]) -> io::Result<char> {
        let mut pressed = KeyPresses::open()?;
        let shown =
            keys.iter().map(|(key, rest)| format!("[{}]{rest}", self.paint.bold(&key.to_string())));
        let shown = shown.collect::<Vec<_>>().join(", ");
        terminal::tell(&format!("{question} {shown}"));
        loop {
            match pressed.next().await {
                KeyPress::Interrupt | KeyPress::End => return Ok('c'),
                KeyPress::Letter(letter) => {
                    let letter = letter.to_ascii_lowercase();
                    if keys.iter().any(|(key, _)| *key == letter) {
                        return Ok(letter);
                    }
                }
            }
        }
    }
}

/// The error for server and caller if a question cannot be shown.
fn unshown(asked: &ServerQuestions, kind: QuestionKind, reason: &str) -> ToolError {
    ToolError::new(ErrorKind::ToolError, cannot_be_shown(&asked.server, kind, reason))
}

/// The error if the terminal is closed during a question.
fn gone(error: io::Error) -> ToolError {
    ToolError::new(ErrorKind::ToolError, "nobody can be asked: the terminal is gone")
        .caused_by(error)
}
