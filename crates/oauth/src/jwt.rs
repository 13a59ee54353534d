//! JSON Web Tokens that we sign ourselves: who we are as a client (RFC 7523), and proofs of possession (RFC 9449).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    rsa,
    signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair},
};
use rustls::pki_types::{PrivateKeyDer, pem::PemObject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_vault::Secret;

use super::error::Error;

/// Returns when a JWT ends, in seconds since 1970. `None` if it does not say so. Its signature is not checked: whoever let
/// its bearer in has done that.
pub(super) fn end(token: &Secret) -> Option<u64> {
    let claims = URL_SAFE_NO_PAD.decode(token.expose().split('.').nth(1)?).ok()?;
    serde_json::from_slice::<Value>(&claims).ok()?["exp"].as_f64().map(|seconds| seconds as u64)
}

/// How a token is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SigningAlgorithm {
    /// ECDSA on P-256 with SHA-256.
    ES256,
    /// ECDSA on P-384 with SHA-384.
    ES384,
    /// RSA PKCS #1 with SHA-256.
    RS256,
    /// RSA PKCS #1 with SHA-384.
    RS384,
    /// RSA PKCS #1 with SHA-512.
    RS512,
    /// RSA PSS with SHA-256.
    PS256,
    /// RSA PSS with SHA-384.
    PS384,
    /// RSA PSS with SHA-512.
    PS512,
    /// Ed25519.
    EdDSA,
}

/// A private key, ready to sign with one algorithm.
pub(super) struct JwtSigningKey {
    algorithm: SigningAlgorithm,
    pair: SigningKeyPair,
}

enum SigningKeyPair {
    Ecdsa(EcdsaKeyPair),
    Rsa(rsa::KeyPair, &'static dyn signature::RsaEncoding),
    Ed25519(Ed25519KeyPair),
}

impl JwtSigningKey {
    /// Reads a private key in PEM: PKCS #8, or PKCS #1 for RSA. Without an algorithm, the first one that the key fits is used.
    ///
    /// # Errors
    /// It is no such key, or the algorithm needs another kind. The message has nothing of the key.
    pub(super) fn from_pem(
        pem: &Secret,
        algorithm: Option<SigningAlgorithm>,
    ) -> Result<Self, Error> {
        let der = PrivateKeyDer::from_pem_slice(pem.expose().as_bytes()).map_err(|_| {
            unusable("it is not a private key in PEM (`-----BEGIN PRIVATE KEY-----`)".to_owned())
        })?;
        let usual = [
            SigningAlgorithm::ES256,
            SigningAlgorithm::ES384,
            SigningAlgorithm::RS256,
            SigningAlgorithm::EdDSA,
        ];
        let tried = match &algorithm {
            Some(one) => std::slice::from_ref(one),
            None => &usual[..],
        };
        let found = tried.iter().find_map(|algorithm| Self::from_der(&der, *algorithm));
        found.ok_or_else(|| {
            unusable(match algorithm {
                Some(algorithm) => format!("it is not a key for {algorithm:?}"),
                None => "it is neither of P-256, P-384, RSA nor Ed25519".to_owned(),
            })
        })
    }

    /// Reads a P-256 key of [`generate`](Self::generate).
    pub(super) fn from_pkcs8(bytes: &[u8]) -> Option<Self> {
        let pair = ecdsa(SigningAlgorithm::ES256, bytes)?;
        Some(Self { algorithm: SigningAlgorithm::ES256, pair })
    }

    /// Creates a P-256 key, in PKCS #8.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(super) fn generate() -> Result<Vec<u8>, Error> {
        let algorithm = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new());
        Ok(key.map_err(|_| no_random_numbers())?.as_ref().to_vec())
    }

    fn from_der(der: &PrivateKeyDer<'_>, algorithm: SigningAlgorithm) -> Option<Self> {
        use SigningAlgorithm::{ES256, ES384, EdDSA};
        let pair = match (algorithm, der) {
            (ES256 | ES384, PrivateKeyDer::Pkcs8(key)) => ecdsa(algorithm, key.secret_pkcs8_der())?,
            (EdDSA, PrivateKeyDer::Pkcs8(key)) => SigningKeyPair::Ed25519(
                Ed25519KeyPair::from_pkcs8_maybe_unchecked(key.secret_pkcs8_der()).ok()?,
            ),
            (_, PrivateKeyDer::Pkcs8(key)) => SigningKeyPair::Rsa(
                rsa::KeyPair::from_pkcs8(key.secret_pkcs8_der()).ok()?,
                rsa_encoding(algorithm)?,
            ),
            (_, PrivateKeyDer::Pkcs1(key)) => SigningKeyPair::Rsa(
                rsa::KeyPair::from_der(key.secret_pkcs1_der()).ok()?,
                rsa_encoding(algorithm)?,
            ),
            _ => return None,
        };
        Some(Self { algorithm, pair })
    }

    /// Signs a token; `alg` is added to its header.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(super) fn sign(&self, mut header: Value, claims: &Value) -> Result<String, Error> {
        header["alg"] = json!(format!("{:?}", self.algorithm));
        let encode = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let text = format!("{}.{}", encode(&header), encode(claims));
        let random = SystemRandom::new();
        let signature = match &self.pair {
            SigningKeyPair::Ecdsa(pair) => pair
                .sign(&random, text.as_bytes())
                .map_err(|_| no_random_numbers())?
                .as_ref()
                .to_vec(),
            SigningKeyPair::Rsa(pair, encoding) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(*encoding, &random, text.as_bytes(), &mut signature)
                    .map_err(|_| no_random_numbers())?;
                signature
            }
            SigningKeyPair::Ed25519(pair) => pair.sign(text.as_bytes()).as_ref().to_vec(),
        };
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// The two coordinates of the public key; `None` unless it is on P-256.
    pub(super) fn coordinates(&self) -> Option<(String, String)> {
        let SigningKeyPair::Ecdsa(pair) = &self.pair else { return None };
        // 4, then both coordinates.
        let point = pair.public_key().as_ref();
        let (x, y) = point.get(1..65)?.split_at(32);
        Some((URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y)))
    }
}

fn ecdsa(algorithm: SigningAlgorithm, bytes: &[u8]) -> Option<SigningKeyPair> {
    let kind = match algorithm {
        SigningAlgorithm::ES256 => &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
        _ => &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
    };
    EcdsaKeyPair::from_pkcs8(kind, bytes, &SystemRandom::new()).ok().map(SigningKeyPair::Ecdsa)
}

fn rsa_encoding(algorithm: SigningAlgorithm) -> Option<&'static dyn signature::RsaEncoding> {
    Some(match algorithm {
        SigningAlgorithm::RS256 => &signature::RSA_PKCS1_SHA256,
        SigningAlgorithm::RS384 => &signature::RSA_PKCS1_SHA384,
        SigningAlgorithm::RS512 => &signature::RSA_PKCS1_SHA512,
        SigningAlgorithm::PS256 => &signature::RSA_PSS_SHA256,
        SigningAlgorithm::PS384 => &signature::RSA_PSS_SHA384,
        SigningAlgorithm::PS512 => &signature::RSA_PSS_SHA512,
        _ => return None,
    })
}

fn unusable(reason: String) -> Error {
    Error::Settings(format!("`private_key` cannot be used: {reason}"))
}

fn no_random_numbers() -> Error {
    Error::Metadata("the system has no random numbers".to_owned())
}

#[cfg(test)]
mod tests {
    use base64::prelude::BASE64_STANDARD;
    use ring::signature::UnparsedPublicKey;

    use super::*;

    fn pem(kind: &str, der: &[u8]) -> Secret {
        let text = BASE64_STANDARD.encode(der);
        format!("-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n").into()
    }

    // AU-3
    #[test]
    fn tokens_are_signed_as_the_key_allows() {
        let random = SystemRandom::new();
        let p384 = &signature::ECDSA_P384_SHA384_FIXED_SIGNING;
        let p384 = EcdsaKeyPair::generate_pkcs8(p384, &random).unwrap();
        let ed25519 = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        for (der, algorithm, verification) in [
            (
                JwtSigningKey::generate().unwrap(),
                "ES256",
                &signature::ECDSA_P256_SHA256_FIXED
                    as &'static dyn signature::VerificationAlgorithm,
            ),
            (p384.as_ref().to_vec(), "ES384", &signature::ECDSA_P384_SHA384_FIXED),
            (ed25519.as_ref().to_vec(), "EdDSA", &signature::ED25519),
        ] {
            let key = JwtSigningKey::from_pem(&pem("PRIVATE KEY", &der), None).unwrap();
            let token = key.sign(json!({}), &json!({"a": 1})).unwrap();
            let (text, signed) = token.rsplit_once('.').unwrap();
            let header = URL_SAFE_NO_PAD.decode(text.split_once('.').unwrap().0).unwrap();
            assert_eq!(header, format!("{{\"alg\":\"{algorithm}\"}}").as_bytes());
            let public: &[u8] = match &key.pair {
                SigningKeyPair::Ecdsa(pair) => pair.public_key().as_ref(),
                SigningKeyPair::Ed25519(pair) => pair.public_key().as_ref(),
                SigningKeyPair::Rsa(..) => unreachable!(),
            };
            let signed = URL_SAFE_NO_PAD.decode(signed).unwrap();
            UnparsedPublicKey::new(verification, public).verify(text.as_bytes(), &signed).unwrap();
        }
    }

    // AU-3
    #[test]
    fn the_end_of_a_token_is_read() {
        let token = |claims: &str| format!("e30.{}.x", URL_SAFE_NO_PAD.encode(claims));
        for (text, expected) in [
            (token("{\"exp\":1794000000}"), Some(1_794_000_000)),
            (token("{\"exp\":1794000000.9}"), Some(1_794_000_000)),
            (token("{\"exp\":\"soon\"}"), None),
            (token("{}"), None),
            (token("no JSON"), None),
            ("opaque".to_owned(), None),
        ] {
            assert_eq!(end(&Secret::from(text.as_str())), expected, "{text}");
        }
    }

    // AU-2, AU-3
    #[test]
    fn a_key_that_cannot_be_used_is_told_without_showing_it() {
        let key = pem("PRIVATE KEY", &JwtSigningKey::generate().unwrap());
        let rsa = Some(SigningAlgorithm::RS256);
        for (key, algorithm, reason) in [
            (Secret::from("hunter2"), None, "not a private key in PEM"),
            (pem("PRIVATE KEY", b"hunter2"), None, "neither of P-256"),
            (key, rsa, "not a key for RS256"),
        ] {
            let error = JwtSigningKey::from_pem(&key, algorithm).err().unwrap().to_string();
            assert!(error.contains(reason) && !error.contains("hunter2"), "{error}");
        }
    }
}
