//! The text of a model turn that did not complete.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use switchboard_models::AiMessage;
use switchboard_toolcall::time::unix_milliseconds;

use crate::{
    Conversation,
    runs::{LiveRun, RunLine},
};

/// The text of a turn as it is streamed. Dropped before the turn is complete, it is written down with the run: so it is known
/// how far the model came, whatever ended it.
pub(crate) struct PartialTurn {
    text: Mutex<String>,
    live: Option<Arc<LiveRun>>,
}

impl PartialTurn {
    /// Begins a turn; `live` is the file of its run, if it is recorded.
    pub(crate) fn new(live: Option<Arc<LiveRun>>) -> Self {
        Self { text: Mutex::default(), live }
    }

    /// Adds what was streamed.
    pub(crate) fn push(&self, text: &str) {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// The turn is complete, and is recorded as a whole.
    pub(crate) fn complete(mut self) {
        self.take();
    }

    /// Keeps what the user has read of a turn that was stopped, so that both remember the same. Every provider takes a message
    /// of plain text before the user's next one; a call that had begun is not in it, nor are thoughts without their signature.
    pub(crate) fn keep(self, conversation: &mut Conversation) {
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        if !text.trim().is_empty() {
            conversation.append(AiMessage::text(&*text));
        }
    }

    fn take(&mut self) -> String {
        mem::take(self.text.get_mut().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for PartialTurn {
    fn drop(&mut self) {
        let text = self.take();
        if let (Some(live), false) = (&self.live, text.trim().is_empty()) {
            // Written with the end of the run. Without it, what was said is lost, and nothing else.
            _ = live.add(&RunLine::Partial { text, at: unix_milliseconds() });
        }
    }
}
