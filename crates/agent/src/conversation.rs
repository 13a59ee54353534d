//! A conversation that no provider rejects (ML-5).
//!
//! Its messages are private. A model's message is added together with one reply per call; until a call ends, its reply says
//! that its outcome is unknown. So the conversation is valid at every moment, even if the future that runs the calls is
//! dropped in the middle.

use std::collections::HashSet;

use serde::{Deserialize, Serialize, Serializer};
use switchboard_models::{AiMessage, Message, ModelCall, ToolReply, UserMessage};

use crate::{
    fit::{ShortenedPlace, is_question},
    repair,
};

/// The content of a slot that was never filled.
pub(crate) const UNKNOWN: &str =
    "Error: no result of this call was kept; side effects may have happened";

/// The content of a slot whose call the caller runs.
const LEFT: &str = "Error: this call was left to the caller, which has not said what became of it";

/// The messages so far. Serializes as a list; deserializing repairs invalid conversations.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "Vec<Message>")]
pub struct Conversation {
    messages: Vec<Message>,
    /// The ids of all calls, those that are only in a summary too, so that no later call gets one of them.
    call_ids: HashSet<String>,
}

impl Serialize for Conversation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.messages.serialize(serializer)
    }
}

impl Conversation {
    /// An empty conversation.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a conversation with a system prompt.
    pub fn with_system(text: impl Into<String>) -> Self {
        Self { messages: vec![Message::System(text.into())], ..Self::default() }
    }

    /// The user says something.
    pub fn say(&mut self, message: impl Into<UserMessage>) {
        self.messages.push(Message::User(message.into()));
    }

    /// The model is reminded of something in the middle.
    pub(crate) fn remind(&mut self, text: String) {
        self.messages.push(Message::System(text));
    }

    /// Everything that was said, in order.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Sets the result of a call that was left to the caller. Returns `false` if no call waits for it.
    pub fn reply(&mut self, reply: ToolReply) -> bool {
        let left = self.messages.iter_mut().rev().find_map(|message| match message {
            Message::Tool(slot) if slot.tool_call_id == reply.tool_call_id => Some(slot),
            _ => None,
        });
        match left {
            Some(slot) if slot.is_error && slot.content == LEFT => {
                *slot = reply;
                true
            }
            _ => false,
        }
    }

    /// Replaces what a reply has by a line. Returns `false` if this call has no reply.
    pub(crate) fn shorten(&mut self, tool_call_id: &str, line: String) -> bool {
        let reply = self.messages.iter_mut().rev().find_map(|message| match message {
            Message::Tool(reply) if reply.tool_call_id == tool_call_id => Some(reply),
            _ => None,
        });
        let Some(reply) = reply else { return false };
        reply.content = line;
        reply.images.clear();
        true
    }

    /// Replaces messages, whose positions are in order, by one of the user, which stands where the first of them was.
    pub(crate) fn summarise(&mut self, removed: &[usize], text: String) {
        let Some(first) = removed.first().copied().filter(|first| *first < self.messages.len())
        else {
            return;
        };
        let gone: HashSet<usize> = removed.iter().copied().collect();
        let mut place = 0;
        self.messages.retain(|_| {
            let is_gone = gone.contains(&place);
            place += 1;
            !is_gone
        });
        self.messages.insert(first, Message::User(text.into()));
    }

    /// Returns what is shortened in the conversation, in order.
    pub fn shortened(&self) -> Vec<ShortenedPlace> {
        self.messages.iter().filter_map(ShortenedPlace::of).collect()
    }

    /// Puts back what was shortened under an artifact, which has `whole`. Returns `false` if there is nothing like it.
    pub fn expand(&mut self, artifact: &str, whole: &str) -> bool {
        let is_meant = |message: &Message| {
            ShortenedPlace::of(message).is_some_and(|place| place.artifact == artifact)
        };
        let Some(place) = self.messages.iter().position(is_meant) else { return false };
        match &mut self.messages[place] {
            Message::Tool(reply) => whole.clone_into(&mut reply.content),
            _ => {
                let Ok(messages) = serde_json::from_str::<Vec<Message>>(whole) else {
                    return false;
                };
                self.messages.splice(place..=place, messages);
            }
        }
        true
    }

    /// Pins the last question and the answer to it, or takes that back: what is pinned is never left out to fit a model's
    /// window. Returns the question; `None` if nothing was asked.
    pub fn pin_last(&mut self, is_pinned: bool) -> Option<&str> {
        let place = self.messages.iter().rposition(is_question)?;
        let answer = self.messages[place..].iter_mut().rev().find_map(|message| match message {
            Message::Ai(said) if said.tool_calls.is_empty() => Some(said),
            _ => None,
        });
        if let Some(answer) = answer {
            answer.pinned = is_pinned;
        }
        let Message::User(question) = &mut self.messages[place] else { return None };
        question.pinned = is_pinned;
        Some(&question.content)
    }

    /// Returns what users said that is pinned, in order.
    pub fn pinned(&self) -> Vec<&str> {
        let said = self.messages.iter().filter_map(|message| match message {
            Message::User(said) if said.pinned => Some(&*said.content),
            _ => None,
        });
        said.collect()
    }

    /// Takes all pins out.
    pub fn unpin_all(&mut self) {
        for message in &mut self.messages {
            match message {
                Message::User(said) => said.pinned = false,
                Message::Ai(said) => said.pinned = false,
                Message::System(_) | Message::Tool(_) => {}
            }
        }
    }

    /// Whether it is the model's turn to speak.
    pub fn awaits_model(&self) -> bool {
        let last = self.messages.iter().rfind(|message| !matches!(message, Message::System(_)));
        matches!(last, Some(Message::User(_) | Message::Tool(_)))
    }

    /// Appends what the model said, with a slot for the reply to each call. Ids that are missing or taken are made
    /// again (ML-3).
    pub(crate) fn append(&mut self, mut message: AiMessage) -> ReplySlots<'_> {
        make_ids(&mut message.tool_calls, self.messages.len(), &mut self.call_ids);
        let place = self.messages.len();
        let replies: Vec<_> = message.tool_calls.iter().map(unknown).map(Message::Tool).collect();
        let filled = vec![false; replies.len()];
        self.messages.push(Message::Ai(message));
        self.messages.extend(replies);
        let (said, replies) = self.messages.split_at_mut(place + 1);
        let calls = match said.last() {
            Some(Message::Ai(message)) => &message.tool_calls[..],
            _ => &[],
        };
        ReplySlots { calls, replies, filled }
    }
}

impl From<Vec<Message>> for Conversation {
    /// Makes a valid conversation of any messages, the same for the same ones: a call without a reply gets one that
    /// says so, a reply without a call is dropped, and so is what a model said before anybody asked.
    fn from(messages: Vec<Message>) -> Self {
        repair::conversation(messages)
    }
}

/// The replies to the calls of one message, by the calls' positions.
pub(crate) struct ReplySlots<'a> {
    calls: &'a [ModelCall],
    replies: &'a mut [Message],
    filled: Vec<bool>,
}

impl<'a> ReplySlots<'a> {
    /// The calls to be replied to.
    pub(crate) fn calls(&self) -> &'a [ModelCall] {
        self.calls
    }

    /// Inserts the reply under the id of its call.
    pub(crate) fn fill(&mut self, position: usize, reply: ToolReply) {
        let tool_call_id = self.calls[position].id.clone();
        self.replies[position] = Message::Tool(ToolReply { tool_call_id, ..reply });
        self.filled[position] = true;
    }

    /// Leaves the call to the caller.
    pub(crate) fn leave(&mut self, position: usize) {
        let content = LEFT.to_owned();
        self.fill(position, ToolReply { content, is_error: true, ..ToolReply::default() });
    }

    /// The calls whose slots still say that nothing is known.
    pub(crate) fn open(&self) -> Vec<(usize, &'a ModelCall)> {
        let calls = self.calls.iter().enumerate();
        calls.filter(|(position, _)| !self.filled[*position]).collect()
    }
}

/// The reply to a call of which nothing is known.
fn unknown(call: &ModelCall) -> ToolReply {
    ToolReply {
        content: UNKNOWN.to_owned(),
        tool_call_id: call.id.clone(),
        is_error: true,
        ..ToolReply::default()
    }
}

/// Gives every call an id that is not yet taken: the same for the same history, which has this many messages.
fn make_ids(calls: &mut [ModelCall], history: usize, taken: &mut HashSet<String>) {
    for (position, call) in calls.iter_mut().enumerate() {
        let mut tries = 0;
        while call.id.is_empty() || taken.contains(&call.id) {
            let again = if tries == 0 { String::new() } else { format!("_{tries}") };
            call.id = format!("call_{history}_{position}{again}");
            tries += 1;
        }
        taken.insert(call.id.clone());
    }
}
