//! The conversation of a request, and where it is kept if the request names a chat.

use switchboard_access::Caller;
use switchboard_agent::{ChatStore, Conversation, Transcript};
use switchboard_models::Message;
use tokio::{runtime::Handle, task::spawn_blocking};

use super::failure::Failure;
use crate::{gateway::Parts, rest::chats::store_of};

/// A conversation that is kept when its turn ends, also if the client goes before that.
pub(super) struct KeptConversation {
    chat: Transcript,
    /// `None` if the request names no chat.
    store: Option<ChatStore>,
    /// How many messages are kept already.
    kept: usize,
}

impl KeptConversation {
    /// A conversation that nobody keeps.
    pub(super) fn unkept(messages: Vec<Message>) -> Self {
        let chat = Transcript::new(String::new(), Conversation::from(messages));
        Self { chat, store: None, kept: 0 }
    }

    /// The chat of this id, or a new one, with `messages` at its end.
    ///
    /// # Errors
    /// The id is none, or the chat cannot be read.
    pub(super) async fn open(
        id: String,
        model: String,
        messages: Vec<Message>,
        parts: &Parts,
        caller: &Caller,
    ) -> Result<Self, Failure> {
        if !ChatStore::is_id(&id) {
            let text = "an id of a chat has 1 to 64 letters, digits and hyphens";
            return Err(Failure::wrong("chat", text));
        }
        let store = store_of(parts, caller);
        let (from, asked) = (store.clone(), id.clone());
        let found = spawn_blocking(move || from.get(&asked)).await;
        let found = found.ok().and_then(Result::ok).ok_or_else(|| {
            Failure::new(http::StatusCode::SERVICE_UNAVAILABLE, "the chat cannot be read")
                .coded("chat_not_readable")
        })?;
        let old = found.unwrap_or_else(|| Transcript {
            id,
            ..Transcript::new(String::new(), Conversation::new())
        });
        let mut all = old.messages.messages().to_vec();
        all.extend(messages);
        let chat = Transcript { model, messages: Conversation::from(all), ..old };
        let mut kept = Self { chat, store: Some(store), kept: 0 };
        kept.save().await;
        Ok(kept)
    }

    pub(super) fn conversation(&mut self) -> &mut Conversation {
        &mut self.chat.messages
    }

    /// Keeps it as it is now.
    pub(super) async fn save(&mut self) {
        if let Some(store) = self.store.clone() {
            self.kept = self.chat.messages.messages().len();
            let chat = self.chat.clone();
            // Written or not, the chat goes on.
            let _ = spawn_blocking(move || keep(&store, &chat)).await;
        }
    }
}

impl Drop for KeptConversation {
    /// Keeps what was said until the client went.
    fn drop(&mut self) {
        let is_kept = self.kept == self.chat.messages.messages().len();
        if let (Some(store), Ok(runtime), false) =
            (self.store.take(), Handle::try_current(), is_kept)
        {
            let chat = self.chat.clone();
            runtime.spawn_blocking(move || keep(&store, &chat));
        }
    }
}

/// A chat that cannot be kept can still go on.
fn keep(store: &ChatStore, chat: &Transcript) {
    if let Err(error) = store.keep(chat) {
        tracing::warn!(error = &error as &dyn std::error::Error, "a chat is not kept");
    }
}
