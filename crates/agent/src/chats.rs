//! Saved chats: one private file each.

use std::{
    fmt::Write as _,
    fs, io,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use switchboard_models::Message;
use switchboard_runtime::private_files;
use switchboard_toolcall::CallId;

use crate::Conversation;

/// The most characters of an id.
const LONGEST_ID: usize = 64;

/// A chat: its messages and metadata.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Transcript {
    /// The id, which begins with the local time at which the chat began, so that ids sort by it.
    pub id: String,
    /// The model that answered last, as `-m` takes it.
    #[serde(default)]
    pub model: String,
    /// When it began, in UTC.
    #[serde(default)]
    pub started: String,
    /// The messages; incomplete turns are repaired when they are read (ML-5).
    pub messages: Conversation,
}

impl Transcript {
    /// A chat that begins now.
    pub fn new(model: String, messages: Conversation) -> Self {
        let started = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        Self { id: new_id(), model, started, messages }
    }

    /// Parses a file: a chat, or only its messages.
    ///
    /// # Errors
    /// The text is neither a chat nor a list of messages.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        match text.trim_start().starts_with('[') {
            true => Ok(Self::new(String::new(), serde_json::from_str(text)?)),
            false => serde_json::from_str(text),
        }
    }

    /// The same chat under a new id.
    pub fn renamed(self) -> Self {
        Self { id: new_id(), ..self }
    }

    /// Returns its title: the first question.
    pub fn title(&self) -> &str {
        self.questions().next().map_or("", String::as_str)
    }

    /// Returns how many questions were asked.
    pub fn turns(&self) -> usize {
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

/// Why a chat cannot be saved or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// Neither `XDG_STATE_HOME` nor `HOME` is set.
    #[error("neither XDG_STATE_HOME nor HOME says where")]
    NoFolder,
    /// A file or a folder could not be read or written.
    #[error("failed to {action} `{}`", .path.display())]
    Io {
        /// `read`, `write` or `make the folder`.
        action: &'static str,
        /// Which one.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not a chat.
    #[error("`{}` is not a chat", .path.display())]
    NoChat {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// A saved chat, and when it was last written.
#[derive(Debug)]
#[non_exhaustive]
pub struct SavedChat {
    /// Its id.
    pub id: String,
    /// Its file.
    pub file: PathBuf,
    /// When it was last written.
    pub updated: SystemTime,
}

/// The folder of a user's chats; keeps nothing if there is no place for it. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct ChatStore(Option<PathBuf>);

impl ChatStore {
    /// The chats in a folder of the state; makes no folder yet.
    pub fn within(state: Option<&Path>) -> Self {
        Self(state.map(|state| state.join("chats")))
    }

    /// The chats of a caller with a name, apart from those of the owner and of others.
    pub fn of_caller(&self, name: &str) -> Self {
        let mut folder = String::with_capacity(32);
        for byte in &Sha256::digest(name)[..16] {
            // Writing to a string cannot fail.
            let _ = write!(folder, "{byte:02x}");
        }
        Self(self.0.as_ref().map(|chats| chats.join("callers").join(folder)))
    }

    /// Whether there is a place for chats.
    pub fn keeps(&self) -> bool {
        self.0.is_some()
    }

    /// Whether a text can be the id of a chat: it becomes the name of a file.
    pub fn is_id(text: &str) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        (1..=LONGEST_ID).contains(&text.len()) && text.chars().all(is_plain)
    }

    /// The file of one chat.
    pub fn file_of(&self, id: &str) -> Option<PathBuf> {
        self.0.as_ref().map(|folder| folder.join(format!("{id}.json")))
    }

    /// Keeps the chat as it is now.
    ///
    /// # Errors
    /// There is no place for it, or it cannot be written.
    pub fn keep(&self, transcript: &Transcript) -> Result<(), ChatError> {
        let file = self.file_of(&transcript.id).ok_or(ChatError::NoFolder)?;
        let folder = file.parent().unwrap_or(Path::new(""));
        private_files::create_dir(folder).map_err(failed("make the folder", folder))?;
        write(&file, transcript)
    }

    /// Returns the chat of exactly this id, or `None` if no file has it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn get(&self, id: &str) -> Result<Option<Transcript>, ChatError> {
        let file = self.file_of(id).filter(|file| Self::is_id(id) && file.is_file());
        file.map(|file| read(&file)).transpose()
    }

    /// Removes a chat; returns whether there was one.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(&self, id: &str) -> Result<bool, ChatError> {
        let Some(file) = self.file_of(id).filter(|_| Self::is_id(id)) else { return Ok(false) };
        match fs::remove_file(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            removed => removed.map(|()| true).map_err(failed("remove", &file)),
        }
    }

    /// All chats, the last one first.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn all(&self) -> Result<Vec<SavedChat>, ChatError> {
        let Some(folder) = &self.0 else { return Ok(Vec::new()) };
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed("read", folder))?,
        };
        let mut all = Vec::new();
        for entry in entries {
            let file = entry.map_err(failed("read", folder))?.path();
            let id = file.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
            let is_chat = file.extension().is_some_and(|end| end == "json");
            let updated = fs::metadata(&file).and_then(|about| about.modified());
            // A file that was removed meanwhile is left out.
            if let (Some(id), true, Ok(updated)) = (id, is_chat, updated) {
                all.push(SavedChat { id, file, updated });
            }
        }
        all.sort_by(|one, other| (other.updated, &other.id).cmp(&(one.updated, &one.id)));
        Ok(all)
    }
}

/// Reads a chat.
///
/// # Errors
/// The file cannot be read, or holds no chat.
pub fn read(file: &Path) -> Result<Transcript, ChatError> {
    let text = fs::read_to_string(file).map_err(failed("read", file))?;
    let no_chat = |source| ChatError::NoChat { path: file.to_owned(), source };
    Transcript::parse(&text).map_err(no_chat)
}

/// Writes a chat atomically, with private permissions.
///
/// # Errors
/// It cannot be written.
pub fn write(file: &Path, transcript: &Transcript) -> Result<(), ChatError> {
    let no_chat = |source| ChatError::NoChat { path: file.to_owned(), source };
    let text = serde_json::to_string_pretty(transcript).map_err(no_chat)?;
    replace(file, &text).map_err(failed("write", file))
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

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ChatError {
    let path = path.to_owned();
    move |source| ChatError::Io { action, path, source }
}
