//! What is believed of a bucket if the cluster has a key, and what is put right.

use bytes::Bytes;
use serde::Serialize;
use switchboard_workers::{
    Bucket, Purpose, Signer,
    sign::{self, Opened},
    transport::{Entry, KeyValue},
};
use tokio::time::Instant;

use super::{Entries, Mirror, MirrorEntry, under};
use crate::Error;

/// What was put there without a right to, and what belongs there.
pub(super) struct Wrong {
    key: String,
    whole: Bytes,
    /// What it has to replace; 0: nothing.
    revision: u64,
}

impl Mirror {
    /// Whether entries that begin so can be changed by us: what others have signed we can only read without the key.
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

    /// What lies under a key although nobody has signed it, or with a key of the cluster that is about to be replaced.
    ///
    /// # Errors
    /// NATS cannot be reached.
    pub async fn unsigned(&self, key: &str) -> Result<Option<Bytes>, Error> {
        let Some(Entry { value: Some(value), .. }) = self.entry(key).await? else {
            return Ok(None);
        };
        Ok(match self.signer().open(self.purpose(), &[key], &value) {
            Ok(Opened { signed: Some(signed), .. }) if signed.is_current => None,
            // What was removed is nothing to sign.
            Ok(opened) => Some(opened.body).filter(|body| !body.is_empty()),
            Err(_) if sign::is_signed(&value) => None,
            Err(_) => Some(value),
        })
    }

    /// The keys of all that lies there, whoever put it there.
    ///
    /// # Errors
    /// NATS cannot be reached.
    pub async fn keys(&self) -> Result<Vec<String>, Error> {
        let keys = self.store().await?.keys().await;
        keys.map_err(|reason| self.refused("list a bucket", reason))
    }

    /// Takes what was read anew for what is there. With a key, what lasts and is missing, or older than what we know, was taken
    /// away by somebody who had no right to: it is put back.
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
                    // Servers that lost what they kept count anew.
                    fresh.insert(key.clone(), MirrorEntry { revision, ..known.clone() });
                }
            }
            *entries = fresh;
        }
        self.changed();
        self.put_right(store, wrong).await;
    }

    /// Takes in what NATS says of an entry. Returns what has to be put right, if it was changed by somebody who had no right to.
    pub(super) fn apply(&self, entries: &mut Entries, entry: Entry) -> Option<Wrong> {
        let Entry { key, value, revision, .. } = entry;
        let known = entries.get(&key);
        // What we wrote ourselves may be known before it is told.
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
                // A node with another key, which would put back what it knows in turn.
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

    /// A value of the bucket, if it may be believed.
    pub(super) fn open(&self, key: &str, whole: Bytes, revision: u64) -> Option<MirrorEntry> {
        let opened = self.signer().open(self.purpose(), &[key], &whole);
        let refused = |error: &_| self.signer().refused(self.purpose(), key, error);
        let Opened { body: value, signed } = opened.inspect_err(refused).ok()?;
        let signed_ms = signed.map_or(0, |signed| signed.at_ms);
        Some(MirrorEntry { whole, value, signed_ms, revision, seen: Instant::now() })
    }

    /// A value for the bucket, signed later than the one that it replaces.
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

    /// Whether an older value under this key would be harmful: then nothing that was signed earlier takes the place of what is
    /// known, and nothing is gone before somebody signs that it is.
    pub(super) fn is_lasting(&self, key: &str) -> bool {
        self.signer().has_key()
            && match self.bucket {
                Bucket::Tokens => true,
                Bucket::Approvals => key.starts_with("rule."),
                Bucket::Sessions => key.starts_with("console."),
                _ => false,
            }
    }

    /// What has to be put right; sessions end by themselves, and are swept away.
    fn wrong(&self, key: &str, known: &MirrorEntry, revision: u64) -> Option<Wrong> {
        let is_put_back = self.is_lasting(key) && self.bucket != Bucket::Sessions;
        let (key, whole) = (key.to_owned(), known.whole.clone());
        is_put_back.then_some(Wrong { key, whole, revision })
    }

    /// Puts back what belongs there, unless somebody else has changed it meanwhile.
    pub(super) async fn put_right(
        &self,
        store: &dyn KeyValue,
        wrong: impl IntoIterator<Item = Wrong>,
    ) {
        for Wrong { key, whole, revision } in wrong {
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
