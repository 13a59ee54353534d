//! Stops a tool's timeout while somebody is asked a question.

use std::sync::Arc;

use serde_json::{Map, Value, value::RawValue};
use switchboard_toolcall::{
    BoxFuture, CallerChannel, LogLevel, QuestionKind, ServerQuestions, ToolError,
};

use super::ToolActivity;

/// Wraps the caller's `CallerChannel` so that the timeout stops while a question is unanswered.
pub(super) fn ask_through(
    back: &Arc<dyn CallerChannel>,
    alive: &Arc<ToolActivity>,
) -> Arc<dyn CallerChannel> {
    Arc::new(TimedCallerChannel { back: back.clone(), alive: alive.clone() })
}

#[derive(Debug)]
struct TimedCallerChannel {
    back: Arc<dyn CallerChannel>,
    alive: Arc<ToolActivity>,
}

impl CallerChannel for TimedCallerChannel {
    fn answers(&self, kind: QuestionKind) -> bool {
        self.back.answers(kind)
    }

    fn ask(
        &self,
        questions: ServerQuestions,
    ) -> BoxFuture<'_, Result<Map<String, Value>, ToolError>> {
        Box::pin(async move {
            let _asking = UnansweredQuestion::begin(self.alive.clone());
            self.back.ask(questions).await
        })
    }

    fn pause(&self) -> Box<dyn Send> {
        Box::new(UnansweredQuestion::begin(self.alive.clone()))
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

/// An unanswered question.
struct UnansweredQuestion(Arc<ToolActivity>);

impl UnansweredQuestion {
    fn begin(alive: Arc<ToolActivity>) -> Self {
        alive.answers.begin();
        Self(alive)
    }
}

impl Drop for UnansweredQuestion {
    fn drop(&mut self) {
        self.0.answers.end();
        self.0.bell.notify_one();
    }
}
