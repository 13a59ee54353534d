//! Requests with an access token: for whom it is, what the person who let the client in may do, and whose quota it uses.

use std::{sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::request;
use tokio::time::{Instant, sleep};

use super::{
    Grant, GrantUser,
    secret::{GrantSecret, SecretKind},
};
use crate::{Access, AdmittedRequest, Caller, Credential, QuotaPermit, Rejection, Token};

/// How long a token of another gateway may take to become known here, and how often that is checked.
const KNOWN_WITHIN: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl Access {
    /// Returns the grant with this access token, if it was made at another gateway a moment ago and is not known here yet.
    pub(crate) async fn new_grant(&self, secret: &str) -> Option<Arc<Token>> {
        let parsed = GrantSecret::parse(secret).filter(|one| one.kind == SecretKind::Access)?;
        let entry = self.peers()?.find_token(&parsed.name).await?;
        let hash = parsed.hash();
        let now = jiff::Timestamp::now();
        let mut access = entry.oauth.iter().flat_map(|grant| grant.access_hashes());
        let is_valid = access.any(|(known, until)| known == hash && until > now);
        drop(access);
        // A stream ends as soon as its token is not known, so it is known here before it begins.
        let end = Instant::now() + KNOWN_WITHIN;
        while is_valid && self.tokens.find_hash(&hash).is_none() && Instant::now() < end {
            sleep(LOOK_AGAIN).await;
        }
        is_valid.then(|| Token::new(entry).ok().map(Arc::new)).flatten()
    }

    /// Admits a client with an access token.
    ///
    /// # Errors
    /// The token is for another address, or the person who let the client in may not call any more.
    pub(crate) async fn admit_grant(
        &self,
        request: &request::Parts,
        token: &Token,
        grant: &Grant,
        hash: [u8; 32],
    ) -> Result<AdmittedRequest, Rejection> {
        if !is_for(&grant.resource, &self.base_url(request)?, request.uri.path()) {
            let text = format!("the token is for `{}`, not for this address", grant.resource);
            return Err(Rejection::InvalidToken(text));
        }
        let caller = self.bearer(token)?;
        let share = self.share_of(&grant.user).await?;
        Ok(AdmittedRequest { caller, share, credential: Credential::Token(hash) })
    }

    /// Returns who makes requests with a token: a client of a grant may never do more than the person who let it in.
    ///
    /// # Errors
    /// That person may not call any more.
    pub fn bearer(&self, token: &Token) -> Result<Caller, Rejection> {
        match &token.entry().oauth {
            None => Ok(token.caller()),
            Some(grant) => Ok(token.caller().within(&self.caller_of(&grant.user)?)),
        }
    }

    /// Takes a permit of the person's quota: all their clients share it.
    async fn share_of(&self, user: &GrantUser) -> Result<QuotaPermit, Rejection> {
        match user {
            GrantUser::Owner => Ok(QuotaPermit::default()),
            GrantUser::Token { hash, .. } => {
                let hash = URL_SAFE_NO_PAD.decode(hash).ok().and_then(|hash| hash.try_into().ok());
                match hash.and_then(|hash: [u8; 32]| self.tokens.find_hash(&hash)) {
                    Some(token) => token.take_share(self.peers()).await,
                    None => Ok(QuotaPermit::default()),
                }
            }
            GrantUser::Jwt { .. } => {
                let caller = self.caller_of(user)?;
                match &self.jwt {
                    Some(jwt) => jwt.share(&caller, self.peers()).await,
                    None => Ok(QuotaPermit::default()),
                }
            }
        }
    }
}

/// Returns whether a token for `resource` is meant for a request to `path` at `base`.
fn is_for(resource: &str, base: &str, path: &str) -> bool {
    match resource.strip_prefix(base) {
        Some("") => true,
        Some(own) if own.starts_with('/') => {
            path.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // AU-4
    #[test]
    fn a_token_is_for_its_address_only() {
        let base = "https://tools.example";
        assert!(is_for("https://tools.example", base, "/api/tools"));
        assert!(is_for("https://tools.example/mcp", base, "/mcp"));
        assert!(is_for("https://tools.example/mcp", base, "/mcp/home"));
        for (resource, path) in [
            ("https://tools.example/mcp", "/api/tools"),
            ("https://tools.example/mcp", "/mcpx"),
            ("https://tools.example/mcp/home", "/mcp"),
            ("https://tools.example.evil.example/mcp", "/mcp"),
            ("https://tools.exampl", "/mcp"),
            ("http://tools.example/mcp", "/mcp"),
            ("https://tools.example:8443/mcp", "/mcp"),
        ] {
            assert!(!is_for(resource, base, path), "{resource} {path}");
        }
    }
}
