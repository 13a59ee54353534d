//! The calls of a turn: those that run in one moving line, those that ended in a line each.

use std::time::Duration;

use serde_json::{Map, Value};
use switchboard_agent::AgentEvent;
use tokio::time::Instant;

use crate::terminal::{
    self, Paint, progress,
    spinner::{PATIENCE, Spinner},
    text,
};

/// How much of the arguments is shown.
const ARGUMENTS: usize = 48;

/// The state of a turn, shown on stderr.
pub(super) struct TurnStatus {
    paint: Paint,
    spinner: Spinner,
    /// When we began to wait for the model; `None` if we do not.
    waiting: Option<Instant>,
    /// Why we wait longer than usual, such as a retry.
    trouble: Option<String>,
    running: Vec<RunningCallLine>,
}

/// A call that runs.
struct RunningCallLine {
    id: String,
    name: String,
    arguments: String,
    started: Instant,
    /// Its last progress message.
    progress: String,
}

impl TurnStatus {
    pub(super) fn new(paint: Paint) -> Self {
        let spinner = Spinner::new();
        Self { paint, spinner, waiting: None, trouble: None, running: Vec::new() }
    }

    /// Starts waiting for the model.
    pub(super) fn wait(&mut self) {
        self.waiting = Some(Instant::now());
        self.trouble = None;
    }

    pub(super) fn hide(&mut self) {
        self.spinner.hide();
    }

    /// Updates the state from an event.
    pub(super) fn follow(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::CallStarted { id, name, args } => {
                let arguments = short_arguments(&args);
                let (started, progress) = (Instant::now(), String::new());
                self.running.push(RunningCallLine { id, name, arguments, started, progress });
            }
            AgentEvent::Progress { id, update } => {
                if let Some(call) = self.running.iter_mut().find(|call| call.id == id) {
                    call.progress = progress::render(&update);
                }
            }
            AgentEvent::CallFinished { id, name, outcome, content, elapsed, .. } => {
                let call = self.running.iter().position(|call| call.id == id);
                let arguments = call.map(|call| self.running.remove(call).arguments);
                let arguments = arguments.unwrap_or_default();
                terminal::tell(&self.line(&name, &arguments, outcome, &content, elapsed));
                self.wait();
            }
            // The log says what happened; this line says what is going on.
            AgentEvent::Retry { reason, .. } => self.trouble = Some(reason),
            _ => {}
        }
    }

    /// Shows what runs, or that the model is waited for.
    pub(super) fn step(&mut self) {
        let began = self.running.first().map(|call| call.started).or(self.waiting);
        let Some(elapsed) = began.map(|began| began.elapsed()) else { return };
        if elapsed < PATIENCE {
            return;
        }
        // A line that wraps cannot be erased again.
        let label = text::shorten(&self.label(), terminal::width().saturating_sub(12));
        self.spinner.show(&label, elapsed);
    }

    fn label(&self) -> String {
        let named = |call: &RunningCallLine| match call.progress.is_empty() {
            true => call.name.clone(),
            false => format!("{} ({})", call.name, call.progress),
        };
        match &self.running[..] {
            [] => match &self.trouble {
                Some(trouble) => format!("asking again: {trouble}"),
                None => "thinking".to_owned(),
            },
            [call] => format!("{} {}", named(call), call.arguments),
            calls => calls.iter().map(named).collect::<Vec<_>>().join(", "),
        }
    }

    /// `✓ math_eval {"expression":"2+2"} 0.01s`
    fn line(
        &self,
        name: &str,
        arguments: &str,
        outcome: &str,
        content: &str,
        took: Duration,
    ) -> String {
        let took = format!("{:.2}s", took.as_secs_f32());
        let line = format!("{} {took}", format_args!("{name} {arguments}").to_string().trim());
        if outcome == "ok" {
            let line = text::shorten(&line, terminal::width().saturating_sub(2));
            return format!("{} {}", self.paint.green("✓"), self.paint.dim(&line));
        }
        let line = text::shorten(&line, terminal::width().saturating_sub(2));
        let reason = text::shorten(content, terminal::width().saturating_sub(4));
        format!("{} {}\n    {}", self.paint.red("✗"), self.paint.dim(&line), reason)
    }
}

/// The arguments in few words.
fn short_arguments(args: &Map<String, Value>) -> String {
    if args.is_empty() {
        return String::new();
    }
    text::shorten(&Value::Object(args.clone()).to_string(), ARGUMENTS)
}
