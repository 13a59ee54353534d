//! Turns that become a summary.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use switchboard_models::{Arguments, FailureKind, Message, ModelError, Request, ToolChoice, Usage};

use super::{ConversationEdit, SummarisedMessages, estimate};
use crate::{Conversation, offered_tools::shortened_line, run::AgentRun};

/// How many of the last turns stay as they are.
const KEPT: usize = 2;

/// The most tokens of a summary, and the part of the room that it may take.
const MOST_TOKENS: u64 = 1_500;
const PART: u64 = 6;

/// How many characters of a message the model that summarises gets at most.
const OF_MESSAGE: usize = 4_000;

/// How many characters of a message are in a summary that no model made.
const OF_LINE: usize = 120;

/// The beginning of every summary.
pub(super) const BEGINNING: &str = "[Summary of ";

/// What the model is told that summarises.
const TASK: &str = "You shorten the beginning of a conversation between a user, an assistant and its tools, so that the assistant \
can go on with it. Keep what was asked, what was decided, every name, number, path and id that may be needed again, and which \
calls of tools succeeded or failed, so that none of them is made twice. Leave out greetings and repetitions. Answer with the \
summary alone.";

/// Turns that became a summary.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SummarisedTurns {
    /// The positions of the messages, when they were in the conversation.
    pub(crate) removed: Vec<usize>,
    /// The message in their place.
    pub(crate) text: String,
    pub(crate) artifact: String,
    pub(crate) usage: Usage,
    /// What it cost, if the model that made it has a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cost: Option<f64>,
}

impl SummarisedTurns {
    /// Returns what is told of it.
    pub(crate) fn entry(&self) -> SummarisedMessages {
        SummarisedMessages { messages: self.removed.len(), artifact: self.artifact.clone() }
    }
}

impl AgentRun<'_> {
    /// Replaces the oldest turns by a summary, so that about `excess` tokens are saved.
    pub(super) async fn summarise(
        &mut self,
        conversation: &mut Conversation,
        excess: u64,
        available: u64,
    ) {
        let most = (available / PART).min(MOST_TOKENS);
        let removed = self.removable(conversation.messages(), excess + most);
        // One message alone may be an earlier summary.
        if removed.len() < 2 {
            return;
        }
        let messages: Vec<Message> =
            removed.iter().map(|place| conversation.messages()[*place].clone()).collect();
        let json = serde_json::to_vec(&messages).unwrap_or_default();
        let kept = self.keep(crate::READ_RESULT, "application/json", json).await;
        let Some(artifact) = kept else { return };
        let (summary, usage) = match self.ask_for_summary(&messages, most, available).await {
            Ok(summary) => summary,
            Err(error) => {
                tracing::info!(%error, "the oldest turns are listed, because no model gave a summary of them");
                (list(&messages, most), Usage::default())
            }
        };
        let search = self.search.as_ref();
        let found = search.map(|search| search.line_for_summary(self.agent, &messages));
        let found = found.unwrap_or_default();
        let text = format!(
            "{BEGINNING}{} earlier messages, left out to fit; read_result {{\"id\":\"{artifact}\"}} has them whole]\n{found}{summary}",
            messages.len()
        );
        let model = self.agent.summariser.as_ref().unwrap_or(&self.agent.model);
        let price = model.price().or_else(|| self.agent.model.price());
        let cost = price.map(|price| price.cost(usage));
        let edit = SummarisedTurns { removed, text, artifact, usage, cost };
        self.record_edit(&ConversationEdit::Summarised(edit.clone()));
        self.redo_summarised(edit, conversation);
    }

    pub(super) fn redo_summarised(
        &mut self,
        edit: SummarisedTurns,
        conversation: &mut Conversation,
    ) {
        self.fit.summarised.push(edit.entry());
        self.fit.usage += edit.usage;
        self.fit.cost += edit.cost.unwrap_or_default();
        conversation.summarise(&edit.removed, edit.text);
    }

    /// Returns the positions of the oldest messages that may be removed and have about this many tokens.
    fn removable(&self, messages: &[Message], tokens: u64) -> Vec<usize> {
        let last_question = messages.iter().rposition(is_question);
        let units = units(messages);
        let kept = units.len().saturating_sub(KEPT);
        let may_go = |unit: &&Range<usize>| {
            !matches!(messages[unit.start], Message::System(_))
                && Some(unit.start) != last_question
                && !is_pinned(&messages[unit.start])
        };
        let (mut removed, mut saved) = (Vec::new(), 0);
        for unit in units[..kept].iter().filter(may_go) {
            if saved >= tokens {
                break;
            }
            saved += self.fit.corrected(estimate::messages(&messages[unit.clone()]));
            removed.extend(unit.clone());
        }
        removed
    }

    async fn ask_for_summary(
        &self,
        messages: &[Message],
        most: u64,
        available: u64,
    ) -> Result<(String, Usage), ModelError> {
        let model = self.agent.summariser.as_ref().unwrap_or(&self.agent.model);
        if !model.summarises() {
            return Err(ModelError::new(FailureKind::Config, "this model does not summarise"));
        }
        // A token has one and a half characters or more.
        let room = usize::try_from(available).unwrap_or(usize::MAX).saturating_mul(3) / 2;
        let each = (room / messages.len().max(1)).clamp(OF_LINE, OF_MESSAGE);
        let said: Vec<_> = messages.iter().map(|message| described(message, each)).collect();
        let said = cut(said.join("\n"), room);
        let request = [Message::System(TASK.to_owned()), Message::User(said.into())];
        let mut request = Request::new(&request).in_one_piece();
        request.choice = ToolChoice::Never;
        request.max_tokens = u32::try_from(most).ok();
        let turn = tokio::select! {
            biased;
            turn = model.ask(&request, &|_| ()) => turn?,
            () = self.over() => {
                let text = "the run ended before its summary did";
                return Err(ModelError::new(FailureKind::Cut, text));
            }
        };
        let summary = turn.message.content.trim();
        match summary.is_empty() {
            true => Err(ModelError::new(FailureKind::Unreadable, "the model answered nothing")),
            false => Ok((summary.to_owned(), turn.usage)),
        }
    }
}

/// Whether it stays as it is.
fn is_pinned(message: &Message) -> bool {
    match message {
        Message::User(said) => said.pinned,
        Message::Ai(said) => said.pinned,
        Message::System(_) | Message::Tool(_) => false,
    }
}

/// Whether the user said this, and it is no summary.
pub(crate) fn is_question(message: &Message) -> bool {
    matches!(message, Message::User(said) if !said.content.starts_with(BEGINNING))
}

/// Splits a conversation into what cannot be parted: a message of the model with the replies to its calls, and all others.
fn units(messages: &[Message]) -> Vec<Range<usize>> {
    let mut units: Vec<Range<usize>> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        match (message, units.last_mut()) {
            (Message::Tool(_), Some(unit)) => unit.end = place + 1,
            _ => units.push(place..place + 1),
        }
    }
    units
}

/// Returns a message as the model reads it that summarises.
fn described(message: &Message, most: usize) -> String {
    match message {
        Message::System(text) => format!("System: {}", shortened_line(text, most)),
        Message::User(said) => format!("User: {}", shortened_line(&said.content, most)),
        Message::Tool(reply) => {
            let outcome = if reply.is_error { "failed" } else { "succeeded" };
            format!(
                "Call {} {outcome}: {}",
                reply.tool_call_id,
                shortened_line(&reply.content, most)
            )
        }
        Message::Ai(said) => {
            let mut lines = Vec::new();
            if !said.content.is_empty() {
                lines.push(format!("Assistant: {}", shortened_line(&said.content, most)));
            }
            lines.extend(said.tool_calls.iter().map(|call| {
                let args = match &call.args {
                    Arguments::Object(args) => serde_json::to_string(args).unwrap_or_default(),
                    Arguments::Unparsable(args) => args.raw.clone(),
                };
                let args = shortened_line(&args, most);
                format!("Assistant calls {} as {}: {args}", call.name, call.id)
            }));
            lines.join("\n")
        }
    }
}

/// Returns what was said in lines, for a summary that no model made.
fn list(messages: &[Message], most: u64) -> String {
    let lines: Vec<_> = messages.iter().map(|message| described(message, OF_LINE)).collect();
    cut(lines.join("\n"), usize::try_from(most).unwrap_or(usize::MAX).saturating_mul(2))
}

fn cut(mut text: String, most: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.push('…');
    }
    text
}
