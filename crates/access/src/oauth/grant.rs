//! What a person let a client have: how a code becomes tokens, how those are renewed, and when all of it ends.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::secret::GrantSecret;

/// How many access tokens of a grant may be valid at once.
const MOST_ACCESS: usize = 4;
/// How long a client is let in by a person of an identity provider, which does not say when the person is gone.
const JWT_GRANT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How long a code is valid.
const CODE: Duration = Duration::from_secs(60);

/// What a person let a client have. Secrets are stored as hashes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    /// The client's id.
    pub client_id: String,
    /// The name that the client gives itself.
    pub client_name: String,
    /// Who let it in.
    pub user: GrantUser,
    /// The address that its tokens are for.
    pub resource: String,
    /// The scopes of its tokens.
    pub scope: String,
    /// When all of it ends, however often it is renewed; `None` if it ends with the person's right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
    /// The code that was not exchanged yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<PendingCode>,
    /// The code that was exchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    used_code: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    access: Vec<StoredSecret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refresh: Option<StoredSecret>,
}

/// Who let a client in: the client may never do more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantUser {
    /// The user who runs the gateway.
    Owner,
    /// The bearer of a token, while that token is valid.
    Token {
        /// Its name.
        name: String,
        /// The hash of its secret, so that a new token of the same name is not taken for it.
        hash: String,
    },
    /// The bearer of a JWT with these claims.
    Jwt {
        /// The name of its caller.
        name: String,
        /// The claims.
        claims: Map<String, Value>,
    },
}

/// A secret as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredSecret {
    hash: String,
    until: Timestamp,
}

/// A code that was not exchanged yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PendingCode {
    #[serde(rename = "code")]
    stored: StoredSecret,
    challenge: String,
    redirect_uri: String,
}

/// What a client sends with a code.
pub(super) struct CodeExchange {
    pub(super) code: GrantSecret,
    pub(super) client_id: String,
    pub(super) redirect_uri: Option<String>,
    pub(super) verifier: String,
    pub(super) resource: Option<String>,
}

/// What a client sends with a refresh token.
pub(super) struct RefreshExchange {
    pub(super) refresh: GrantSecret,
    pub(super) client_id: Option<String>,
    pub(super) resource: Option<String>,
}

/// New tokens, and how long they are valid.
pub(super) struct NewSecrets {
    pub(super) access: GrantSecret,
    pub(super) access_life: Duration,
    pub(super) refresh: GrantSecret,
    pub(super) refresh_life: Duration,
}

/// What becomes of a grant after an exchange.
#[derive(Debug, PartialEq)]
pub(super) enum ExchangeOutcome {
    /// The grant with the new tokens.
    Issued(Box<Grant>),
    /// Nothing changes.
    Refused,
    /// The grant ends: a secret was used twice, or by somebody else.
    Ended,
}

impl StoredSecret {
    pub(super) fn new(secret: &GrantSecret, life: Duration) -> Self {
        Self { hash: encoded(secret), until: after(life) }
    }

    fn is_valid(&self) -> bool {
        self.until > Timestamp::now()
    }
}

impl Grant {
    /// Creates a grant with a code that was not exchanged yet.
    pub(super) fn pending(
        request: &super::AuthorizationRequest,
        user: GrantUser,
        code: &GrantSecret,
    ) -> Self {
        let code = PendingCode {
            stored: StoredSecret::new(code, CODE),
            challenge: request.challenge.clone(),
            redirect_uri: request.redirect_uri.clone(),
        };
        Self {
            client_id: request.client.id.clone(),
            client_name: request.client.name.clone(),
            user,
            resource: request.resource.clone(),
            scope: request.scope.clone(),
            until: None,
            code: Some(code),
            used_code: None,
            access: Vec::new(),
            refresh: None,
        }
        .with_end()
    }

    /// Returns the hashes of its access tokens, and when they expire.
    pub(crate) fn access_hashes(&self) -> impl Iterator<Item = ([u8; 32], Timestamp)> {
        self.access.iter().filter_map(|stored| {
            let hash = URL_SAFE_NO_PAD.decode(&stored.hash).ok()?;
            Some((hash.try_into().ok()?, stored.until))
        })
    }

    /// Returns until when the client may renew its tokens; `None` if it has none yet.
    pub fn expires(&self) -> Option<Timestamp> {
        self.refresh.as_ref().map(|refresh| refresh.until)
    }

    /// Returns whether none of its secrets is valid any more.
    pub fn is_over(&self) -> bool {
        let code = self.code.iter().map(|code| &code.stored);
        !code.chain(&self.refresh).chain(&self.access).any(StoredSecret::is_valid)
    }

    /// Exchanges a code for tokens, once. A wrong verifier or a second use of the code ends the grant.
    pub(super) fn exchange_code(&self, sent: &CodeExchange, new: &NewSecrets) -> ExchangeOutcome {
        let hash = encoded(&sent.code);
        let Some(pending) = self.code.as_ref().filter(|code| code.stored.hash == hash) else {
            return match self.used_code.as_ref() == Some(&hash) {
                true => ExchangeOutcome::Ended,
                false => ExchangeOutcome::Refused,
            };
        };
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(sent.verifier.as_bytes()));
        let is_good = pending.stored.is_valid()
            && pending.challenge == challenge
            && self.client_id == sent.client_id
            && sent.redirect_uri.as_ref().is_none_or(|sent| *sent == pending.redirect_uri)
            && sent.resource.as_ref().is_none_or(|sent| *sent == self.resource);
        if !is_good {
            return ExchangeOutcome::Ended;
        }
        let grant = Self { code: None, used_code: Some(hash), ..self.clone() };
        ExchangeOutcome::Issued(Box::new(grant.with(new)))
    }

    /// Exchanges a refresh token. One that was exchanged before ends the grant: somebody else has it too.
    pub(super) fn exchange_refresh(
        &self,
        sent: &RefreshExchange,
        new: &NewSecrets,
    ) -> ExchangeOutcome {
        let hash = encoded(&sent.refresh);
        let Some(current) = self.refresh.as_ref().filter(|refresh| refresh.hash == hash) else {
            return ExchangeOutcome::Ended;
        };
        let is_good = current.is_valid()
            && sent.client_id.as_ref().is_none_or(|sent| *sent == self.client_id)
            && sent.resource.as_ref().is_none_or(|sent| *sent == self.resource);
        match is_good {
            true => ExchangeOutcome::Issued(Box::new(self.clone().with(new))),
            false => ExchangeOutcome::Refused,
        }
    }

    /// Returns the grant without this access token.
    pub(super) fn without_access(&self, access: &GrantSecret) -> Self {
        let mut grant = self.clone();
        let hash = encoded(access);
        grant.access.retain(|stored| stored.hash != hash);
        grant
    }

    /// Returns how long an access token that is issued now is valid; `life` is what the settings say.
    pub(super) fn access_life(&self, life: Duration) -> Duration {
        let left = self.until.map(|until| until.duration_since(Timestamp::now()));
        let left = left.map(|left| Duration::try_from(left).unwrap_or_default());
        left.map_or(life, |left| left.min(life))
    }

    /// Sets when it ends, if that has to be set and is not: a grant of an earlier version has no end.
    fn with_end(mut self) -> Self {
        if matches!(self.user, GrantUser::Jwt { .. }) {
            self.until = self.until.or_else(|| Some(after(JWT_GRANT)));
        }
        self
    }

    fn with(self, new: &NewSecrets) -> Self {
        let mut grant = self.with_end();
        let stored = |secret: &GrantSecret, life: Duration| {
            let secret = StoredSecret::new(secret, life);
            let until = grant.until.map_or(secret.until, |until| until.min(secret.until));
            StoredSecret { until, ..secret }
        };
        let access = stored(&new.access, new.access_life);
        let refresh = stored(&new.refresh, new.refresh_life);
        grant.access.retain(StoredSecret::is_valid);
        grant.access.truncate(MOST_ACCESS - 1);
        grant.access.insert(0, access);
        grant.refresh = Some(refresh);
        grant
    }
}

impl GrantUser {
    /// Returns the name of the person, for people.
    pub fn name(&self) -> String {
        match self {
            Self::Owner => "the user of this machine".to_owned(),
            Self::Token { name, .. } | Self::Jwt { name, .. } => name.clone(),
        }
    }
}

fn after(life: Duration) -> Timestamp {
    Timestamp::now().saturating_add(life).unwrap_or(Timestamp::MAX)
}

fn encoded(secret: &GrantSecret) -> String {
    URL_SAFE_NO_PAD.encode(secret.hash())
}

#[cfg(test)]
mod tests;
