//! The credential of a request, so that a long response ends when it expires (SPEC GW-5).

use std::time::{Duration, SystemTime};

use tokio::time::{Instant, sleep, sleep_until};

use crate::{Access, sessions::SessionSubject};

/// How often a credential is checked: including the second for which the token file is cached, a stream ends well
/// within 5 s.
const CHECK_EVERY: Duration = Duration::from_secs(2);

/// The credential of a request. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub enum Credential {
    /// No credential: none was required.
    #[default]
    NotNeeded,
    /// The token whose secret has this hash.
    Token([u8; 32]),
    /// A JWT, which expires then.
    Jwt(Instant),
    /// The console's session, by the hash of its cookie.
    Session([u8; 32]),
}

impl Credential {
    /// Creates the credential of a JWT. Returns `None` if it expires too far in the future.
    pub(crate) fn jwt(expires: SystemTime) -> Option<Self> {
        let left = expires.duration_since(SystemTime::now()).unwrap_or_default();
        Instant::now().checked_add(left).map(Self::Jwt)
    }
}

impl Access {
    /// Waits until the credential is invalid: its token was revoked or has expired, or its session has ended.
    pub async fn ended(&self, credential: &Credential) {
        match credential {
            Credential::NotNeeded => std::future::pending().await,
            Credential::Jwt(until) => sleep_until(*until).await,
            Credential::Token(hash) => {
                while self.tokens.find_hash(hash).is_some() {
                    sleep(CHECK_EVERY).await;
                }
            }
            Credential::Session(key) => {
                while self.has_session(key).await {
                    sleep(CHECK_EVERY).await;
                }
            }
        }
    }

    async fn has_session(&self, key: &[u8; 32]) -> bool {
        match self.sessions.find_key(key).await {
            None => false,
            Some(SessionSubject::Token(hash)) => self.tokens.find_hash(&hash).is_some(),
            // The session ends with the JWT.
            Some(SessionSubject::Jwt(_)) => true,
            Some(SessionSubject::Claims(claims)) => {
                self.jwt.as_ref().is_some_and(|jwt| jwt.caller(claims).is_ok())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{net::SocketAddr, sync::Arc};

    use serde_json::json;
    use tokio::time::timeout;

    use super::*;
    use crate::{Caller, Config, NewToken, Tokens, tokens};

    fn access(tokens: &Arc<Tokens>) -> Access {
        let address: SocketAddr = "127.0.0.1:7300".parse().unwrap();
        Access::new(&Config::default(), address, tokens.clone()).unwrap()
    }

    /// Whether the credential ends within 5 s.
    async fn ends(access: &Access, credential: &Credential) -> bool {
        timeout(Duration::from_secs(5), access.ended(credential)).await.is_ok()
    }

    // GW-5
    #[tokio::test(start_paused = true)]
    async fn a_credential_ends_within_five_seconds_of_its_token() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tokens.json");
        let tokens = Arc::new(Tokens::open(&file).unwrap());
        let secret = tokens.create(NewToken { name: "a".to_owned(), ..NewToken::default() });
        let hash = tokens::hash(&secret.unwrap());
        let access = access(&tokens);
        let opened = access.sessions.open(SessionSubject::Token(hash), false).await.unwrap();
        let cookie = opened.cookie.unwrap();
        let id = cookie.to_str().unwrap().split(['=', ';']).nth(1).unwrap().to_owned();
        let all = [Credential::Token(hash), Credential::Session(tokens::hash(&id))];
        for credential in &all {
            assert!(!ends(&access, credential).await, "{credential:?}");
        }
        // Another process revokes it, so that only the file says so.
        Tokens::open(&file).unwrap().revoke("a").unwrap();
        for credential in &all {
            assert!(ends(&access, credential).await, "{credential:?}");
        }
    }

    // GW-5
    #[tokio::test(start_paused = true)]
    async fn a_jwt_ends_when_it_expires_and_a_session_when_it_is_signed_out() {
        let folder = tempfile::tempdir().unwrap();
        let access = access(&Arc::new(Tokens::open(folder.path().join("tokens.json")).unwrap()));
        let minute = Duration::from_secs(60);
        let jwt = Credential::jwt(SystemTime::now() + minute).unwrap();
        assert!(!ends(&access, &jwt).await);
        tokio::time::advance(minute).await;
        assert!(ends(&access, &jwt).await);
        let claims = Arc::new(json!({"exp": 4_000_000_000_u64}));
        let caller = Caller::with_claims(Some("jwt:ada".into()), None, Some(claims));
        let opened = access.sessions.open(SessionSubject::Jwt(caller), false).await.unwrap();
        let cookie = opened.cookie.unwrap();
        let id = cookie.to_str().unwrap().split(['=', ';']).nth(1).unwrap().to_owned();
        let session = Credential::Session(tokens::hash(&id));
        assert!(!ends(&access, &session).await);
        let mut headers = http::HeaderMap::new();
        headers.insert(http::header::COOKIE, cookie);
        access.sessions.close(&headers, false).await.unwrap();
        assert!(ends(&access, &session).await);
        assert!(!ends(&access, &Credential::NotNeeded).await, "nothing there that could end");
    }
}
