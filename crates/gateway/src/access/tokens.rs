//! Tokens: made by `switchboard token new`, kept as hashes in a file, read again when the file changes.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, SystemTime},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use switchboard_agent::Globs;
use tokio::time::Instant;

use super::{
    Caller, jwt,
    rate::{Quota, Rate, Share},
};
use crate::refusal::Refusal;

/// What our secrets begin with.
pub(super) const PREFIX: &str = "sb_";
/// How long a look at the file is good for.
const FRESH: Duration = Duration::from_secs(1);

/// All tokens. Another process may add one at any time.
pub struct Tokens {
    file: PathBuf,
    known: RwLock<Known>,
}

#[derive(Default)]
struct Known {
    by_hash: HashMap<[u8; 32], Arc<Token>>,
    /// The file as it was read.
    stamp: Option<(SystemTime, u64)>,
    looked: Option<Instant>,
}

/// A token that is known.
pub struct Token {
    entry: Entry,
    caller: Caller,
    quota: Quota,
}

/// What is kept of a token.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Its name, which records call the caller.
    pub name: String,
    /// The hash of the secret, in base64.
    hash: String,
    /// Which tools it may see (globs); all where unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// How many requests it may make in a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// How many requests it may have at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<usize>,
    /// Whether it may start and stop servers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub admin: bool,
    /// Whether it may decide about held calls.
    #[serde(default, skip_serializing_if = "is_false")]
    pub approve: bool,
    /// When it was made.
    pub created: jiff::Timestamp,
}

/// A token to be made.
#[derive(Clone, Debug, Default)]
pub struct NewToken {
    /// Its name.
    pub name: String,
    /// Which tools it may see (globs); all where unset.
    pub tools: Option<Vec<String>>,
    /// How many requests it may make in a time.
    pub rate: Option<Rate>,
    /// How many requests it may have at once.
    pub concurrent: Option<usize>,
    /// Whether it may start and stop servers.
    pub admin: bool,
    /// Whether it may decide about held calls.
    pub approve: bool,
}

/// Why tokens cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    /// The file cannot be read or written.
    #[error("failed to {what} the tokens in `{}`", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The file is not what we wrote.
    #[error("the tokens in `{}` cannot be read: {source}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The name is taken.
    #[error("there is a token '{0}' already; revoke it first, or choose another name")]
    Taken(String),
    /// Nobody has this name.
    #[error("there is no token '{0}'")]
    Unknown(String),
    /// The new token makes no sense.
    #[error("{0}")]
    Invalid(String),
}

impl Token {
    /// Who bears it.
    pub fn caller(&self) -> Caller {
        self.caller.clone()
    }

    /// What is kept of it.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    pub(super) fn take_share(&self) -> Result<Share, Refusal> {
        self.quota.take(&self.entry.name)
    }
}

impl Tokens {
    /// The tokens in a file, which need not be there yet.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn open(file: impl Into<PathBuf>) -> Result<Self, TokensError> {
        let tokens = Self { file: file.into(), known: RwLock::default() };
        tokens.refresh()?;
        Ok(tokens)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.look();
        self.known.read().unwrap_or_else(PoisonError::into_inner).by_hash.is_empty()
    }

    /// All tokens, by name.
    pub fn all(&self) -> Vec<Arc<Token>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = known.by_hash.values().cloned().collect();
        all.sort_by(|one, other| one.entry.name.cmp(&other.entry.name));
        all
    }

    /// The token with this secret. One that was revoked a second ago is not found any more.
    pub fn find(&self, secret: &str) -> Option<Arc<Token>> {
        self.find_hash(&hash(secret))
    }

    /// As [`find`](Self::find), by the hash of the secret.
    pub(super) fn find_hash(&self, hash: &[u8; 32]) -> Option<Arc<Token>> {
        self.look();
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.by_hash.get(hash).cloned()
    }

    /// Makes a token and returns its secret, which is kept nowhere.
    ///
    /// # Errors
    /// The name is taken, a glob is none, or the file cannot be written.
    pub fn create(&self, new: NewToken) -> Result<String, TokensError> {
        let mut entries = read(&self.file)?;
        if new.name.trim().is_empty() {
            return Err(TokensError::Invalid("a token needs a name".to_owned()));
        }
        if new.name.starts_with(jwt::PREFIX) {
            let text = format!("names that begin with `{}` are those of JWTs", jwt::PREFIX);
            return Err(TokensError::Invalid(text));
        }
        if entries.iter().any(|entry| entry.name == new.name) {
            return Err(TokensError::Taken(new.name));
        }
        if new.concurrent == Some(0) {
            return Err(TokensError::Invalid("nothing could run with 0 at once".to_owned()));
        }
        let secret = secret()?;
        let entry = Entry {
            hash: URL_SAFE_NO_PAD.encode(hash(&secret)),
            name: new.name,
            tools: new.tools,
            rate: new.rate,
            concurrent: new.concurrent,
            admin: new.admin,
            approve: new.approve,
            created: jiff::Timestamp::now(),
        };
        known(&entry)?;
        entries.push(entry);
        write(&self.file, &entries)?;
        self.refresh()?;
        Ok(secret)
    }

    /// Makes a token worthless.
    ///
    /// # Errors
    /// There is none of this name, or the file cannot be written.
    pub fn revoke(&self, name: &str) -> Result<(), TokensError> {
        let mut entries = read(&self.file)?;
        let before = entries.len();
        entries.retain(|entry| entry.name != name);
        if entries.len() == before {
            return Err(TokensError::Unknown(name.to_owned()));
        }
        write(&self.file, &entries)?;
        self.refresh()
    }

    /// Reads the file again where it may have changed.
    fn look(&self) {
        if let Err(error) = self.refresh_if_old() {
            // Those that were read before stay good: a slip in the file must not lock everybody out.
            tracing::warn!(error = &error as &dyn std::error::Error, "tokens stay as they were");
        }
    }

    fn refresh_if_old(&self) -> Result<(), TokensError> {
        let looked = self.known.read().unwrap_or_else(PoisonError::into_inner).looked;
        match looked {
            Some(looked) if looked.elapsed() < FRESH => Ok(()),
            _ => self.refresh(),
        }
    }

    fn refresh(&self) -> Result<(), TokensError> {
        let stamp = stamp(&self.file);
        let mut known_now = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known_now.looked = Some(Instant::now());
        if known_now.stamp == stamp && stamp.is_some() {
            return Ok(());
        }
        let mut by_hash = HashMap::new();
        for entry in read(&self.file)? {
            let (hash, token) = known(&entry)?;
            // What is unchanged keeps what is left of its share.
            let old = known_now.by_hash.remove(&hash);
            let old = old.filter(|old| old.entry.rate == entry.rate);
            let old = old.filter(|old| old.entry.concurrent == entry.concurrent);
            let old = old.filter(|old| old.entry.tools == entry.tools);
            let old = old.filter(|old| old.entry.admin == entry.admin);
            let old = old.filter(|old| old.entry.approve == entry.approve);
            by_hash.insert(hash, old.unwrap_or_else(|| Arc::new(token)));
        }
        known_now.by_hash = by_hash;
        known_now.stamp = stamp;
        Ok(())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

fn known(entry: &Entry) -> Result<([u8; 32], Token), TokensError> {
    let wrong = |what: &str| TokensError::Invalid(format!("token '{}': {what}", entry.name));
    let hash = URL_SAFE_NO_PAD.decode(&entry.hash).ok().and_then(|hash| hash.try_into().ok());
    let hash = hash.ok_or_else(|| wrong("its hash is damaged"))?;
    let globs = entry.tools.as_ref().map(|tools| Globs::new(tools)).transpose();
    let globs = globs.map_err(|error| wrong(&error.to_string()))?;
    let caller = Caller::new(Some(entry.name.as_str().into()), globs.map(Arc::new));
    let mut caller = caller.approving(entry.approve);
    caller.is_admin = entry.admin;
    let quota = Quota::new(entry.rate, entry.concurrent);
    Ok((hash, Token { entry: entry.clone(), caller, quota }))
}

pub(super) fn hash(secret: &str) -> [u8; 32] {
    // The secret has 256 random bits: nobody guesses it, so a slow hash would only cost time.
    Sha256::digest(secret.as_bytes()).into()
}

fn secret() -> Result<String, TokensError> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| TokensError::Invalid(format!("no random numbers: {error}")))?;
    Ok(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes)))
}

fn stamp(file: &Path) -> Option<(SystemTime, u64)> {
    let data = fs::metadata(file).ok()?;
    Some((data.modified().ok()?, data.len()))
}

fn read(file: &Path) -> Result<Vec<Entry>, TokensError> {
    match fs::read(file) {
        Ok(text) => serde_json::from_slice(&text)
            .map_err(|source| TokensError::Format { path: file.to_owned(), source }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(TokensError::File { what: "read", path: file.to_owned(), source }),
    }
}

/// Writes the whole file beside and moves it into place, so that nobody reads half of it.
fn write(file: &Path, entries: &[Entry]) -> Result<(), TokensError> {
    let failed = |source| TokensError::File { what: "write", path: file.to_owned(), source };
    let text = serde_json::to_string_pretty(entries).unwrap_or_default();
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let beside = file.with_extension("new");
    private(&beside, text.as_bytes()).map_err(failed)?;
    fs::rename(&beside, file).map_err(failed)
}

fn private(file: &Path, text: &[u8]) -> io::Result<()> {
    use std::{io::Write, os::unix::fs::OpenOptionsExt};
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(file)?;
    file.write_all(text)?;
    file.sync_all()
}
