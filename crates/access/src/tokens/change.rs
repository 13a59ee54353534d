//! Changes of stored tokens, each of which happens as a whole or not at all.

use std::sync::Arc;

use super::{TokenEntry, Tokens, TokensError, file};

/// Decides how a stored token changes. Runs again if somebody else changed the token meanwhile.
pub type TokenChange = Arc<dyn Fn(&TokenEntry) -> ChangedToken + Send + Sync>;

/// What becomes of a stored token.
#[derive(Debug)]
pub enum ChangedToken {
    /// It stays as it is.
    Same,
    /// It is replaced.
    Put(Box<TokenEntry>),
    /// It is removed.
    Gone,
}

impl Tokens {
    /// Stores an entry. Returns false if its name is taken.
    pub(crate) fn insert(&self, entry: TokenEntry) -> Result<bool, TokensError> {
        let _lock = file::lock(&self.file)?;
        let mut entries = file::read(&self.file)?;
        if entries.iter().any(|known| known.name == entry.name) {
            return Ok(false);
        }
        entries.push(entry);
        file::write(&self.file, &entries)?;
        self.refresh()?;
        Ok(true)
    }

    /// Changes the token with this name, if there is one.
    pub(crate) fn change(&self, name: &str, change: &TokenChange) -> Result<(), TokensError> {
        let _lock = file::lock(&self.file)?;
        let mut entries = file::read(&self.file)?;
        let Some(place) = entries.iter().position(|entry| entry.name == name) else {
            return Ok(());
        };
        match change(&entries[place]) {
            ChangedToken::Same => return Ok(()),
            ChangedToken::Put(entry) => entries[place] = *entry,
            ChangedToken::Gone => drop(entries.remove(place)),
        }
        file::write(&self.file, &entries)?;
        self.refresh()
    }
}
