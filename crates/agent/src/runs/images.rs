//! The images of a run, of which the record has only the number.

use serde::{Deserialize, Serialize};
use switchboard_models::Message;

use super::RecordedRun;

/// How many images a run had that its record does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageCounts {
    /// Those of the question and of what was said before it.
    pub asked: usize,
    /// Those that tools returned.
    pub returned: usize,
}

impl ImageCounts {
    pub(super) fn of(run: &RecordedRun) -> Self {
        let images = |message: &Message| match message {
            Message::User(said) => said.images.len(),
            Message::Tool(reply) => reply.images.len(),
            Message::System(_) | Message::Ai(_) => 0,
        };
        let replies = run.turns.iter().flat_map(|turn| turn.replies.values());
        Self {
            asked: run.start.messages.iter().map(images).sum(),
            returned: replies.map(|reply| reply.images.len()).sum(),
        }
    }
}
