//! The settings of JWTs.

use std::time::Duration;

use jsonwebtoken::{Algorithm, AlgorithmFamily};
use serde::Deserialize;
use switchboard_toolcall::HumanDuration;

use crate::rate::Rate;

/// The settings of `[serve.jwt]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JwtConfig {
    /// The issuer of the tokens: their claim `iss`, and where MCP clients are sent to get one.
    pub issuer: String,
    /// The audience of the tokens: their claim `aud`, one or several.
    pub audience: OneOrMany,
    /// The issuer's public keys: a file or a URL; discovered from the issuer if unset.
    #[serde(default)]
    pub jwks: Option<String>,
    /// The accepted signature algorithms.
    #[serde(default = "asymmetric")]
    pub algorithms: Vec<String>,
    /// How far clocks may be apart.
    #[serde(default = "minute")]
    pub leeway: HumanDuration,
    /// The claim that is the caller's name.
    #[serde(default = "subject")]
    pub name_claim: String,
    /// The claim that lists the tools that the caller may see; all if unset.
    #[serde(default)]
    pub tools_claim: Option<String>,
    /// The claim that says, with `true`, that the caller may decide about held calls; nobody may if unset.
    #[serde(default)]
    pub approve_claim: Option<String>,
    /// The claim that says, with `true`, that the caller may know of everybody's calls; nobody may if unset.
    #[serde(default)]
    pub watch_claim: Option<String>,
    /// The rate limit of each caller; none if unset.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// How many requests each caller may have at once.
    #[serde(default = "half_of_what_runs")]
    pub concurrent: usize,
    /// The scopes that clients should request from the issuer.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// How long keys from a URL are cached.
    #[serde(default = "keep_keys")]
    pub keep_keys: HumanDuration,
    /// The shortest interval between two requests of the keys.
    #[serde(default = "look_pause")]
    pub look_pause: HumanDuration,
}

/// One text, or a list of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl OneOrMany {
    pub(super) fn all(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

/// Parses the names of algorithms. Symmetric ones are rejected: a public key must never be used as a shared secret.
pub(super) fn algorithms(names: &[String]) -> Result<Vec<Algorithm>, String> {
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

/// So that no single caller takes every slot of the executor.
fn half_of_what_runs() -> usize {
    128
}

fn keep_keys() -> HumanDuration {
    HumanDuration(Duration::from_secs(600))
}

fn look_pause() -> HumanDuration {
    HumanDuration(Duration::from_secs(10))
}
