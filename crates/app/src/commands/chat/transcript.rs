//! A chat as it is kept.

use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};
use switchboard_agent::Conversation;
use switchboard_models::Message;
use switchboard_toolcall::CallId;

/// A chat: its messages, and what to know about them.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Transcript {
    /// Names it, and sorts by the second in which it began.
    pub(super) id: String,
    /// The model that answered last, as `-m` takes it.
    #[serde(default)]
    pub(super) model: String,
    #[serde(default)]
    pub(super) started: String,
    /// Reading repairs them (ML-5).
    pub(super) messages: Conversation,
}

impl Transcript {
    /// A chat that begins now.
    pub(super) fn new(model: String, messages: Conversation) -> Self {
        let started = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        Self { id: new_id(), model, started, messages }
    }

    /// Reads what a file holds: a chat, or nothing but its messages.
    ///
    /// # Errors
    /// It is neither.
    pub(super) fn parse(text: &str) -> serde_json::Result<Self> {
        match text.trim_start().starts_with('[') {
            true => Ok(Self::new(String::new(), serde_json::from_str(text)?)),
            false => serde_json::from_str(text),
        }
    }

    /// The same chat under a name of its own.
    pub(super) fn renamed(self) -> Self {
        Self { id: new_id(), ..self }
    }

    /// What it is about: the first question.
    pub(super) fn title(&self) -> String {
        let first = self.questions().next();
        first.map(|text| crate::terminal::text::one_line(text)).unwrap_or_default()
    }

    /// How often somebody asked.
    pub(super) fn turns(&self) -> usize {
        self.questions().count()
    }

    fn questions(&self) -> impl Iterator<Item = &String> {
        self.messages.messages().iter().filter_map(|message| match message {
            Message::User(message) => Some(&message.content),
            _ => None,
        })
    }
}

/// `20261115-120242-k3f9`: the local time, and something that no other chat of this second has.
fn new_id() -> String {
    let unique = CallId::generate().to_string().to_lowercase();
    let tail = unique.get(unique.len().saturating_sub(4)..).unwrap_or_default();
    format!("{}-{tail}", Zoned::now().strftime("%Y%m%d-%H%M%S"))
}
