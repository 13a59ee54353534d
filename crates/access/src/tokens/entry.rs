//! Stored and new tokens.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use switchboard_toolcall::{Principal, ToolPatterns};

use super::{PREFIX, TokensError};
use crate::{
    jwt,
    oauth::{self, Grant},
    rate::Rate,
};

/// What is stored of a token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenEntry {
    /// Its name, which is the caller's in records.
    pub name: String,
    /// The hash of the secret, in base64.
    hash: String,
    /// Patterns of the tools that it may see; all if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The profile through which it sees them; none if unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Its rate limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// How many requests it may have at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<usize>,
    /// What its chats over `/v1` may cost in 24 hours, by the prices of the models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_budget: Option<f64>,
    /// Whether it may start and stop servers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub admin: bool,
    /// Whether it may decide about held calls.
    #[serde(default, skip_serializing_if = "is_false")]
    pub approve: bool,
    /// Whether it may know of everybody's calls, not only of its own.
    #[serde(default, skip_serializing_if = "is_false")]
    pub watch: bool,
    /// When it was created.
    pub created: jiff::Timestamp,
    /// What a person let an OAuth client have, if this is not a token of `token new`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oauth: Option<Box<Grant>>,
}

/// A new token.
#[derive(Clone, Debug, Default)]
pub struct NewToken {
    /// Its name.
    pub name: String,
    /// Patterns of the tools that it may see; all if unset.
    pub tools: Option<Vec<String>>,
    /// The profile through which it sees them; none if unset.
    pub profile: Option<String>,
    /// Its rate limit.
    pub rate: Option<Rate>,
    /// How many requests it may have at once.
    pub concurrent: Option<usize>,
    /// What its chats over `/v1` may cost in 24 hours, by the prices of the models.
    pub cost_budget: Option<f64>,
    /// Whether it may start and stop servers.
    pub admin: bool,
    /// Whether it may decide about held calls.
    pub approve: bool,
    /// Whether it may know of everybody's calls, not only of its own.
    pub watch: bool,
}

impl TokenEntry {
    /// Creates a grant under this name, which may see these tools of its person's.
    pub(crate) fn of_grant(
        name: String,
        family: [u8; 32],
        tools: Option<Vec<String>>,
        grant: Grant,
    ) -> Self {
        Self {
            name,
            hash: URL_SAFE_NO_PAD.encode(family),
            tools,
            profile: None,
            rate: None,
            concurrent: None,
            cost_budget: None,
            admin: false,
            approve: false,
            watch: false,
            created: jiff::Timestamp::now(),
            oauth: Some(Box::new(grant)),
        }
    }

    /// Returns the entry with another state of its grant.
    pub(crate) fn with_grant(&self, grant: Grant) -> Self {
        Self { oauth: Some(Box::new(grant)), ..self.clone() }
    }

    /// Returns who its bearer is: not the bearer of an earlier token of the same name.
    pub fn principal(&self) -> Principal {
        let id = self.created.to_string();
        Principal::Token { name: self.name.as_str().into(), id: id.into() }
    }

    /// Returns the hash of its secret; of a grant, of what its secrets have in common.
    pub(crate) fn hash(&self) -> Result<[u8; 32], TokensError> {
        let hash = URL_SAFE_NO_PAD.decode(&self.hash).ok().and_then(|hash| hash.try_into().ok());
        hash.ok_or_else(|| self.wrong("its hash is damaged"))
    }

    /// Returns the tools that it may see; all if `None`.
    pub(super) fn globs(&self) -> Result<Option<ToolPatterns>, TokensError> {
        let globs = self.tools.as_ref().map(|tools| ToolPatterns::new(tools)).transpose();
        globs.map_err(|error| self.wrong(&error.to_string()))
    }

    fn wrong(&self, what: &str) -> TokensError {
        TokensError::Invalid(format!("token '{}': {what}", self.name))
    }
}

impl NewToken {
    /// Returns the token to store, and its secret, which is not stored.
    ///
    /// # Errors
    /// It has no name or that of a JWT caller, a pattern is invalid, or its limits allow nothing.
    pub fn entry(self) -> Result<(TokenEntry, String), TokensError> {
        if self.name.trim().is_empty() {
            return Err(TokensError::Invalid("a token needs a name".to_owned()));
        }
        if self.name.starts_with(jwt::PREFIX) {
            let text = format!("names that begin with `{}` are those of JWTs", jwt::PREFIX);
            return Err(TokensError::Invalid(text));
        }
        if self.name.starts_with(oauth::PREFIX) {
            let text =
                format!("names that begin with `{}` are those of OAuth clients", oauth::PREFIX);
            return Err(TokensError::Invalid(text));
        }
        if self.concurrent == Some(0) {
            return Err(TokensError::Invalid("nothing could run with 0 at once".to_owned()));
        }
        if self.cost_budget.is_some_and(|most| !most.is_finite() || most <= 0.0) {
            let text = "a cost budget is more than 0; without one there is no limit";
            return Err(TokensError::Invalid(text.to_owned()));
        }
        let secret = secret()?;
        let entry = TokenEntry {
            hash: URL_SAFE_NO_PAD.encode(super::hash(&secret)),
            name: self.name,
            tools: self.tools,
            profile: self.profile,
            rate: self.rate,
            concurrent: self.concurrent,
            cost_budget: self.cost_budget,
            admin: self.admin,
            approve: self.approve,
            watch: self.watch,
            created: jiff::Timestamp::now(),
            oauth: None,
        };
        entry.globs()?;
        Ok((entry, secret))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

fn secret() -> Result<String, TokensError> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| TokensError::Invalid(format!("no random numbers: {error}")))?;
    Ok(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes)))
}
