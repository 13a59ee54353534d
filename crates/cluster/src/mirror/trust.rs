//! Verifies a bucket's entries if the cluster has a key, and repairs them.

use bytes::Bytes;
use serde::Serialize;
use switchboard_workers::{
    Bucket, Purpose, Signer,
    sign::{self, VerifiedMessage},
    transport::{KeyValue, KeyValueEntry},
};
use tokio::time::Instant;

use super::{Entries, Mirror, MirrorEntry, under};
use crate::Error;

/// An entry that was changed without the key, with its valid content.
pub(super) struct RejectedEntry {
    key: String,
    whole: Bytes,
    /// The revision to replace; 0 if there is none.
    revision: u64,
}

impl Mirror {
    /// Returns whether we may change entries with this prefix: without the key, signed entries can only be read.
    ///
    /// # Errors
    /// They are signed, and we have no key.
    pub fn check_key(&self, beginning: &str) -> Result<(), Error> {
        let entries = self.read();
        let mut found = under(&entries, beginning);
        let is_signed = |(_, kept): (&String, &MirrorEntry)| sign::is_signed(&kept.whole);
        match !self.signer().has_key() && found.any(is_signed) {
            true => Err(Error::NoKey),
            false => Ok(()),
        }
    }

    /// Returns entries that are unsigned, or signed with a key that is being replaced.
    ///
    /// # Errors
    /// NATS cannot be reached.
    pub async fn unsigned(&self, key: &str) -> Result<Option<Bytes>, Error> {
        let Some(KeyValueEntry { value: Some(value), .. }) = self.entry(key).await? else {
            return Ok(None);
        };
        Ok(match self.signer().open(self.purpose(), &[key], &value) {
            Ok(VerifiedMessage { signed: Some(signed), .. }) if signed.is_current => None,
            // A removed entry needs no signature.
            Ok(opened) => Some(opened.body).filter(|body| !body.is_empty()),
            Err(_) if sign::is_signed(&value) => None,
            Err(_) => Some(value),
        })
    }

    /// Returns the keys of all entries, valid or not.
    ///
    /// # Errors
    /// NATS cannot be reached.
    pub async fn keys(&self) -> Result<Vec<String>, Error> {
        let keys = self.store().await?.keys().await;
        keys.map_err(|reason| self.refused("list a bucket", reason))
    }

    /// Replaces the mirror by what was just read. If the cluster has a key, a lasting entry that is missing or older than the one
    /// that we know was changed without the key, and is restored.
    pub(super) async fn replace(&self, store: &dyn KeyValue, fresh: Option<Entries>) {
        let Some(mut fresh) = fresh else { return };
        let mut wrong = Vec::new();
        {
            let mut entries = self.write();
            for (key, known) in entries.iter().filter(|(key, _)| self.is_lasting(key)) {
                let found = fresh.get(key);
                if found.is_none_or(|found| found.signed_ms < known.signed_ms) {
                    let revision = found.map_or(0, |found| found.revision);
                    wrong.extend(self.wrong(key, known, revision));
                    // Servers that lost their data restart their revisions.
                    fresh.insert(key.clone(), MirrorEntry { revision, ..known.clone() });
                }
            }
            *entries = fresh;
        }
        self.changed();
        self.put_right(store, wrong).await;
    }

    /// Applies an entry from NATS. Returns the entry to restore, if it was changed without the key.
    pub(super) fn apply(
        &self,
        entries: &mut Entries,
        entry: KeyValueEntry,
    ) -> Option<RejectedEntry> {
        let KeyValueEntry { key, value, revision, .. } = entry;
        let known = entries.get(&key);
        // Our own write may be applied before NATS delivers it.
        if known.is_some_and(|kept| kept.revision > revision) {
            return None;
        }
        let lasts = self.is_lasting(&key);
        match value {
            Some(value) => match self.open(&key, value.clone(), revision) {
                Some(new)
                    if !lasts || known.is_none_or(|known| known.signed_ms <= new.signed_ms) =>
                {
                    entries.insert(key, new);
                    None
                }
                // Signed with another key: that node would restore its own value in turn.
                None if sign::is_signed(&value) => None,
                _ => known.and_then(|known| self.wrong(&key, known, revision)),
            },
            None if lasts => known.and_then(|known| self.wrong(&key, known, revision)),
            None => {
                entries.remove(&key);
                None
            }
        }
    }

    /// Verifies a stored value; `None` if it must not be trusted.
    pub(super) fn open(&self, key: &str, whole: Bytes, revision: u64) -> Option<MirrorEntry> {
        let opened = self.signer().open(self.purpose(), &[key], &whole);
        let refused = |error: &_| self.signer().refused(self.purpose(), key, error);
        let VerifiedMessage { body: value, signed } = opened.inspect_err(refused).ok()?;
        let signed_ms = signed.map_or(0, |signed| signed.at_ms);
        Some(MirrorEntry { whole, value, signed_ms, revision, seen: Instant::now() })
    }

    /// Signs a value for the bucket, later than the one that it replaces.
    pub(super) fn signed(&self, key: &str, value: &impl Serialize) -> Result<Bytes, Error> {
        let before = self.signed_ms(key);
        Ok(self.signer().write_after(self.purpose(), &[key], value, before)?)
    }

    pub(super) fn signed_ms(&self, key: &str) -> u64 {
        self.read().get(key).map_or(0, |kept| kept.signed_ms)
    }

    /// Whether the cluster has a key.
    pub fn is_signed(&self) -> bool {
        self.signer().has_key()
    }

    pub(super) fn signer(&self) -> &Signer {
        self.cluster.signer()
    }

    pub(super) fn purpose(&self) -> Purpose {
        Purpose::Entry(self.bucket)
    }

    /// Whether an older value of this key would be harmful: then a value that was signed earlier never replaces the known one,
    /// and an entry counts as removed only if that is signed.
    pub(super) fn is_lasting(&self, key: &str) -> bool {
        self.signer().has_key()
            && match self.bucket {
                Bucket::Tokens => true,
                Bucket::Approvals => key.starts_with("rule."),
                Bucket::Sessions => key.starts_with("console."),
                Bucket::Credentials => key.starts_with("in."),
                _ => false,
            }
    }

    /// Returns the entry to restore, if any; sessions are not restored, because they expire.
    fn wrong(&self, key: &str, known: &MirrorEntry, revision: u64) -> Option<RejectedEntry> {
        let is_put_back = self.is_lasting(key) && self.bucket != Bucket::Sessions;
        let (key, whole) = (key.to_owned(), known.whole.clone());
        is_put_back.then_some(RejectedEntry { key, whole, revision })
    }

    /// Restores an entry, unless it has been changed meanwhile.
    pub(super) async fn put_right(
        &self,
        store: &dyn KeyValue,
        wrong: impl IntoIterator<Item = RejectedEntry>,
    ) {
        for RejectedEntry { key, whole, revision } in wrong {
            let put = match revision {
                0 => store.create(&key, whole).await,
                _ => store.update(&key, whole, revision).await,
            };
            match put {
                Ok(Some(_)) => tracing::warn!(
                    key,
                    bucket = self.bucket.word(),
                    "somebody without the key had changed it; it is put back"
                ),
                Ok(None) => tracing::debug!(key, "somebody else was faster"),
                Err(error) => tracing::debug!(error, key, "it is not put back"),
            }
        }
    }
}
