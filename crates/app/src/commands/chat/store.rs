//! Where chats are kept: one file each, for nobody else to read.

use std::{
    fs,
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use anyhow::{Context, anyhow, bail};
use switchboard_runtime::private_files;

use super::transcript::Transcript;
use crate::environment;

/// The folder of all chats; `None` if the environment names no place for it.
pub(super) struct ChatStore(Option<PathBuf>);

/// A chat that is kept, and when it was last written.
pub(super) struct SavedChat {
    pub(super) id: String,
    pub(super) file: PathBuf,
    pub(super) updated: SystemTime,
}

impl ChatStore {
    /// The store of this user; makes no folder yet.
    pub(super) fn open() -> Self {
        Self(environment::state_home())
    }

    /// The file of what was typed.
    pub(super) fn history_file(&self) -> Option<PathBuf> {
        self.0.as_ref().map(|folder| folder.join("chat_history"))
    }

    /// The file of one chat.
    pub(super) fn file_of(&self, id: &str) -> Option<PathBuf> {
        self.0.as_ref().map(|folder| folder.join("chats").join(format!("{id}.json")))
    }

    /// Keeps the chat as it is now.
    ///
    /// # Errors
    /// There is no place for it, or it cannot be written.
    pub(super) fn keep(&self, transcript: &Transcript) -> anyhow::Result<()> {
        let file = self.file_of(&transcript.id);
        let file = file.context("neither XDG_STATE_HOME nor HOME says where")?;
        make_folder(file.parent().unwrap_or(Path::new("")))?;
        write(&file, transcript)
    }

    /// All chats, the last one first.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) fn all(&self) -> anyhow::Result<Vec<SavedChat>> {
        let Some(folder) = self.0.as_ref().map(|folder| folder.join("chats")) else {
            return Ok(Vec::new());
        };
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.with_context(|| format!("failed to read `{}`", folder.display()))?,
        };
        let mut all = Vec::new();
        for entry in entries {
            let file = entry?.path();
            let id = file.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
            let is_chat = file.extension().is_some_and(|end| end == "json");
            let updated = fs::metadata(&file).and_then(|about| about.modified());
            // One that vanishes meanwhile is none any more.
            if let (Some(id), true, Ok(updated)) = (id, is_chat, updated) {
                all.push(SavedChat { id, file, updated });
            }
        }
        all.sort_by(|one, other| (other.updated, &other.id).cmp(&(one.updated, &one.id)));
        Ok(all)
    }

    /// The chat of an id, of the beginning of one, or in a file; the last one where nothing is named.
    ///
    /// # Errors
    /// There is none, there are several, or it is no chat.
    pub(super) fn find(&self, which: Option<&str>) -> anyhow::Result<Transcript> {
        let all = self.all()?;
        let Some(which) = which else {
            let last = all.first().context("there is no chat to go on with yet")?;
            return read(&last.file);
        };
        let meant: Vec<_> = match all.iter().find(|kept| kept.id == which) {
            Some(kept) => vec![kept],
            None => all.iter().filter(|kept| kept.id.starts_with(which)).collect(),
        };
        match (&meant[..], Path::new(which)) {
            ([one], _) => read(&one.file),
            (_, file) if file.is_file() => {
                let is_kept = all.iter().find(|kept| is_same(&kept.file, file));
                let transcript = read(file)?;
                // What is elsewhere stays as it is; the chat goes on under a name of its own.
                Ok(if is_kept.is_some() { transcript } else { transcript.renamed() })
            }
            ([], _) => {
                Err(anyhow!("there is no chat `{which}`; `switchboard chat --list` shows them"))
            }
            (several, _) => {
                let ids: Vec<_> = several.iter().map(|kept| kept.id.as_str()).collect();
                bail!("`{which}` may be {}", ids.join(", "))
            }
        }
    }
}

/// Reads a chat.
///
/// # Errors
/// The file cannot be read, or holds no chat.
pub(super) fn read(file: &Path) -> anyhow::Result<Transcript> {
    let shown = file.display();
    let text = fs::read_to_string(file).with_context(|| format!("failed to read `{shown}`"))?;
    Transcript::parse(&text).with_context(|| format!("`{shown}` is not a chat"))
}

/// Writes a chat, whole or not at all, for nobody else to read.
///
/// # Errors
/// It cannot be written.
pub(super) fn write(file: &Path, transcript: &Transcript) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(transcript)?;
    replace(file, &text).with_context(|| format!("failed to write `{}`", file.display()))
}

fn replace(file: &Path, text: &str) -> io::Result<()> {
    let mut name = file.file_name().ok_or(ErrorKind::InvalidFilename)?.to_owned();
    name.push(".new");
    let new = file.with_file_name(name);
    let mut opened = private_files::create(&new)?;
    opened.write_all(text.as_bytes())?;
    opened.write_all(b"\n")?;
    opened.sync_all()?;
    fs::rename(&new, file)
}

/// Makes the folder and those above it, for nobody else to look into.
///
/// # Errors
/// It cannot be made.
pub(super) fn make_folder(folder: &Path) -> anyhow::Result<()> {
    let made = private_files::create_dir(folder);
    made.with_context(|| format!("failed to make the folder `{}`", folder.display()))
}

fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
