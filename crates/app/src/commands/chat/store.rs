//! Which of the saved chats is meant, and the file of what was typed.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use switchboard_agent::{ChatStore, Transcript, chats};

use crate::environment;

/// The chats of this user; makes no folder yet.
pub(crate) fn open() -> ChatStore {
    ChatStore::within(environment::state_home().as_deref())
}

/// The file of what was typed.
pub(super) fn history_file() -> Option<PathBuf> {
    environment::state_home().map(|folder| folder.join("chat_history"))
}

/// The chat of an id, of the beginning of one, or in a file; the last one where nothing is named.
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
            // What is elsewhere stays as it is; the chat goes on under a name of its own.
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
