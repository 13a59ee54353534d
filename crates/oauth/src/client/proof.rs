//! How a client proves who it is in a request to its authorization server.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;
use switchboard_toolcall::time::unix_seconds;
use switchboard_vault::Secret;
use url::form_urlencoded;

use super::{AuthMethod, ClientRegistration};
use crate::{error::Error, jwt::JwtSigningKey, random};

/// How long an assertion about ourselves is good, in seconds.
const LIFETIME: u64 = 60;
/// The type of such an assertion (RFC 7523).
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// What a request has beside its own parameters.
#[derive(Default)]
pub(crate) struct ClientProof {
    fields: Vec<(&'static str, Secret)>,
    pub(crate) headers: Vec<(&'static str, Secret)>,
    /// What is in a header, but spelt otherwise there.
    encoded: Option<Secret>,
}

impl ClientProof {
    /// Returns the whole form.
    pub(crate) fn form<'a>(&'a self, own: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let fields = self.fields.iter().map(|(name, value)| (*name, value.expose()));
        // Our own come first; who names the client itself does not name it twice.
        let names: Vec<_> = own.iter().map(|(name, _)| *name).collect();
        own.iter().copied().chain(fields.filter(|(name, _)| !names.contains(name))).collect()
    }

    /// Every secret that is not in the form.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.headers.iter().map(|(_, value)| value).chain(&self.encoded)
    }
}

impl ClientRegistration {
    /// Returns what proves who we are to `issuer`: nothing of it is of use to another one, except a secret.
    ///
    /// # Errors
    /// The private key of the settings cannot be used.
    pub(crate) fn proof(&self, issuer: &str) -> Result<ClientProof, Error> {
        let mut proof = ClientProof::default();
        let secret = self.secret.as_ref().map(Secret::expose);
        if let (AuthMethod::Basic, Some(secret)) = (self.method, secret) {
            let encoded =
                |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
            let pair = Secret::from(format!("{}:{}", encoded(&self.id), encoded(secret)));
            let value = format!("Basic {}", BASE64_STANDARD.encode(pair.expose()));
            proof.headers.push(("Authorization", value.into()));
            proof.encoded.clone_from(&self.secret);
            return Ok(proof);
        }
        if !self.id.is_empty() {
            proof.fields.push(("client_id", self.id.as_str().into()));
        }
        match (self.method, secret, &self.private_key) {
            (AuthMethod::Post, Some(secret), _) => {
                proof.fields.push(("client_secret", secret.into()));
            }
            (AuthMethod::PrivateKeyJwt, _, Some(key)) => {
                let assertion = self.assertion(key, issuer)?;
                proof.fields.push(("client_assertion_type", ASSERTION_TYPE.into()));
                proof.fields.push(("client_assertion", assertion.into()));
            }
            _ => {}
        }
        Ok(proof)
    }

    /// A token about ourselves, good once, at this issuer and for a minute.
    fn assertion(&self, key: &Secret, issuer: &str) -> Result<String, Error> {
        let (key, now) = (JwtSigningKey::from_pem(key, self.signing_algorithm)?, unix_seconds());
        let claims = json!({
            "iss": self.id, "sub": self.id, "aud": issuer, "jti": random::text()?,
            "iat": now, "exp": now + LIFETIME,
        });
        key.sign(json!({"typ": "JWT"}), &claims)
    }
}
