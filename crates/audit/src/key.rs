//! The key that lines are signed with (`[audit] key`): without it nobody can write lines that verify.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Deserializer, de::Error as _};
use sha2::{Digest, Sha256};

use crate::chain::hex;

/// How many bytes SHA-256 takes at a time.
const BLOCK: usize = 64;
/// The shortest key: shorter ones can be guessed.
const SHORTEST: usize = 16;

/// A key for HMAC-SHA-256. Cheap to clone; `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey(Arc<[u8; BLOCK]>);

impl SigningKey {
    /// Creates a key of a text.
    ///
    /// # Errors
    /// The text has less than 16 characters.
    pub fn new(text: &str) -> Result<Self, String> {
        if text.chars().count() < SHORTEST {
            return Err(format!("the key of the records needs at least {SHORTEST} characters"));
        }
        let mut block = [0; BLOCK];
        match text.len() <= BLOCK {
            true => block[..text.len()].copy_from_slice(text.as_bytes()),
            false => block[..32].copy_from_slice(&Sha256::digest(text)),
        }
        Ok(Self(Arc::new(block)))
    }

    /// Returns the HMAC of the concatenated parts, in hex digits.
    pub(crate) fn sign(&self, parts: &[&[u8]]) -> [u8; 64] {
        let keyed = |pad: u8| {
            let mut hasher = Sha256::new();
            hasher.update(self.0.map(|byte| byte ^ pad));
            hasher
        };
        let (mut inner, mut outer) = (keyed(0x36), keyed(0x5c));
        parts.iter().for_each(|part| inner.update(part));
        outer.update(inner.finalize());
        hex(outer.finalize().into())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

impl<'de> Deserialize<'de> for SigningKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// The folder of a store, and the key of its lines, if they are signed.
#[derive(Clone, Debug)]
pub struct StoreFolder {
    /// The folder.
    pub path: PathBuf,
    /// The key.
    pub key: Option<SigningKey>,
}

impl<P: Into<PathBuf>> From<P> for StoreFolder {
    fn from(path: P) -> Self {
        Self { path: path.into(), key: None }
    }
}

impl StoreFolder {
    /// Sets the key of its lines.
    pub fn with_key(path: &Path, key: Option<SigningKey>) -> Self {
        Self { path: path.to_owned(), key }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // RC-3
    #[test]
    fn signatures_are_those_of_hmac_sha_256() {
        let signed = |key: &str, text: &str| {
            let digits = SigningKey::new(key).unwrap().sign(&[text.as_bytes()]);
            String::from_utf8(digits.to_vec()).unwrap()
        };
        // printf %s text | openssl dgst -sha256 -hmac key
        assert_eq!(
            signed("0123456789abcdef", "what do ya want for nothing?"),
            "e9265dc1bf18d4ec36915d9e82226c7ea0fa4e7f8077f611515bd5e29ec9988c"
        );
        assert_eq!(
            signed(&"k".repeat(100), "Test Using Larger Than Block-Size Key"),
            "a5d81dde3923c7c8898faecb702b7ae392a13d0a88a45cc5a3bb4da80f466b88"
        );
        assert!(SigningKey::new("fifteen letters").unwrap_err().contains("16"));
        assert_eq!(format!("{:?}", SigningKey::new("0123456789abcdef").unwrap()), "Key(…)");
    }
}
