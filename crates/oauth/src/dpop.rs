//! Tokens that are good only together with a key of ours (DPoP, RFC 9449).

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::digest;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_toolcall::time::unix_seconds;
use switchboard_vault::Secret;
use url::Url;

use super::{error::Error, http::redacted_url, jwt::JwtSigningKey, random};

/// The header of a proof.
pub(super) const PROOF: &str = "DPoP";
/// The header of a nonce that the next proof must have.
pub const NONCE: &str = "DPoP-Nonce";
/// The error code of a server that wants a nonce.
pub(super) const USE_NONCE: &str = "use_dpop_nonce";

/// The key that the tokens of one sign-in are bound to.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DpopKey {
    /// PKCS #8 in Base64.
    key: Secret,
}

impl fmt::Debug for DpopKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DpopKey")
    }
}

impl DpopKey {
    /// Creates a key.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(super) fn new() -> Result<Self, Error> {
        Ok(Self { key: URL_SAFE_NO_PAD.encode(JwtSigningKey::generate()?).into() })
    }

    /// The key itself.
    pub(super) fn secret(&self) -> &Secret {
        &self.key
    }

    /// Returns a proof for one request: with its method, its address without query, and the token that it is sent with.
    ///
    /// # Errors
    /// The key is damaged, or the system has no random numbers.
    pub(super) fn proof(
        &self,
        method: &str,
        url: &Url,
        token: Option<&Secret>,
        nonce: Option<&str>,
    ) -> Result<String, Error> {
        let key = self.signing()?;
        let mut claims = json!({
            "jti": random::text()?, "htm": method, "htu": redacted_url(url), "iat": unix_seconds(),
        });
        if let Some(token) = token {
            claims["ath"] = json!(hash(token.expose()));
        }
        if let Some(nonce) = nonce {
            claims["nonce"] = json!(nonce);
        }
        key.sign(json!({"typ": "dpop+jwt", "jwk": public(&key)?}), &claims)
    }

    /// The thumbprint of the public key (RFC 7638).
    ///
    /// # Errors
    /// The key is damaged.
    pub(super) fn thumbprint(&self) -> Result<String, Error> {
        let key = public(&self.signing()?)?;
        // The members in the order of the alphabet, without spaces.
        let text = format!(r#"{{"crv":"P-256","kty":"EC","x":{},"y":{}}}"#, key["x"], key["y"]);
        Ok(hash(&text))
    }

    fn signing(&self) -> Result<JwtSigningKey, Error> {
        let bytes = URL_SAFE_NO_PAD.decode(self.key.expose()).unwrap_or_default();
        JwtSigningKey::from_pkcs8(&bytes).ok_or_else(damaged)
    }
}

fn public(key: &JwtSigningKey) -> Result<Value, Error> {
    let (x, y) = key.coordinates().ok_or_else(damaged)?;
    Ok(json!({"kty": "EC", "crv": "P-256", "x": x, "y": y}))
}

fn damaged() -> Error {
    Error::Metadata("the key of the sign-in is damaged; sign in again".to_owned())
}

fn hash(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, text.as_bytes()))
}
