//! Somebody at this terminal, who is asked with one key for an answer. Who decides elsewhere meanwhile is heard too.

use std::sync::Arc;

use clap::ColorChoice;
use serde_json::Value;
use switchboard_approvals::{Desk, Error, Remember, Verdict};
use switchboard_runtime::{
    Approver, Ruling,
    approval::{Asked, Decision, Held, Question},
};
use switchboard_toolcall::BoxError;
use tokio::sync::Mutex;

use crate::{
    environment,
    terminal::{
        self, Paint, json,
        keys::{Key, Keys},
        spinner::Hush,
        text,
    },
};

/// How many lines of arguments are shown.
const LINES: usize = 24;

/// Somebody at this terminal.
pub(super) struct Person {
    desk: Arc<Desk>,
    /// One question at a time.
    terminal: Mutex<()>,
}

impl Person {
    pub(super) fn new(desk: Arc<Desk>) -> Self {
        Self { desk, terminal: Mutex::default() }
    }

    /// Asks at the terminal, and lays the answer on the desk as anybody would.
    async fn answer(&self, question: &Question, id: &str) -> Result<(), BoxError> {
        let _turn = self.terminal.lock().await;
        let _hush = Hush::begin();
        let paint = Paint::stderr(ColorChoice::Auto);
        // Before the question is there: what is typed at its sight is an answer.
        let mut keys = Keys::open()?;
        terminal::tell(&asked(question, paint));
        let verdict = loop {
            if let Some(verdict) = meant(keys.next().await) {
                break verdict;
            }
        };
        drop(keys);
        let said = match (verdict.allow, verdict.remember) {
            (true, None) => paint.green("allowed"),
            (true, Some(Remember::Arguments)) => {
                paint.green("allowed, and always with these arguments")
            }
            (true, Some(Remember::Tool)) => paint.green("allowed, and always from now on"),
            (false, _) => paint.red("denied"),
        };
        terminal::tell(&format!("  {said}"));
        match self.desk.decide(id, verdict) {
            Err(Error::NotRemembered(reason)) => {
                terminal::tell(&format!("{} not remembered: {reason}", paint.yellow("warning:")));
                Ok(())
            }
            // Whoever was faster has decided.
            Err(Error::Over { .. }) | Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Approver for Person {
    fn ask(&self, question: Question) -> Result<Asked<'_>, BoxError> {
        let shown = question.clone();
        let Held { id, expires, mut decision } = match self.desk.ask(question)? {
            Asked::Held(held) => held,
            other => return Ok(other),
        };
        let word = id.clone();
        let decision = Box::pin(async move {
            let answered = tokio::select! {
                biased;
                decision = &mut decision => {
                    tell_elsewhere(decision.as_ref().ok());
                    return decision;
                }
                answered = self.answer(&shown, &word) => answered,
            };
            answered?;
            decision.await
        });
        Ok(Asked::Held(Held { id, expires, decision }))
    }
}

/// The question was taken away before it was answered here.
fn tell_elsewhere(decision: Option<&Decision>) {
    let Some(decision) = decision else { return };
    let by = decision.by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
    terminal::tell(&match decision.ruling {
        Ruling::Allow => format!("  allowed elsewhere{by}"),
        Ruling::Deny => format!("  denied elsewhere{by}"),
        Ruling::Expired | Ruling::Withdrawn => "  too late".to_owned(),
    });
}

fn asked(question: &Question, paint: Paint) -> String {
    let tool = text::one_line(&question.tool);
    let arguments = serde_json::from_str::<Value>(&question.arguments);
    let arguments =
        arguments.map_or_else(|_| question.arguments.clone(), |value| json::pretty(&value, paint));
    let mut lines: Vec<_> = arguments.lines().map(|line| format!("    {line}")).collect();
    if lines.len() > LINES {
        let more = lines.len() - LINES;
        lines.truncate(LINES);
        lines.push(paint.dim(&format!("    … {more} more lines: `switchboard approve --json`")));
    }
    let rule = paint.dim(&format!("({})", text::one_line(&question.rule)));
    let key = |key: &str, rest: &str| format!("[{}]{rest}", paint.bold(key));
    let keys = [
        key("y", "es"),
        key("n", "o"),
        key("a", "lways with these arguments"),
        key("t", "his tool always"),
    ];
    format!(
        "\n{} {} wants to run {rule}\n{}\n  Allow it? {}",
        paint.yellow("?"),
        paint.bold(&tool),
        lines.join("\n"),
        keys.join(", ")
    )
}

/// What a key says; none where it says nothing.
fn meant(key: Key) -> Option<Verdict> {
    let (allow, remember) = match key {
        Key::Letter('y' | 'Y') => (true, None),
        Key::Letter('a' | 'A') => (true, Some(Remember::Arguments)),
        Key::Letter('t' | 'T') => (true, Some(Remember::Tool)),
        Key::Letter('n' | 'N') | Key::Interrupt | Key::End => (false, None),
        Key::Letter(_) => return None,
    };
    Some(Verdict { allow, by: who(), reason: None, remember })
}

/// Who sits at this terminal.
pub(crate) fn who() -> String {
    match environment::variable("USER").ok().filter(|name| !name.is_empty()) {
        Some(name) => format!("{name} at a terminal"),
        None => "somebody at a terminal".to_owned(),
    }
}
