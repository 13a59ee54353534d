//! What is in a vault: secrets by name, in kinds that do not see each other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::secret::Secret;

/// The decrypted vault: kind → name → secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Contents(BTreeMap<String, BTreeMap<String, Secret>>);

impl Contents {
    pub(super) fn get(&self, kind: &str, name: &str) -> Option<&Secret> {
        self.0.get(kind)?.get(name)
    }

    pub(super) fn names(&self, kind: &str) -> Vec<String> {
        self.0.get(kind).map(|names| names.keys().cloned().collect()).unwrap_or_default()
    }

    /// Sets the secret and returns whether that changes anything.
    pub(super) fn set(&mut self, kind: &str, name: &str, secret: Secret) -> bool {
        let names = self.0.entry(kind.to_owned()).or_default();
        let old = names.insert(name.to_owned(), secret);
        old.as_ref() != names.get(name)
    }

    /// Removes the secret and returns whether it was there.
    pub(super) fn remove(&mut self, kind: &str, name: &str) -> bool {
        self.0.get_mut(kind).is_some_and(|names| names.remove(name).is_some())
    }

    pub(super) fn to_bytes(&self) -> serde_json::Result<Zeroizing<Vec<u8>>> {
        // Written once to be measured, so that no buffer grows and leaves a copy behind.
        let mut length = ByteCount(0);
        serde_json::to_writer(&mut length, self)?;
        let mut bytes = Zeroizing::new(Vec::with_capacity(length.0));
        serde_json::to_writer(&mut *bytes, self)?;
        Ok(bytes)
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(bytes)
    }
}

/// Counts what is written.
struct ByteCount(usize);

impl std::io::Write for ByteCount {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
