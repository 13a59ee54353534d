//! Compare-and-set of an entry that may be missing.

use bytes::Bytes;
use serde::Serialize;

use super::{Mirror, TRIES};
use crate::Error;

impl Mirror {
    /// Decides about the value of a key, which may be missing, and writes what comes of it. `decide` runs again if somebody else
    /// was faster; it returns the new value, if there is to be one, and what this returns then.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached or refuses it, or `decide` fails.
    pub(crate) async fn swap<T: Serialize, R>(
        &self,
        key: &str,
        decide: impl Fn(Option<&Bytes>) -> Result<(Option<T>, R), Error> + Send + Sync,
    ) -> Result<R, Error> {
        let failed = |reason| self.refused("keep a value", reason);
        for _ in 0..TRIES {
            let entry = self.entry(key).await?;
            let revision = entry.as_ref().map(|entry| entry.revision);
            let value = match entry {
                Some(entry) => self.taken_in(entry),
                None => self.value(key).filter(|_| self.is_lasting(key)),
            };
            let (new, outcome) = decide(value.as_ref())?;
            let Some(new) = new else { return Ok(outcome) };
            let (store, whole) = (self.store().await?, self.signed(key, &new)?);
            let written = match revision {
                Some(revision) => store.update(key, whole.clone(), revision).await,
                None => store.create(key, whole.clone()).await,
            };
            if let Some(revision) = written.map_err(failed)? {
                self.see(key, whole, revision);
                return Ok(outcome);
            }
        }
        Err(failed("others were always faster".into()))
    }

    /// Returns the revision of a key's value, as it was last seen; 0 if there is none.
    pub(crate) fn revision(&self, key: &str) -> u64 {
        self.read().get(key).map_or(0, |known| known.revision)
    }

    /// Returns the value of a key, from NATS if that can be reached, else as it was last seen.
    pub(crate) async fn latest(&self, key: &str) -> Result<Option<Bytes>, Error> {
        match self.fetch(key).await {
            Err(Error::Away { .. }) => Ok(self.value(key)),
            fetched => fetched,
        }
    }
}
