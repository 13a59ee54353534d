//! Console sessions: a cookie that scripts cannot read replaces a token (SPEC GW-2).
//!
//! The cookie is a random id, stored as a hash and only in memory; in a cluster, the gateways share it. Revoking a
//! token ends its sessions.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue, header};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::{Caller, Peers, Rejection, tokens};

/// How long a session lasts.
const LIFE: Duration = Duration::from_secs(12 * 60 * 60);
/// How many there may be; the owner of the most sessions loses the one that ends first.
const MOST: usize = 1000;
/// How many cookies with our name are checked in one request.
const COOKIES: usize = 4;

/// The open sessions.
pub(crate) struct Sessions {
    open: Mutex<HashMap<[u8; 32], ConsoleSession>>,
    /// The name of the cookie.
    name: String,
    peers: Option<Arc<dyn Peers>>,
}

struct ConsoleSession {
    whose: SessionSubject,
    until: Instant,
}

/// What a session authenticates.
#[derive(Clone)]
pub(crate) enum SessionSubject {
    /// The bearer of the token with this hash, while it is valid.
    Token([u8; 32]),
    /// The bearer of a JWT.
    Jwt(Caller),
    /// The bearer of a JWT with these claims at another gateway.
    Claims(Map<String, Value>),
}

/// Whose sessions are counted together.
#[derive(PartialEq, Eq, Hash)]
enum SessionOwner<'a> {
    Token(&'a [u8; 32]),
    Named(Option<&'a str>),
}

impl SessionSubject {
    fn bearer(&self) -> SessionOwner<'_> {
        match self {
            Self::Token(hash) => SessionOwner::Token(hash),
            Self::Jwt(caller) => SessionOwner::Named(caller.name.as_deref()),
            Self::Claims(claims) => SessionOwner::Named(claims.get("sub").and_then(Value::as_str)),
        }
    }

    /// Returns how long a session may last.
    fn life(&self) -> Duration {
        match self {
            Self::Token(_) => LIFE,
            Self::Jwt(caller) => left(caller.claims.as_ref().map(|claims| &claims["exp"])),
            Self::Claims(claims) => left(claims.get("exp")),
        }
    }

    /// Converts it for other gateways.
    fn to_json(&self) -> Value {
        match self {
            Self::Token(hash) => json!({"token": URL_SAFE_NO_PAD.encode(hash)}),
            Self::Jwt(caller) => json!({"claims": caller.claims.as_deref()}),
            Self::Claims(claims) => json!({"claims": claims}),
        }
    }

    fn from_json(mut kept: Value) -> Option<Self> {
        match kept["claims"].take() {
            Value::Object(claims) => Some(Self::Claims(claims)),
            _ => {
                let hash = URL_SAFE_NO_PAD.decode(kept["token"].as_str()?).ok()?;
                hash.try_into().ok().map(Self::Token)
            }
        }
    }
}

/// An opened session; the default if none is needed.
#[derive(Default)]
#[non_exhaustive]
pub struct NewSession {
    /// The cookie.
    pub cookie: Option<HeaderValue>,
    /// When it ends.
    pub expires: Option<SystemTime>,
}

impl Sessions {
    /// Creates the sessions of the gateway on this port, shared with `peers`.
    pub(crate) fn new(port: u16, peers: Option<Arc<dyn Peers>>) -> Self {
        let name = match &peers {
            Some(peers) => format!("switchboard_{}", peers.name()),
            // Cookies ignore ports, and there may be another gateway on this machine.
            None => format!("switchboard_{port}"),
        };
        Self { open: Mutex::default(), name, peers }
    }

    /// Opens a session.
    pub(crate) async fn open(
        &self,
        whose: SessionSubject,
        is_secure: bool,
    ) -> Result<NewSession, Rejection> {
        let life = whose.life();
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes)
            .map_err(|error| Rejection::Unavailable(format!("no random numbers: {error}")))?;
        let id = URL_SAFE_NO_PAD.encode(bytes);
        if !self.share(&id, &whose, life).await {
            self.keep(&id, whose, life);
        }
        Ok(NewSession {
            cookie: Some(self.cookie(&id, life, is_secure)),
            expires: SystemTime::now().checked_add(life),
        })
    }

    /// Shares a session with the other gateways, if there are any. Returns whether that worked.
    async fn share(&self, id: &str, whose: &SessionSubject, life: Duration) -> bool {
        let Some(peers) = &self.peers else { return false };
        let kept = peers.keep_session(&key(id), whose.to_json(), life).await;
        if let Err(error) = &kept {
            tracing::warn!(error = error.as_ref(), "a sign-in holds at this gateway only");
        }
        kept.is_ok()
    }

    fn keep(&self, id: &str, whose: SessionSubject, life: Duration) {
        let now = Instant::now();
        let mut open = self.lock();
        open.retain(|_, session| session.until > now);
        if open.len() >= MOST
            && let Some(first) = gives_way(&open)
        {
            open.remove(&first);
        }
        open.insert(tokens::hash(id), ConsoleSession { whose, until: now + life });
    }

    /// Returns what the request's cookie authenticates, with the key of its session, if it is valid.
    pub(crate) async fn find(&self, headers: &HeaderMap) -> Option<([u8; 32], SessionSubject)> {
        let own = self.ids(headers).map(tokens::hash);
        if let Some(found) = own.filter_map(|key| Some((key, self.find_own(&key)?))).next() {
            return Some(found);
        }
        for id in self.ids(headers).take(COOKIES).filter(|_| self.peers.is_some()) {
            let key = tokens::hash(id);
            if let Some(whose) = self.find_shared(&key).await {
                return Some((key, whose));
            }
        }
        None
    }

    /// Returns what the session with this key authenticates, if it is valid.
    pub(crate) async fn find_key(&self, key: &[u8; 32]) -> Option<SessionSubject> {
        match self.find_own(key) {
            Some(own) => Some(own),
            None => self.find_shared(key).await,
        }
    }

    fn find_own(&self, key: &[u8; 32]) -> Option<SessionSubject> {
        let open = self.lock();
        let found = open.get(key).filter(|session| session.until > Instant::now());
        found.map(|session| session.whose.clone())
    }

    async fn find_shared(&self, key: &[u8; 32]) -> Option<SessionSubject> {
        let kept = self.peers.as_ref()?.find_session(&URL_SAFE_NO_PAD.encode(key)).await?;
        SessionSubject::from_json(kept)
    }

    /// Ends the session of a request. Returns the cookie that removes it from the browser.
    ///
    /// # Errors
    /// The other gateways cannot be reached.
    pub(crate) async fn close(
        &self,
        headers: &HeaderMap,
        is_secure: bool,
    ) -> Result<HeaderValue, Rejection> {
        for id in self.ids(headers).take(COOKIES) {
            let was_own = self.lock().remove(&tokens::hash(id)).is_some();
            if let Some(peers) = self.peers.as_ref().filter(|_| !was_own) {
                let ended = peers.end_session(&key(id)).await;
                ended
                    .map_err(|error| Rejection::Unavailable(format!("not signed out: {error}")))?;
            }
        }
        Ok(self.cookie("", Duration::ZERO, is_secure))
    }

    fn cookie(&self, id: &str, life: Duration, is_secure: bool) -> HeaderValue {
        let secure = if is_secure { "; Secure" } else { "" };
        let text = format!(
            "{}={id}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict{secure}",
            self.name,
            life.as_secs()
        );
        // An id has letters and digits only.
        HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
    }

    /// Returns the values of the request's cookies with our name.
    fn ids<'a>(&'a self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> + use<'a> {
        cookies(headers, &self.name)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], ConsoleSession>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the values of the cookies with this name.
pub(crate) fn cookies<'a>(
    headers: &'a HeaderMap,
    name: &'a str,
) -> impl Iterator<Item = &'a str> + use<'a> {
    let texts = headers.get_all(header::COOKIE).into_iter().filter_map(|text| text.to_str().ok());
    let pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.filter(move |(own, _)| own.trim() == name).map(|(_, id)| id.trim())
}

/// Returns the session that a new one replaces: many sign-ins of one user do not end those of others.
fn gives_way(open: &HashMap<[u8; 32], ConsoleSession>) -> Option<[u8; 32]> {
    let mut counts: HashMap<SessionOwner<'_>, usize> = HashMap::new();
    for session in open.values() {
        *counts.entry(session.whose.bearer()).or_default() += 1;
    }
    let (most, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let theirs = open.iter().filter(|(_, session)| session.whose.bearer() == most);
    theirs.min_by_key(|(_, session)| session.until).map(|(key, _)| *key)
}

/// Returns the key of a session: not the value of the cookie.
fn key(id: &str) -> String {
    URL_SAFE_NO_PAD.encode(tokens::hash(id))
}

/// Returns how long a session of a JWT that expires then may last.
fn left(end: Option<&Value>) -> Duration {
    let end = end.and_then(Value::as_f64).unwrap_or(0.0);
    let end = Duration::try_from_secs_f64(end).unwrap_or_default();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    end.saturating_sub(now).min(LIFE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::fake::FakePeers;

    fn sent_back(opened: &NewSession) -> HeaderMap {
        let cookie = opened.cookie.as_ref().unwrap().to_str().unwrap();
        let pair = cookie.split(';').next().unwrap();
        let value = HeaderValue::from_str(&format!("other=1; {pair}")).unwrap();
        HeaderMap::from_iter([(header::COOKIE, value)])
    }

    // GW-2
    #[tokio::test(start_paused = true)]
    async fn a_session_lasts_its_time_and_no_longer() {
        let sessions = Sessions::new(7300, None);
        let opened = sessions.open(SessionSubject::Token([1; 32]), true).await.unwrap();
        let cookie = opened.cookie.as_ref().unwrap().to_str().unwrap();
        for part in ["switchboard_7300=", "HttpOnly", "SameSite=Strict", "Path=/", "; Secure"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        let headers = sent_back(&opened);
        assert!(matches!(sessions.find(&headers).await, Some((_, SessionSubject::Token([1, ..])))));
        assert!(Sessions::new(7301, None).find(&headers).await.is_none());
        tokio::time::advance(LIFE - Duration::from_secs(1)).await;
        assert!(sessions.find(&headers).await.is_some());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(sessions.find(&headers).await.is_none());

        let headers =
            sent_back(&sessions.open(SessionSubject::Token([2; 32]), false).await.unwrap());
        let gone = sessions.close(&headers, false).await.unwrap();
        assert!(gone.to_str().unwrap().contains("Max-Age=0"));
        assert!(sessions.find(&headers).await.is_none());
    }

    // GW-2
    #[tokio::test(start_paused = true)]
    async fn who_has_most_gives_way_and_a_jwt_outlives_itself_nowhere() {
        let sessions = Sessions::new(1, None);
        let first = sent_back(&sessions.open(SessionSubject::Token([1; 32]), false).await.unwrap());
        tokio::time::advance(Duration::from_secs(1)).await;
        let greedy =
            sent_back(&sessions.open(SessionSubject::Token([2; 32]), false).await.unwrap());
        tokio::time::advance(Duration::from_secs(1)).await;
        for _ in 0..MOST {
            sessions.open(SessionSubject::Token([2; 32]), false).await.unwrap();
        }
        // GW-5
        assert!(sessions.find(&first).await.is_some() && sessions.find(&greedy).await.is_none());
        assert_eq!(sessions.lock().len(), MOST);
        let over = Caller::with_claims(
            None,
            None,
            Some(std::sync::Arc::new(serde_json::json!({"exp": 5}))),
        );
        let over = sent_back(&sessions.open(SessionSubject::Jwt(over), false).await.unwrap());
        assert!(sessions.find(&over).await.is_none());
    }

    // GW-2
    #[tokio::test]
    async fn a_session_of_one_gateway_is_one_of_all() {
        let peers: Arc<dyn Peers> = Arc::new(FakePeers::new(false));
        let [one, two] = [1, 2].map(|port| Sessions::new(port, Some(peers.clone())));
        let headers = sent_back(&one.open(SessionSubject::Token([7; 32]), false).await.unwrap());
        assert!(matches!(two.find(&headers).await, Some((_, SessionSubject::Token([7, ..])))));
        let claims = json!({"sub": "ada", "exp": 1e11});
        let caller = Caller::with_claims(None, None, Some(Arc::new(claims.clone())));
        let signed = sent_back(&one.open(SessionSubject::Jwt(caller), false).await.unwrap());
        let Some((_, SessionSubject::Claims(found))) = two.find(&signed).await else {
            panic!("claims")
        };
        assert_eq!(Value::from(found), claims);
        two.close(&headers, false).await.unwrap();
        assert!(one.find(&headers).await.is_none());
    }

    // GW-2
    #[tokio::test]
    async fn who_signs_in_while_the_others_are_away_is_signed_in_here() {
        let peers: Arc<dyn Peers> = Arc::new(FakePeers::new(true));
        let [one, two] = [1, 2].map(|port| Sessions::new(port, Some(peers.clone())));
        let headers = sent_back(&one.open(SessionSubject::Token([7; 32]), false).await.unwrap());
        assert!(one.find(&headers).await.is_some() && two.find(&headers).await.is_none());
        let refused = two.close(&headers, false).await.unwrap_err();
        assert!(refused.to_string().contains("away"), "{refused}");
        one.close(&headers, false).await.unwrap();
        assert!(one.find(&headers).await.is_none());
    }
}
