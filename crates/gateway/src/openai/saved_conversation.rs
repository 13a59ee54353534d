//! The conversation of a request, saved in a chat if the request names one.

use switchboard_access::Caller;
use switchboard_agent::{ChatStore, Conversation, Transcript};
use switchboard_models::Message;
use tokio::{runtime::Handle, task::spawn_blocking};

use super::failure::ChatFailure;
use crate::{gateway::Parts, rest::chats::store_of};

/// A conversation that is saved when its turn ends, even if the client disconnects before that.
pub(super) struct SavedConversation {
    chat: Transcript,
    /// `None` if the request names no chat.
    store: Option<ChatStore>,
    /// How many messages are saved already.
    kept: usize,
}

impl SavedConversation {
    /// Creates a conversation that is not saved.
    pub(super) fn unkept(messages: Vec<Message>) -> Self {
        let chat = Transcript::new(String::new(), Conversation::from(messages));
        Self { chat, store: None, kept: 0 }
    }

    /// Opens the chat with this id, or creates it, and appends `messages`.
    ///
    /// # Errors
    /// Fails if the id is invalid, or the chat cannot be read.
    pub(super) async fn open(
        id: String,
        model: String,
        messages: Vec<Message>,
        parts: &Parts,
        caller: &Caller,
    ) -> Result<Self, ChatFailure> {
        if !ChatStore::is_id(&id) {
            let text = "an id of a chat has 1 to 64 letters, digits and hyphens";
            return Err(ChatFailure::wrong("chat", text));
        }
        let store = store_of(parts, caller);
        let (from, asked) = (store.clone(), id.clone());
        let found = spawn_blocking(move || from.get(&asked)).await;
        let found = found.ok().and_then(Result::ok).ok_or_else(|| {
            ChatFailure::new(http::StatusCode::SERVICE_UNAVAILABLE, "the chat cannot be read")
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

    /// Returns the conversation of a run that was interrupted; it is saved in the chat that it is a turn of.
    pub(super) fn reopen(
        chat: Option<&str>,
        messages: Vec<Message>,
        parts: &Parts,
        caller: &Caller,
    ) -> Self {
        let unkept = Self::unkept(messages);
        let Some(id) = chat.filter(|id| ChatStore::is_id(id)) else { return unkept };
        let store = store_of(parts, caller);
        let old = store.get(id).ok().flatten();
        let old = old.unwrap_or_else(|| Transcript::new(String::new(), Conversation::new()));
        let chat = Transcript { id: id.to_owned(), messages: unkept.chat.messages.clone(), ..old };
        Self { chat, store: Some(store), kept: 0 }
    }

    pub(super) fn conversation(&mut self) -> &mut Conversation {
        &mut self.chat.messages
    }

    /// Saves the conversation so far.
    pub(super) async fn save(&mut self) {
        if let Some(store) = self.store.clone() {
            self.kept = self.chat.messages.messages().len();
            let chat = self.chat.clone();
            // The chat goes on even if it cannot be saved.
            let _ = spawn_blocking(move || keep(&store, &chat)).await;
        }
    }
}

impl Drop for SavedConversation {
    /// Saves the conversation so far if the client has disconnected.
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

/// Saves a chat; a failure is only logged, so that the chat can go on.
fn keep(store: &ChatStore, chat: &Transcript) {
    if let Err(error) = store.keep(chat) {
        tracing::warn!(error = &error as &dyn std::error::Error, "a chat is not kept");
    }
}
