//! Bearer tokens of an issuer: JWTs whose signature, issuer, audience and times are checked (SPEC GW-2).

mod claims;
mod keys;
mod verify;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use jsonwebtoken::{Algorithm, AlgorithmFamily, Header, Validation, decode_header};
use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use switchboard_toolcall::HumanDuration;

use super::Caller;
use crate::refusal::Refusal;
use claims::Bearer;
use keys::Keys;

pub(super) use claims::PREFIX;
pub use keys::KeysError;

/// How many verified tokens are remembered; a signature costs more than a hash.
const REMEMBERED: usize = 1024;

/// The settings of `[serve.jwt]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JwtConfig {
    /// Who makes the tokens: their claim `iss`, and where MCP clients are sent to get one.
    pub issuer: String,
    /// Whom the tokens must be for: their claim `aud`, one or several.
    pub audience: OneOrMany,
    /// The issuer's public keys: a file or an address.
    pub jwks: String,
    /// Which signatures are taken.
    #[serde(default = "asymmetric")]
    pub algorithms: Vec<String>,
    /// How far clocks may be apart.
    #[serde(default = "minute")]
    pub leeway: HumanDuration,
    /// The claim that is the caller's name.
    #[serde(default = "subject")]
    pub name_claim: String,
    /// The claim that lists the tools that the caller may see; all may be seen where this is unset.
    #[serde(default)]
    pub tools_claim: Option<String>,
    /// The scopes that clients should ask the issuer for.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// How long keys from an address are good for.
    #[serde(default = "keep_keys")]
    pub keep_keys: HumanDuration,
    /// How long after one look at the address the next may follow, whoever asks.
    #[serde(default = "look_pause")]
    pub look_pause: HumanDuration,
}

/// One text, or a list of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl OneOrMany {
    fn all(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

fn asymmetric() -> Vec<String> {
    ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"]
        .map(str::to_owned)
        .to_vec()
}

fn minute() -> HumanDuration {
    HumanDuration(Duration::from_secs(60))
}

fn subject() -> String {
    "sub".to_owned()
}

fn keep_keys() -> HumanDuration {
    HumanDuration(Duration::from_secs(600))
}

fn look_pause() -> HumanDuration {
    HumanDuration(Duration::from_secs(10))
}

/// Why `[serve.jwt]` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JwtError {
    /// A setting makes no sense.
    #[error("`[serve.jwt] {key}`: {reason}")]
    Setting {
        /// The setting.
        key: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The keys cannot be read.
    #[error(transparent)]
    Keys(#[from] KeysError),
}

/// Verifies tokens.
pub(super) struct Jwt {
    config: JwtConfig,
    algorithms: Vec<Algorithm>,
    keys: Arc<Keys>,
    verified: Mutex<HashMap<[u8; 32], Arc<Bearer>>>,
}

impl Jwt {
    /// What `[serve.jwt]` says, with keys from a file read at once.
    pub(super) fn new(config: JwtConfig) -> Result<Self, JwtError> {
        verify::install();
        let wrong = |key, reason: &str| JwtError::Setting { key, reason: reason.to_owned() };
        if config.issuer.is_empty() {
            return Err(wrong("issuer", "it is empty"));
        }
        let audience = config.audience.all();
        if audience.is_empty() || audience.iter().any(String::is_empty) {
            let reason = "tokens that the issuer makes for others would be taken; name yourself";
            return Err(wrong("audience", reason));
        }
        let algorithms = algorithms(&config.algorithms)
            .map_err(|reason| JwtError::Setting { key: "algorithms", reason })?;
        let keys = Arc::new(Keys::open(&config)?);
        Ok(Self { config, algorithms, keys, verified: Mutex::default() })
    }

    pub(super) fn config(&self) -> &JwtConfig {
        &self.config
    }

    /// Who bears the token.
    ///
    /// # Errors
    /// It is not one of the issuer's for us, or the issuer's keys cannot be had.
    pub(super) async fn caller(&self, token: &str) -> Result<Caller, Refusal> {
        let generation = self.keys.refresh();
        let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        let remembered = self.remembered().get(&hash).cloned();
        if let Some(bearer) = remembered.filter(|bearer| bearer.generation == generation) {
            bearer.check_times(SystemTime::now(), self.config.leeway.0).map_err(refused)?;
            return Ok(bearer.caller.clone());
        }
        let bearer = Arc::new(self.verify(token).await?);
        let mut verified = self.remembered();
        if verified.len() >= REMEMBERED {
            verified.clear();
        }
        verified.insert(hash, bearer.clone());
        Ok(bearer.caller.clone())
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 32], Arc<Bearer>>> {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn verify(&self, token: &str) -> Result<Bearer, Refusal> {
        let header = self.header(token).map_err(refused)?;
        let mut validation = Validation::new(header.alg);
        validation.set_issuer(&[&self.config.issuer]);
        validation.set_audience(self.config.audience.all());
        validation.set_required_spec_claims(&["iss", "aud"]);
        // Times are ours to check: its reading of numbers does not go with numbers that keep their digits.
        validation.validate_exp = false;
        let (keys, generation) = self.keys.matching(&header).await?;
        let mut reason = "no key of the issuer fits it".to_owned();
        for key in keys {
            match jsonwebtoken::decode::<Map<String, Value>>(token, &key.key, &validation) {
                Ok(decoded) => {
                    let bearer = Bearer::new(decoded.claims, &self.config, generation);
                    let bearer = bearer.map_err(refused)?;
                    bearer.check_times(SystemTime::now(), self.config.leeway.0).map_err(refused)?;
                    return Ok(bearer);
                }
                Err(error) => reason = verify::reason(&error, &self.config),
            }
        }
        Err(refused(reason))
    }

    fn header(&self, token: &str) -> Result<Header, String> {
        let header = decode_header(token).map_err(|_| {
            "it is neither one of `switchboard token new` nor a JWT with a known signature"
                .to_owned()
        })?;
        if !self.algorithms.contains(&header.alg) {
            return Err(format!("signatures of kind {:?} are not taken", header.alg));
        }
        match header.crit {
            None => Ok(header),
            Some(_) => Err("it demands extensions that are not known here".to_owned()),
        }
    }
}

fn refused(reason: String) -> Refusal {
    Refusal::InvalidToken(format!("the token is not good: {reason}"))
}

/// The algorithms of these names. A public key must never be taken for a shared secret, so those of the latter are not.
fn algorithms(names: &[String]) -> Result<Vec<Algorithm>, String> {
    let known = |name: &String| match name.parse::<Algorithm>() {
        Ok(algorithm) if algorithm.family() != AlgorithmFamily::Hmac => Ok(algorithm),
        _ => Err(format!(
            "`{name}` is not one that can be used; there are {}",
            asymmetric().join(", ")
        )),
    };
    match names.is_empty() {
        true => Err("without one no token could be good".to_owned()),
        false => names.iter().map(known).collect(),
    }
}
