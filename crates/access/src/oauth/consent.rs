//! A person's consent: it becomes a grant, and the client gets a code.

use super::{
    AuthorizationRequest, Grant, OAuthError, Person,
    secret::{self, GrantSecret, SecretKind},
};
use crate::{Access, tokens::TokenEntry};

/// How many clients may be let in at once.
const MOST: usize = 1000;
/// How many names are tried for a client.
const NAMES: usize = 1000;

/// Why a person cannot let a client in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConsentError {
    /// There are too many.
    #[error("{MOST} clients are let in already; `switchboard token revoke NAME` ends one")]
    TooMany,
    /// It cannot be stored.
    #[error(transparent)]
    OAuth(#[from] OAuthError),
}

impl Access {
    /// Lets a client in, with these of the person's tools; all if `None`. Returns where the browser goes.
    ///
    /// # Errors
    /// There are too many clients, or it cannot be stored.
    pub async fn consent(
        &self,
        request: &AuthorizationRequest,
        person: &Person,
        tools: Option<Vec<String>>,
    ) -> Result<String, ConsentError> {
        self.sweep_grants().await?;
        let known = self.tokens.all();
        if known.iter().filter(|token| token.entry().oauth.is_some()).count() >= MOST {
            return Err(ConsentError::TooMany);
        }
        let slug = request.client.slug();
        for number in 1..=NAMES {
            let name = match number {
                1 => format!("{}{slug}", super::PREFIX),
                _ => format!("{}{slug}-{number}", super::PREFIX),
            };
            let family = secret::random()?;
            let code = GrantSecret::new(SecretKind::Code, family, &name)?;
            let grant = Grant::pending(request, person.user.clone(), &code);
            let family = secret::family_hash(&family);
            let mut entry = TokenEntry::of_grant(name.clone(), family, tools.clone(), grant);
            entry.profile = request.profile().map(str::to_owned);
            if self.create_grant(entry).await? {
                tracing::info!(
                    token = name,
                    client = request.client.id,
                    "an OAuth client is let in"
                );
                self.keep_client(request).await;
                return Ok(request.granted(&code.text));
            }
        }
        Err(ConsentError::TooMany)
    }

    /// Remembers a registered client for longer.
    async fn keep_client(&self, request: &AuthorizationRequest) {
        let Ok(server) = self.server() else { return };
        if super::client::is_document(&request.client.id) {
            return;
        }
        let kept = server.registrations.keep(request.client.clone(), true, self.peers()).await;
        if let Err(error) = kept {
            tracing::warn!(%error, "an OAuth client may have to register again");
        }
    }
}
