//! Encrypts what gateways store for each other: ChaCha20-Poly1305, with a key that is derived from the cluster's and stored
//! nowhere.

use base64::{Engine, engine::general_purpose::STANDARD};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Serialize, de::DeserializeOwned};
use switchboard_workers::Signer;
use zeroize::Zeroizing;

use crate::Error;

/// Seals values, each for one place.
pub(crate) struct ValueSeal {
    /// The first one seals; all of them open.
    keys: Vec<LessSafeKey>,
}

impl ValueSeal {
    /// Derives the keys for this purpose; `None` if the cluster has no key.
    pub(crate) fn new(signer: &Signer, purpose: &str) -> Option<Self> {
        let secrets = signer.secrets(purpose).into_iter().map(Zeroizing::new);
        let keys = secrets.map(|secret| UnboundKey::new(&CHACHA20_POLY1305, &*secret).ok());
        let keys: Vec<_> = keys.map(|key| key.map(LessSafeKey::new)).collect::<Option<_>>()?;
        (!keys.is_empty()).then_some(Self { keys })
    }

    /// Encrypts a value, which then opens at this place only.
    ///
    /// # Errors
    /// The system has no randomness.
    pub(crate) fn seal(&self, place: &str, value: &impl Serialize) -> Result<String, Error> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|_| Error::Random)?;
        let mut bytes = Zeroizing::new(serde_json::to_vec(value).map_err(|_| Error::Sealed)?);
        let key = self.keys.first().ok_or(Error::NoKey)?;
        let sealed = key.seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(place.as_bytes()),
            &mut bytes,
        );
        let tag = sealed.map_err(|_| Error::Sealed)?;
        Ok(STANDARD.encode([&nonce[..], &bytes[..], tag.as_ref()].concat()))
    }

    /// Decrypts a value that was sealed for this place.
    ///
    /// # Errors
    /// It was sealed with another key or for another place, or was changed.
    pub(crate) fn open<T: DeserializeOwned>(&self, place: &str, sealed: &str) -> Result<T, Error> {
        let sealed = STANDARD.decode(sealed).map_err(|_| Error::Sealed)?;
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>().ok_or(Error::Sealed)?;
        let open = |key: &LessSafeKey| {
            let mut bytes = Zeroizing::new(sealed.to_vec());
            let nonce = Nonce::assume_unique_for_key(*nonce);
            let opened = key.open_in_place(nonce, Aad::from(place.as_bytes()), &mut bytes).ok()?;
            serde_json::from_slice(opened).ok()
        };
        self.keys.iter().find_map(open).ok_or(Error::Sealed)
    }
}

#[cfg(test)]
mod tests {
    use switchboard_workers::ClusterSecrets;

    use super::*;

    const ONE: &str = "the first secret of the cluster, long enough";
    const TWO: &str = "another secret of the cluster, as long as it";

    fn seal(secrets: &[&str]) -> ValueSeal {
        let secrets = secrets.iter().map(|secret| (*secret).to_owned()).collect();
        let signer = Signer::new(Some(&ClusterSecrets::Several(secrets))).unwrap();
        ValueSeal::new(&signer, "sign-ins").unwrap()
    }

    // AU-2
    #[test]
    fn only_the_clusters_key_opens_what_it_sealed() {
        let sealed = seal(&[ONE]).seal("in.a", &"hunter2").unwrap();
        assert!(!STANDARD.decode(&sealed).unwrap().windows(7).any(|bytes| bytes == b"hunter2"));
        assert_eq!(seal(&[ONE]).open::<String>("in.a", &sealed).unwrap(), "hunter2");
        // While the key is replaced, the old one still opens.
        assert_eq!(seal(&[TWO, ONE]).open::<String>("in.a", &sealed).unwrap(), "hunter2");
        assert!(seal(&[TWO]).open::<String>("in.a", &sealed).is_err());
        assert!(seal(&[ONE]).open::<String>("in.b", &sealed).is_err(), "it is for one place");
        assert_ne!(seal(&[ONE]).seal("in.a", &"hunter2").unwrap(), sealed, "a nonce is used once");
        assert!(ValueSeal::new(&Signer::new(None).unwrap(), "sign-ins").is_none());
        let bytes = STANDARD.decode(&sealed).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(seal(&[ONE]).open::<String>("in.a", &STANDARD.encode(&changed)).is_err());
            assert!(seal(&[ONE]).open::<String>("in.a", &STANDARD.encode(&bytes[..at])).is_err());
        }
    }
}
