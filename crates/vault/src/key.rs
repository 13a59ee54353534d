//! The vault's keys: one that seals, and during a rotation the one before it.

use std::fmt;

use base64::{Engine, prelude::BASE64_STANDARD};
use ring::{
    digest,
    rand::{SecureRandom, SystemRandom},
};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// Where the key of a vault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyPlace {
    /// In the system's keyring.
    Keyring,
    /// In a file beside the vault.
    File,
}

impl fmt::Display for KeyPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keyring => "keyring",
            Self::File => "file",
        })
    }
}

const LENGTH: usize = 32;

/// A key that seals vaults.
#[derive(Clone)]
pub(super) struct Key {
    /// The start of the key's digest: says which key it is and nothing of it.
    pub(super) id: String,
    bytes: Zeroizing<[u8; LENGTH]>,
}

impl Key {
    /// Creates a random key.
    ///
    /// # Errors
    /// The system has no randomness.
    pub(super) fn new() -> Result<Self, ring::error::Unspecified> {
        let mut bytes = Zeroizing::new([0; LENGTH]);
        SystemRandom::new().fill(&mut *bytes)?;
        Ok(Self::of(bytes))
    }

    fn of(bytes: Zeroizing<[u8; LENGTH]>) -> Self {
        let digest = digest::digest(&digest::SHA256, &*bytes);
        let id = digest.as_ref()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        Self { id, bytes }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &*self.bytes
    }
}

/// The keys as they are stored: one on each line, in Base64.
#[derive(Clone, Default)]
pub(super) struct Keys(pub(super) Vec<Key>);

impl Keys {
    /// Returns the key with this id.
    pub(super) fn get(&self, id: &str) -> Option<&Key> {
        self.0.iter().find(|key| key.id == id)
    }

    pub(super) fn to_text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(self.0.len() * 2 * LENGTH));
        for key in &self.0 {
            BASE64_STANDARD.encode_string(*key.bytes, &mut text);
            text.push('\n');
        }
        text
    }

    /// Returns `None` if the text is not a list of keys.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let key = |line: &str| {
            let mut bytes = Zeroizing::new([0; LENGTH]);
            let decoded = Zeroizing::new(BASE64_STANDARD.decode(line.trim()).ok()?);
            bytes.copy_from_slice(decoded.get(..LENGTH).filter(|_| decoded.len() == LENGTH)?);
            Some(Key::of(bytes))
        };
        let keys: Vec<_> = text.lines().map(key).collect::<Option<_>>()?;
        (!keys.is_empty()).then_some(Self(keys))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // AU-2
    #[test]
    fn keys_are_read_as_they_were_written() {
        let keys = Keys(vec![Key::new().unwrap(), Key::new().unwrap()]);
        let read = Keys::from_text(&keys.to_text()).unwrap();
        for key in &keys.0 {
            assert_eq!(read.get(&key.id).unwrap().bytes(), key.bytes());
        }
        assert!(read.get("0123456789abcdef").is_none());
        for wrong in ["", "abc", "AAAA", "not base64!"] {
            assert!(Keys::from_text(wrong).is_none(), "{wrong}");
        }
    }
}
