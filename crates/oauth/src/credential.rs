//! A sign-in as it is stored.

use serde::{Deserialize, Serialize};
use switchboard_vault::Secret;
use url::Url;

use super::{
    client::ClientRegistration,
    credential_store::{CredentialLock, CredentialStore},
    dpop::DpopKey,
    error::Error,
    http::HttpClient,
    token::IssuedTokens,
};

/// Whose a sign-in is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// All callers share it.
    Everyone,
    /// One caller's own.
    Caller(String),
}

/// What a sign-in is for: whose it is, and at which server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CredentialKey {
    /// Whose it is.
    pub owner: Owner,
    /// The server's name in the config.
    pub server: String,
    /// Its address: one that has moved is signed in to again.
    pub url: Url,
}

impl CredentialKey {
    /// The sign-in that all callers share.
    ///
    /// # Errors
    /// Fails if `url` is not an address.
    pub fn shared(server: &str, url: &str) -> Result<Self, Error> {
        let url = Url::parse(url)
            .map_err(|error| Error::Metadata(format!("`{url}` is not an address: {error}")))?;
        Ok(Self { owner: Owner::Everyone, server: server.to_owned(), url })
    }

    /// One caller's own sign-in. `caller` must be a text that no other caller has.
    ///
    /// # Errors
    /// Fails if `url` is not an address.
    pub fn of_caller(server: &str, url: &str, caller: String) -> Result<Self, Error> {
        Ok(Self { owner: Owner::Caller(caller), ..Self::shared(server, url)? })
    }

    /// Returns the sign-ins that are stored.
    ///
    /// # Errors
    /// The store cannot be used.
    pub async fn all(store: &dyn CredentialStore) -> Result<Vec<Self>, Error> {
        Ok(store.names().await?.iter().filter_map(|name| Self::named(name)).collect())
    }

    fn named(name: &str) -> Option<Self> {
        let (owner, server, url): (Option<String>, String, String) =
            serde_json::from_str(name).ok()?;
        let url = Url::parse(&url).ok()?;
        Some(Self { owner: owner.map_or(Owner::Everyone, Owner::Caller), server, url })
    }

    /// The name in the store. A JSON list, so that no name can be made to look like two.
    pub fn name(&self) -> String {
        let owner = match &self.owner {
            Owner::Everyone => None,
            Owner::Caller(caller) => Some(caller),
        };
        serde_json::json!([owner, self.server, self.url.as_str()]).to_string()
    }
}

/// A sign-in: tokens, and everything that is needed to renew them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSignIn {
    /// The authorization server that gave it. Nothing of this goes to another one.
    pub issuer: String,
    /// The scopes that were granted.
    pub scopes: Vec<String>,
    /// Who signed in, as the issuer calls them; `None` if it does not say.
    #[serde(default)]
    pub account: Option<String>,
    /// Scopes that the server has asked for since; the next sign-in asks for them too.
    #[serde(default)]
    pub wanted_scopes: Vec<String>,
    /// When the access token was given, in seconds since 1970; `None` if that is not known.
    #[serde(default)]
    pub(super) obtained_at: Option<u64>,
    /// When the access token ends, in seconds since 1970.
    pub expires_at: Option<u64>,
    pub(super) access_token: Secret,
    pub(super) refresh_token: Option<Secret>,
    pub(super) client: ClientRegistration,
    pub(super) token_endpoint: String,
    pub(super) revocation_endpoint: Option<String>,
    /// Whether the endpoints must be on the public internet, as a server of the public internet has named them; `None` if the
    /// sign-in is of a version that did not note it.
    #[serde(default)]
    pub(super) is_public_only: Option<bool>,
    /// Which server the tokens are for (RFC 8707).
    pub(super) resource: String,
    /// The key that the tokens are bound to, if they are (DPoP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dpop: Option<DpopKey>,
}

impl StoredSignIn {
    /// Whether the sign-in goes on without a person when the access token ends.
    pub fn is_renewable(&self) -> bool {
        self.refresh_token.is_some()
    }

    /// Every secret in it, so that they can be redacted.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let tokens = std::iter::once(&self.access_token).chain(&self.refresh_token);
        tokens.chain(self.client.secrets()).chain(self.dpop.as_ref().map(DpopKey::secret))
    }

    /// Returns the client for the endpoints of this sign-in. What was found out at the sign-in holds, whatever the server's
    /// name server says now.
    ///
    /// # Errors
    /// HTTP cannot be used here at all.
    pub(super) async fn http(&self, http: &HttpClient, server: &Url) -> Result<HttpClient, Error> {
        match self.is_public_only {
            Some(true) => Ok(http.public_only()),
            Some(false) => Ok(http.allow_private()),
            None => http.for_server(server).await,
        }
    }

    /// Takes new tokens over; what is not given again stays.
    pub(super) fn renew(&mut self, tokens: IssuedTokens) {
        self.access_token = tokens.access;
        (self.obtained_at, self.expires_at) = (Some(tokens.obtained_at), tokens.expires_at);
        self.refresh_token = tokens.refresh.or(self.refresh_token.take());
        if let Some(scopes) = tokens.scopes {
            self.scopes = scopes;
        }
    }

    /// Loads a sign-in; `None` if there is none.
    ///
    /// # Errors
    /// The store cannot be used.
    pub async fn load(
        store: &dyn CredentialStore,
        key: &CredentialKey,
    ) -> Result<Option<Self>, Error> {
        Ok(Self::read(key, store.get(&key.name()).await?))
    }

    /// Loads the sign-in that the lock is for.
    pub(super) async fn load_locked(
        lock: &dyn CredentialLock,
        key: &CredentialKey,
    ) -> Result<Option<Self>, Error> {
        Ok(Self::read(key, lock.get().await?))
    }

    fn read(key: &CredentialKey, stored: Option<Secret>) -> Option<Self> {
        match serde_json::from_str(stored?.expose()) {
            Ok(credential) => Some(credential),
            // One of another version: as if there were none.
            Err(error) => {
                tracing::warn!(server = key.server, %error, "a stored sign-in cannot be read");
                None
            }
        }
    }

    /// Stores the sign-in that the lock is for.
    pub(super) async fn store(&self, lock: &dyn CredentialLock) -> Result<(), Error> {
        let text =
            serde_json::to_string(self).map_err(|error| Error::Metadata(error.to_string()))?;
        lock.set(text.into()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // AU-1, AU-3: nobody's name can be made to look like somebody else's.
    #[test]
    fn each_owner_and_server_has_its_own() {
        let key = |owner: Owner, server: &str, url: &str| CredentialKey {
            owner,
            ..CredentialKey::shared(server, url).unwrap()
        };
        let caller = |name: &str| Owner::Caller(name.to_owned());
        let keys = [
            key(Owner::Everyone, "a", "https://a.example/"),
            key(caller("a"), "a", "https://a.example/"),
            key(caller("null"), "a", "https://a.example/"),
            key(caller("b\",\"a"), "a", "https://a.example/"),
            key(Owner::Everyone, "b", "https://a.example/"),
            key(Owner::Everyone, "a", "https://b.example/"),
        ];
        let names: std::collections::BTreeSet<_> = keys.iter().map(CredentialKey::name).collect();
        assert_eq!(names.len(), keys.len());
        for key in keys {
            assert_eq!(CredentialKey::named(&key.name()), Some(key));
        }
    }
}
