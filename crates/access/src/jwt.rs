//! Bearer tokens of an issuer: JWTs whose signature, issuer, audience and times are checked (SPEC GW-2).

mod config;
mod keys;
mod verify;
mod claims;
mod quotas;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use jsonwebtoken::{Algorithm, Header, Validation, decode_header};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::{AdmittedRequest, Caller, Credential, Peers, QuotaPermit, Rejection};
use claims::JwtBearer;
use keys::JwtKeys;
use quotas::CallerQuotas;

pub(crate) use claims::PREFIX;
pub use config::{JwtConfig, OneOrMany};
pub use keys::KeysError;
pub(crate) use keys::guarded;

/// How many verified tokens are cached; a signature costs more than a hash.
const REMEMBERED: usize = 1024;

/// Why `[serve.jwt]` is invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JwtError {
    /// A setting is invalid.
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

/// Verifies JWTs.
pub(crate) struct Jwt {
    config: JwtConfig,
    algorithms: Vec<Algorithm>,
    keys: Arc<JwtKeys>,
    shares: CallerQuotas,
    verified: Mutex<HashMap<[u8; 32], Arc<JwtBearer>>>,
}

impl Jwt {
    /// Creates a verifier; keys in a file are read at once.
    pub(crate) fn new(config: JwtConfig) -> Result<Self, JwtError> {
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
        let algorithms = config::algorithms(&config.algorithms)
            .map_err(|reason| JwtError::Setting { key: "algorithms", reason })?;
        if config.concurrent == 0 {
            return Err(wrong("concurrent", "nothing could run with 0 at once"));
        }
        let keys = Arc::new(JwtKeys::open(&config)?);
        let shares = CallerQuotas::new(&config);
        Ok(Self { config, algorithms, keys, shares, verified: Mutex::default() })
    }

    pub(crate) fn config(&self) -> &JwtConfig {
        &self.config
    }

    /// Returns the bearer of the token, with a permit of the caller's quota.
    ///
    /// # Errors
    /// It is not the issuer's token for us, the issuer's keys cannot be fetched, or the quota is used up.
    pub(crate) async fn admit(
        &self,
        token: &str,
        peers: Option<&dyn Peers>,
    ) -> Result<AdmittedRequest, Rejection> {
        let bearer = self.bearer(token).await?;
        let name = bearer.caller.name.as_deref().unwrap_or_default();
        let share = bearer.quota.take_in(peers, name).await?;
        let credential = bearer.expires_after(self.config.leeway.0).and_then(Credential::jwt);
        let credential = credential.unwrap_or_default();
        let mut caller = bearer.caller.clone();
        caller.token = Some(token.into());
        Ok(AdmittedRequest { caller, share, credential })
    }

    /// Returns a permit for a caller whose token was verified before.
    ///
    /// # Errors
    /// The quota is used up.
    pub(crate) async fn share(
        &self,
        caller: &Caller,
        peers: Option<&dyn Peers>,
    ) -> Result<QuotaPermit, Rejection> {
        match &caller.name {
            Some(name) => self.shares.of(name).take_in(peers, name).await,
            None => Ok(QuotaPermit::default()),
        }
    }

    /// Returns the caller with these claims, verified by another gateway.
    ///
    /// # Errors
    /// A claim is missing or invalid, or they have expired.
    pub(crate) fn caller(&self, claims: Map<String, Value>) -> Result<Caller, Rejection> {
        let bearer = JwtBearer::new(claims, &self.config, 0, &self.shares).map_err(refused)?;
        bearer.check_times(SystemTime::now(), self.config.leeway.0).map_err(refused)?;
        Ok(bearer.caller)
    }

    /// Like [`caller`](Self::caller), however old the claims are: for what the caller allowed while they were valid.
    ///
    /// # Errors
    /// A claim is missing or invalid.
    pub(crate) fn caller_at_any_time(
        &self,
        claims: Map<String, Value>,
    ) -> Result<Caller, Rejection> {
        let bearer = JwtBearer::new(claims, &self.config, 0, &self.shares).map_err(refused)?;
        Ok(bearer.caller)
    }

    async fn bearer(&self, token: &str) -> Result<Arc<JwtBearer>, Rejection> {
        let generation = self.keys.refresh();
        let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        let remembered = self.remembered().get(&hash).cloned();
        if let Some(bearer) = remembered.filter(|bearer| bearer.generation == generation) {
            bearer.check_times(SystemTime::now(), self.config.leeway.0).map_err(refused)?;
            return Ok(bearer);
        }
        let bearer = self.verify(token, self.config.audience.all()).await?;
        let bearer = Arc::new(bearer);
        let mut verified = self.remembered();
        if verified.len() >= REMEMBERED {
            verified.clear();
        }
        verified.insert(hash, bearer.clone());
        Ok(bearer)
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 32], Arc<JwtBearer>>> {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the caller whom an ID token names, which was issued to this client for a sign-in with this nonce. It is no
    /// token for calls: its audience is the client. The nonce is no longer among the claims, which a grant stores.
    ///
    /// # Errors
    /// It is not such a token, or the issuer's keys cannot be fetched.
    pub(crate) async fn bearer_of_id_token(
        &self,
        token: &str,
        client: &str,
        nonce: &str,
    ) -> Result<Caller, Rejection> {
        let mut caller = self.verify(token, &[client.to_owned()]).await?.caller;
        let claims = caller.claims.as_deref();
        let claim = |name: &str| claims.and_then(|claims| claims[name].as_str());
        let has_others = claims.is_some_and(|claims| {
            claims["aud"].as_array().is_some_and(|audience| audience.len() > 1)
        });
        if claim("nonce") != Some(nonce) {
            return Err(refused("it is for another sign-in".to_owned()));
        }
        // One that several may have must say for whom it was made.
        match claim("azp") {
            Some(party) if party != client => {
                Err(refused("it was made for another client".to_owned()))
            }
            None if has_others => Err(refused("it does not say for whom it was made".to_owned())),
            _ => {
                if let Some(Value::Object(claims)) = caller.claims.as_mut().map(Arc::make_mut) {
                    claims.remove("nonce");
                }
                Ok(caller)
            }
        }
    }

    async fn verify(&self, token: &str, audience: &[String]) -> Result<JwtBearer, Rejection> {
        let header = self.header(token).map_err(refused)?;
        let mut validation = Validation::new(header.alg);
        validation.set_issuer(&[&self.config.issuer]);
        validation.set_audience(audience);
        validation.set_required_spec_claims(&["iss", "aud"]);
        // Times are checked here: the library's parsing of numbers does not work with `arbitrary_precision`.
        validation.validate_exp = false;
        let (keys, generation) = self.keys.matching(&header).await?;
        let mut reason = "no key of the issuer fits it".to_owned();
        for key in keys {
            match jsonwebtoken::decode::<Map<String, Value>>(token, &key.key, &validation) {
                Ok(decoded) => {
                    let bearer =
                        JwtBearer::new(decoded.claims, &self.config, generation, &self.shares);
                    let bearer = bearer.map_err(refused)?;
                    bearer.check_times(SystemTime::now(), self.config.leeway.0).map_err(refused)?;
                    return Ok(bearer);
                }
                Err(error) => reason = verify::reason(&error, &self.config.issuer, audience),
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

fn refused(reason: String) -> Rejection {
    Rejection::InvalidToken(format!("the token is not good: {reason}"))
}
