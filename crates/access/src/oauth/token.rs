//! The token endpoint and the revocation endpoint (RFC 7009).

use serde::Serialize;
use zeroize::Zeroizing;

use super::{
    Grant, OAuthError, OwnAuthorizationServer, Parameters,
    authorize::resource,
    grant::{CodeExchange, ExchangeOutcome, NewSecrets, RefreshExchange},
    secret::{GrantSecret, SecretKind, family_hash},
};
use crate::{
    Access,
    tokens::{ChangedToken, TokenEntry},
};

/// The response to a client that gets tokens.
#[derive(Serialize)]
pub struct TokenResponse {
    pub(super) access_token: Zeroizing<String>,
    token_type: &'static str,
    expires_in: u64,
    pub(super) refresh_token: Zeroizing<String>,
    scope: String,
}

impl Access {
    /// Exchanges a code or a refresh token for new tokens, at the authorization server with this issuer.
    ///
    /// # Errors
    /// It is invalid, was used before, or the request is invalid.
    pub async fn exchange(
        &self,
        issuer: &str,
        sent: &Parameters,
    ) -> Result<TokenResponse, OAuthError> {
        let wanted = sent.one("resource")?.map(|wanted| resource(issuer, Some(wanted)));
        let wanted = wanted.transpose()?;
        match sent.required("grant_type")? {
            "authorization_code" => {
                let code = sent.required("code")?;
                let exchange = CodeExchange {
                    client_id: sent.required("client_id")?.to_owned(),
                    redirect_uri: sent.one("redirect_uri")?.map(str::to_owned),
                    verifier: sent.required("code_verifier")?.to_owned(),
                    code: parsed(code, SecretKind::Code)?,
                    resource: wanted,
                };
                let (family, name) = (exchange.code.family, exchange.code.name.clone());
                self.issue(family, &name, move |grant, new| grant.exchange_code(&exchange, new))
                    .await
            }
            "refresh_token" => {
                let exchange = RefreshExchange {
                    refresh: parsed(sent.required("refresh_token")?, SecretKind::Refresh)?,
                    client_id: sent.one("client_id")?.map(str::to_owned),
                    resource: wanted,
                };
                let (family, name) = (exchange.refresh.family, exchange.refresh.name.clone());
                self.issue(family, &name, move |grant, new| grant.exchange_refresh(&exchange, new))
                    .await
            }
            _ => Err(OAuthError::new(
                "unsupported_grant_type",
                "`grant_type` must be `authorization_code` or `refresh_token`",
            )),
        }
    }

    /// Changes a grant by an exchange, and returns its new tokens.
    async fn issue(
        &self,
        family: [u8; 16],
        name: &str,
        exchange: impl Fn(&Grant, &NewSecrets) -> ExchangeOutcome + Send + Sync + 'static,
    ) -> Result<TokenResponse, OAuthError> {
        let new = self.server()?.new_secrets(family, name)?;
        let mut response = TokenResponse {
            access_token: new.access.text.clone(),
            token_type: "Bearer",
            expires_in: new.access_life.as_secs(),
            refresh_token: new.refresh.text.clone(),
            scope: String::new(),
        };
        let change = move |entry: &TokenEntry| {
            let Some(grant) = of_family(entry, &family) else { return (ChangedToken::Same, None) };
            match exchange(grant, &new) {
                ExchangeOutcome::Refused => (ChangedToken::Same, None),
                ExchangeOutcome::Ended => {
                    tracing::warn!(
                        token = entry.name,
                        "an OAuth client is shut out: a code or a refresh token was used twice, or by another"
                    );
                    (ChangedToken::Gone, None)
                }
                ExchangeOutcome::Issued(grant) => {
                    let issued = entry.with_grant(*grant.clone());
                    (ChangedToken::Put(Box::new(issued)), Some(*grant))
                }
            }
        };
        let issued = self.change_grant(name, change).await?.flatten();
        let grant = issued.ok_or_else(OAuthError::invalid_grant)?;
        self.caller_of(&grant.user).map_err(|_| OAuthError::invalid_grant())?;
        response.expires_in = grant.access_life(self.server()?.config.access_token.0).as_secs();
        response.scope = grant.scope;
        Ok(response)
    }

    /// Revokes a token: an access token alone, or a refresh token with everything that belongs to it. Unknown ones are ignored.
    ///
    /// # Errors
    /// There is no token in the request, or it cannot be stored.
    pub async fn revoke_secret(&self, sent: &Parameters) -> Result<(), OAuthError> {
        let Some(secret) = GrantSecret::parse(sent.required("token")?) else { return Ok(()) };
        let client = sent.one("client_id")?.map(str::to_owned);
        let name = secret.name.clone();
        let change = move |entry: &TokenEntry| {
            let grant = of_family(entry, &secret.family);
            let is_own = |grant: &&Grant| client.as_ref().is_none_or(|id| *id == grant.client_id);
            let changed = match (grant.filter(is_own), secret.kind) {
                (None, _) => ChangedToken::Same,
                (Some(grant), SecretKind::Access) => {
                    ChangedToken::Put(Box::new(entry.with_grant(grant.without_access(&secret))))
                }
                (Some(_), SecretKind::Code | SecretKind::Refresh) => ChangedToken::Gone,
            };
            (changed, ())
        };
        self.change_grant(&name, change).await?;
        Ok(())
    }
}

impl OwnAuthorizationServer {
    fn new_secrets(&self, family: [u8; 16], name: &str) -> Result<NewSecrets, OAuthError> {
        Ok(NewSecrets {
            access: GrantSecret::new(SecretKind::Access, family, name)?,
            access_life: self.config.access_token.0,
            refresh: GrantSecret::new(SecretKind::Refresh, family, name)?,
            refresh_life: self.config.refresh_token.0,
        })
    }
}

fn parsed(text: &str, kind: SecretKind) -> Result<GrantSecret, OAuthError> {
    let secret = GrantSecret::parse(text).filter(|secret| secret.kind == kind);
    secret.ok_or_else(OAuthError::invalid_grant)
}

/// Returns the grant of an entry, if a secret with this family can be one of it.
fn of_family<'a>(entry: &'a TokenEntry, family: &[u8; 16]) -> Option<&'a Grant> {
    let grant = entry.oauth.as_deref()?;
    (entry.hash().ok()? == family_hash(family)).then_some(grant)
}
