//! Finds saved chats, and the file of the history.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use switchboard_agent::{ChatStore, Conversation, RunStart, Transcript, chats};
use switchboard_models::Message;

use crate::{environment, terminal};

/// Returns the chats of this user; creates no folder yet.
pub(crate) fn open() -> ChatStore {
    ChatStore::within(environment::state_home().as_deref())
}

/// Returns the file of the history of typed lines.
pub(super) fn history_file() -> Option<PathBuf> {
    environment::state_home().map(|folder| folder.join("chat_history"))
}

/// The chat whose turn a run is.
pub(crate) struct InterruptedTurn {
    chat: String,
    model: String,
    /// What the chat was when the turn began.
    before: Vec<Message>,
}

impl InterruptedTurn {
    /// Returns `None` if the run is no turn of a chat.
    pub(crate) fn of(run: &RunStart) -> Option<Self> {
        let chat = run.chat.clone()?;
        Some(Self { chat, model: run.model.clone(), before: run.messages.clone() })
    }

    /// Puts the finished turn into the chat, unless that went on without it.
    ///
    /// # Errors
    /// The chat cannot be read or written.
    pub(crate) fn finish(self, conversation: &Conversation) -> anyhow::Result<()> {
        let store = open();
        let mut transcript = match store.get(&self.chat)? {
            Some(transcript) => transcript,
            None => {
                let new = Transcript::new(self.model, Conversation::new());
                Transcript { id: self.chat, ..new }
            }
        };
        if !self.before.starts_with(transcript.messages.messages()) {
            terminal::tell(&format!(
                "warning: chat {} went on without this turn and stays as it is",
                transcript.id
            ));
            return Ok(());
        }
        transcript.messages = conversation.clone();
        Ok(store.keep(&transcript)?)
    }
}

/// Reads the chat with this id, prefix of an id, or file; the latest chat if `which` is `None`.
///
/// # Errors
/// No chat has this id, several begin with it, or the file is not a chat.
pub(super) fn find(store: &ChatStore, which: Option<&str>) -> anyhow::Result<Transcript> {
    let all = store.all()?;
    let Some(which) = which else {
        let last = all.first().context("there is no chat to go on with yet")?;
        return Ok(chats::read(&last.file)?);
    };
    let meant: Vec<_> = match all.iter().find(|kept| kept.id == which) {
        Some(kept) => vec![kept],
        None => all.iter().filter(|kept| kept.id.starts_with(which)).collect(),
    };
    match (&meant[..], Path::new(which)) {
        ([one], _) => Ok(chats::read(&one.file)?),
        (_, file) if file.is_file() => {
            let is_kept = all.iter().find(|kept| is_same(&kept.file, file));
            let transcript = chats::read(file)?;
            // A file outside of the store is not changed: the chat continues under a new id.
            Ok(if is_kept.is_some() { transcript } else { transcript.renamed() })
        }
        ([], _) => Err(anyhow!("there is no chat `{which}`; `switchboard chat --list` shows them")),
        (several, _) => {
            let ids: Vec<_> = several.iter().map(|kept| kept.id.as_str()).collect();
            bail!("`{which}` may be {}", ids.join(", "))
        }
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
