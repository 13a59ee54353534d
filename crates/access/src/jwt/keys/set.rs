//! Parses a JSON Web Key Set, as far as its keys can verify signatures.

use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey, Header,
    jwk::{Jwk, KeyAlgorithm, PublicKeyUse},
};
use serde::Deserialize;
use serde_json::Value;

use super::KeysError;

/// A key that may have signed a token.
#[derive(Clone)]
pub(in super::super) struct VerifyingKey {
    id: Option<String>,
    /// The key's use, as the set says.
    algorithm: Option<KeyAlgorithm>,
    pub(in super::super) key: DecodingKey,
}

impl VerifyingKey {
    pub(super) fn fits(&self, header: &Header) -> bool {
        let same_id = match (&self.id, &header.kid) {
            (Some(own), Some(wanted)) => own == wanted,
            // One of them does not say.
            _ => true,
        };
        let algorithm = self.algorithm.map(Algorithm::try_from);
        same_id
            && self.key.family() == header.alg.family()
            && algorithm.is_none_or(|algorithm| algorithm.is_ok_and(|own| own == header.alg))
    }
}

/// Returns the keys of a set that can verify signatures.
pub(super) fn keys(from: &str, text: &[u8]) -> Result<Vec<VerifyingKey>, KeysError> {
    #[derive(Deserialize)]
    struct KeySetDocument {
        keys: Vec<Value>,
    }
    let wrong = |reason: String| KeysError::Format { from: from.to_owned(), reason };
    let set: KeySetDocument = serde_json::from_slice(text)
        .map_err(|error| wrong(format!("it is not a JSON Web Key Set: {error}")))?;
    let keys: Vec<_> = set.keys.into_iter().filter_map(usable).collect();
    match keys.is_empty() {
        true => Err(wrong("none is a public key for signatures (RSA, EC or Ed25519)".to_owned())),
        false => Ok(keys),
    }
}

fn usable(key: Value) -> Option<VerifyingKey> {
    let jwk: Jwk = serde_json::from_value(key).ok()?;
    let key = DecodingKey::from_jwk(&jwk).ok()?;
    let signs = !matches!(jwk.common.public_key_use, Some(PublicKeyUse::Encryption));
    let usable = signs && key.family() != AlgorithmFamily::Hmac;
    usable.then_some(VerifyingKey {
        id: jwk.common.key_id,
        algorithm: jwk.common.key_algorithm,
        key,
    })
}
