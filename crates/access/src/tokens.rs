//! Tokens: created by `switchboard token new`, stored as hashes in a file, read again when the file changes.

mod change;
mod entry;
mod file;
mod set;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, SystemTime},
};

use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::{Caller, Peers, QuotaPermit, Rejection, rate::Quota};

use set::TokenSet;

pub use change::{ChangedToken, TokenChange};
pub use entry::{NewToken, TokenEntry};

/// The prefix of our secrets.
pub(crate) const PREFIX: &str = "sb_";
/// How long the state of the file is cached.
const FRESH: Duration = Duration::from_secs(1);

/// All tokens. Another process may add one at any time.
pub struct Tokens {
    file: PathBuf,
    known: RwLock<KnownTokens>,
}

#[derive(Default)]
struct KnownTokens {
    /// Tokens of the file.
    own: TokenSet,
    /// Tokens that all gateways of the cluster share.
    shared: TokenSet,
    /// The file's state when it was read.
    stamp: Option<(SystemTime, u64)>,
    /// The file's state when it was last tried, even if it could not be read.
    tried: Option<(SystemTime, u64)>,
    looked: Option<Instant>,
}

/// A known token.
pub struct Token {
    entry: TokenEntry,
    caller: Caller,
    quota: Quota,
}

/// Why tokens cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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
    /// The file is invalid.
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
    /// There is no token with this name.
    #[error("there is no token '{0}'")]
    Unknown(String),
    /// The new token is invalid.
    #[error("{0}")]
    Invalid(String),
}

impl Token {
    /// Returns its caller.
    pub fn caller(&self) -> Caller {
        self.caller.clone()
    }

    /// Returns what is stored of it.
    pub fn entry(&self) -> &TokenEntry {
        &self.entry
    }

    pub(crate) async fn take_share(
        &self,
        peers: Option<&dyn Peers>,
    ) -> Result<QuotaPermit, Rejection> {
        self.quota.take_in(peers, &self.entry.name).await
    }
}

impl Tokens {
    /// Opens the tokens in a file, which need not exist yet.
    ///
    /// # Errors
    /// The file exists and cannot be read.
    pub fn open(file: impl Into<PathBuf>) -> Result<Self, TokensError> {
        let tokens = Self { file: file.into(), known: RwLock::default() };
        tokens.refresh()?;
        Ok(tokens)
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.look();
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.own.is_empty() && known.shared.is_empty()
    }

    /// Replaces the tokens that all gateways of the cluster share. Invalid ones are skipped with a warning: a mistake
    /// in one must not lock out the others.
    pub fn share(&self, entries: Vec<TokenEntry>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::take(&mut known.shared);
        for entry in entries {
            if let Err(error) = known.shared.add(entry, &before) {
                tracing::warn!(%error, "a token is left out");
            }
        }
    }

    /// Returns all tokens, by name.
    pub fn all(&self) -> Vec<Arc<Token>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let shared = known.shared.all();
        let mut all: Vec<_> = known.own.all().chain(shared).cloned().collect();
        all.sort_by(|one, other| one.entry.name.cmp(&other.entry.name));
        all
    }

    /// Returns the token with this secret. A token that was just created is found; one that was revoked a second ago is
    /// not.
    pub fn find(&self, secret: &str) -> Option<Arc<Token>> {
        self.find_hash(&hash(secret))
    }

    /// Like [`find`](Self::find), by the hash of the secret.
    pub(crate) fn find_hash(&self, hash: &[u8; 32]) -> Option<Arc<Token>> {
        self.look();
        self.known(hash).or_else(|| {
            self.look_again();
            self.known(hash)
        })
    }

    fn known(&self, hash: &[u8; 32]) -> Option<Arc<Token>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.own.find(hash).or_else(|| known.shared.find(hash)).cloned()
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Creates a token. Returns its secret, which is not stored.
    ///
    /// # Errors
    /// The name is taken, a pattern is invalid, or the file cannot be written.
    pub fn create(&self, new: NewToken) -> Result<String, TokensError> {
        let _lock = file::lock(&self.file)?;
        let mut entries = file::read(&self.file)?;
        if entries.iter().any(|entry| entry.name == new.name) {
            return Err(TokensError::Taken(new.name));
        }
        let (entry, secret) = new.entry()?;
        entries.push(entry);
        file::write(&self.file, &entries)?;
        self.refresh()?;
        Ok(secret)
    }

    /// Revokes a token.
    ///
    /// # Errors
    /// No token has this name, or the file cannot be written.
    pub fn revoke(&self, name: &str) -> Result<(), TokensError> {
        let _lock = file::lock(&self.file)?;
        let mut entries = file::read(&self.file)?;
        let before = entries.len();
        entries.retain(|entry| entry.name != name);
        if entries.len() == before {
            return Err(TokensError::Unknown(name.to_owned()));
        }
        file::write(&self.file, &entries)?;
        self.refresh()
    }

    /// Reads the file again if it may have changed.
    fn look(&self) {
        let looked = self.known.read().unwrap_or_else(PoisonError::into_inner).looked;
        if looked.is_none_or(|looked| looked.elapsed() >= FRESH) {
            self.try_refresh();
        }
    }

    /// Reads the file again if it has changed since the last try. Junk tokens cost only a look at the file's time,
    /// since their senders cannot change the file.
    fn look_again(&self) {
        let stamp = file::stamp(&self.file);
        let tried = self.known.read().unwrap_or_else(PoisonError::into_inner).tried;
        if stamp != tried {
            self.try_refresh();
        }
    }

    fn try_refresh(&self) {
        if let Err(error) = self.refresh() {
            // The known tokens stay valid: a mistake in the file must not lock everybody out.
            tracing::warn!(error = &error as &dyn std::error::Error, "tokens stay as they were");
        }
    }

    fn refresh(&self) -> Result<(), TokensError> {
        let stamp = file::stamp(&self.file);
        let mut known_now = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known_now.looked = Some(Instant::now());
        known_now.tried = stamp;
        if known_now.stamp == stamp && stamp.is_some() {
            return Ok(());
        }
        let mut own = TokenSet::default();
        for entry in file::read(&self.file)? {
            own.add(entry, &known_now.own)?;
        }
        known_now.own = own;
        known_now.stamp = stamp;
        Ok(())
    }
}

pub(crate) fn hash(secret: &str) -> [u8; 32] {
    // The secret has 256 random bits, so a slow hash would only cost time.
    Sha256::digest(secret.as_bytes()).into()
}
