//! Questions of a tool's, during which its time does not pass.

use std::sync::Arc;

use serde_json::{Map, Value, value::RawValue};
use switchboard_toolcall::{
    BoxFuture, LogLevel, QuestionKind, ServerQuestions, ToolError, WayBack,
};

use super::Alive;

/// The way back, noting while something is asked.
pub(super) fn ask_through(back: &Arc<dyn WayBack>, alive: &Arc<Alive>) -> Arc<dyn WayBack> {
    Arc::new(Patient { back: back.clone(), alive: alive.clone() })
}

#[derive(Debug)]
struct Patient {
    back: Arc<dyn WayBack>,
    alive: Arc<Alive>,
}

impl WayBack for Patient {
    fn answers(&self, kind: QuestionKind) -> bool {
        self.back.answers(kind)
    }

    fn ask(
        &self,
        questions: ServerQuestions,
    ) -> BoxFuture<'_, Result<Map<String, Value>, ToolError>> {
        Box::pin(async move {
            let _asking = Asking::begin(&self.alive);
            self.back.ask(questions).await
        })
    }

    fn declared(&self) -> Option<&Value> {
        self.back.declared()
    }

    fn notes(&self) -> Map<String, Value> {
        self.back.notes()
    }

    fn log_level(&self) -> Option<LogLevel> {
        self.back.log_level()
    }

    fn log(&self, level: LogLevel, message: &RawValue) {
        self.back.log(level, message);
    }

    fn session(&self) -> Option<&Arc<str>> {
        self.back.session()
    }
}

/// A question that is unanswered.
struct Asking<'a>(&'a Alive);

impl<'a> Asking<'a> {
    fn begin(alive: &'a Alive) -> Self {
        alive.answers.begin();
        Self(alive)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.answers.end();
        self.0.bell.notify_one();
    }
}
