//! What the provider itself left out of a conversation, where it is asked to: told, recorded and kept like what we leave out.

use std::{collections::HashSet, sync::PoisonError};

use switchboard_models::{ContextEdits, Message};

use super::{ConversationEdit, ShortenedResult, SummarisedMessages, shorten};
use crate::{AgentEvent, Conversation, READ_RESULT, run::AgentRun};

impl AgentRun<'_> {
    /// Remembers what the provider said while it answered.
    pub(crate) fn note_provider_edits(&self, edits: ContextEdits) {
        let mut noted = self.fit.provider_edits.lock().unwrap_or_else(PoisonError::into_inner);
        *noted = Some(edits);
    }

    /// Tells and records what the provider left out of the request that it has answered, which had this conversation.
    pub(crate) async fn take_provider_edits(&mut self, conversation: &Conversation) {
        let noted = &self.fit.provider_edits;
        let noted = noted.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(edits) = noted else { return };
        let messages = conversation.messages();
        let cleared = self.keep_cleared(messages, edits.cleared_tool_uses).await;
        let mut said = Vec::new();
        if !cleared.is_empty() {
            said.push(match cleared.len() {
                1 => "1 result of a tool".to_owned(),
                many => format!("{many} results of tools"),
            });
        }
        for entry in cleared {
            self.record_edit(&ConversationEdit::Cleared(entry.clone()));
            self.fit.cleared.push(entry);
        }
        if edits.compacted {
            said.push("what was said before, of which it made a summary".to_owned());
            let json = serde_json::to_vec(messages).unwrap_or_default();
            if let Some(artifact) = self.keep(READ_RESULT, "application/json", json).await {
                let entry = SummarisedMessages { messages: messages.len(), artifact };
                self.record_edit(&ConversationEdit::Compacted(entry.clone()));
                self.fit.compacted.push(entry);
            }
        }
        if said.is_empty() {
            return;
        }
        let provider = self.agent.model.provider();
        let text = format!("{provider} left out {}; what it was is kept", said.join(", and "));
        tracing::warn!("{text}");
        (self.events)(AgentEvent::Warning(text));
    }

    /// Stores the oldest results, which the provider has cleared: it says how many they are, and takes them in their order.
    async fn keep_cleared(&self, messages: &[Message], many: usize) -> Vec<ShortenedResult> {
        let known: HashSet<_> =
            self.fit.cleared.iter().map(|entry| entry.tool_call_id.clone()).collect();
        let replies = messages.iter().enumerate().filter_map(|(place, message)| match message {
            Message::Tool(reply) => Some((place, reply)),
            _ => None,
        });
        let mut cleared = Vec::new();
        for (place, reply) in replies.take(many) {
            let tool_call_id = reply.tool_call_id.clone();
            if known.contains(&tool_call_id) {
                continue;
            }
            let name = shorten::name_of_call(messages, place, &tool_call_id);
            if let Some(artifact) = self.keep_whole(&tool_call_id, &name, &reply.content).await {
                cleared.push(ShortenedResult { tool_call_id, artifact });
            }
        }
        cleared
    }
}
