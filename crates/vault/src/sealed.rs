//! The vault's file: what it says in the clear, and how the rest is sealed.

use base64::{Engine, prelude::BASE64_STANDARD};
use ring::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    rand::{SecureRandom, SystemRandom},
};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::key::{Key, KeyPlace};

/// The version of the file's format.
const VERSION: u32 = 1;

/// The file as it is on disk.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SealedFile {
    version: u32,
    /// Where the key is.
    pub(super) key: KeyPlace,
    /// Which key it is.
    pub(super) key_id: String,
    /// A nonce and the encrypted contents, in Base64.
    sealed: String,
}

/// Why a file cannot be opened.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum OpenError {
    #[error("it is not a vault: {0}")]
    Malformed(String),
    #[error("its format {0} is newer than this program")]
    Version(u32),
    #[error("it does not open with its key: the file is damaged or the key is another one")]
    Key,
}

impl SealedFile {
    /// Encrypts `contents`.
    ///
    /// # Errors
    /// The system has no randomness.
    pub(super) fn seal(
        contents: &[u8],
        key: &Key,
        place: KeyPlace,
    ) -> Result<Self, ring::error::Unspecified> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce)?;
        let mut bytes =
            Zeroizing::new(Vec::with_capacity(contents.len() + CHACHA20_POLY1305.tag_len()));
        bytes.extend_from_slice(contents);
        let associated = associated(place, &key.id);
        let sealing = sealing_key(key)?;
        sealing.seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(associated),
            &mut *bytes,
        )?;
        let sealed = BASE64_STANDARD.encode([&nonce, &bytes[..]].concat());
        Ok(Self { version: VERSION, key: place, key_id: key.id.clone(), sealed })
    }

    pub(super) fn parse(text: &[u8]) -> Result<Self, OpenError> {
        let file: Self = serde_json::from_slice(text)
            .map_err(|error| OpenError::Malformed(error.to_string()))?;
        if file.version == VERSION { Ok(file) } else { Err(OpenError::Version(file.version)) }
    }

    /// Decrypts the contents.
    pub(super) fn open(&self, key: &Key) -> Result<Zeroizing<Vec<u8>>, OpenError> {
        let bytes = BASE64_STANDARD.decode(&self.sealed);
        let mut bytes =
            Zeroizing::new(bytes.map_err(|error| OpenError::Malformed(error.to_string()))?);
        let nonce = bytes.first_chunk::<NONCE_LEN>().copied().ok_or(OpenError::Key)?;
        let opening = sealing_key(key).map_err(|_| OpenError::Key)?;
        let associated = Aad::from(associated(self.key, &self.key_id));
        let nonce = Nonce::assume_unique_for_key(nonce);
        let opened = opening.open_within(nonce, associated, &mut bytes, NONCE_LEN..);
        let length = opened.map_err(|_| OpenError::Key)?.len();
        bytes.truncate(length);
        Ok(bytes)
    }
}

fn sealing_key(key: &Key) -> Result<LessSafeKey, ring::error::Unspecified> {
    Ok(LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key.bytes())?))
}

/// Everything that is in the clear is authenticated too.
fn associated(place: KeyPlace, id: &str) -> Vec<u8> {
    format!("switchboard vault {VERSION} {place} {id}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    // AU-2
    #[test]
    fn only_the_key_opens_what_it_sealed() {
        let (key, other) = (Key::new().unwrap(), Key::new().unwrap());
        let file = SealedFile::seal(b"hunter2", &key, KeyPlace::File).unwrap();
        let text = serde_json::to_vec(&file).unwrap();
        let read = SealedFile::parse(&text).unwrap();
        assert_eq!(&**read.open(&key).unwrap(), b"hunter2");
        assert_eq!(read.open(&other), Err(OpenError::Key));
        let again = SealedFile::seal(b"hunter2", &key, KeyPlace::File).unwrap();
        assert_ne!(again.sealed, file.sealed, "a nonce is used once");
    }

    // AU-2: also what is in the clear.
    #[test]
    fn a_change_anywhere_is_noticed() {
        let key = Key::new().unwrap();
        let seal = || SealedFile::seal(b"hunter2", &key, KeyPlace::File).unwrap();
        let mut elsewhere = seal();
        elsewhere.key = KeyPlace::Keyring;
        assert_eq!(elsewhere.open(&key), Err(OpenError::Key));
        let mut renamed = seal();
        renamed.key_id.push('0');
        assert_eq!(renamed.open(&key), Err(OpenError::Key));
        let whole = BASE64_STANDARD.decode(seal().sealed).unwrap();
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            let file = SealedFile { sealed: BASE64_STANDARD.encode(&changed), ..seal() };
            assert_eq!(file.open(&key), Err(OpenError::Key), "byte {at}");
            let short = SealedFile { sealed: BASE64_STANDARD.encode(&whole[..at]), ..seal() };
            assert_eq!(short.open(&key), Err(OpenError::Key), "{at} bytes");
        }
    }

    // AU-2
    #[test]
    fn what_is_no_vault_is_told() {
        for text in ["", "{}", "[]", "{\"version\":1}", "\u{0}"] {
            assert!(matches!(SealedFile::parse(text.as_bytes()), Err(OpenError::Malformed(_))));
        }
        let newer = r#"{"version":2,"key":"file","key_id":"x","sealed":""}"#;
        assert_eq!(SealedFile::parse(newer.as_bytes()), Err(OpenError::Version(2)));
    }
}
