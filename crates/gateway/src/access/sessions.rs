//! Sessions of our own page: a cookie that scripts cannot read stands for a token (SPEC GW-2).
//!
//! The cookie is a random id, kept here as a hash and only in memory. A token that is revoked takes its sessions along.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue, header};
use tokio::time::Instant;

use super::{Caller, tokens};
use crate::refusal::Refusal;

/// How long a session lasts.
const LIFE: Duration = Duration::from_secs(12 * 60 * 60);
/// How many there may be; the one that ends first gives way.
const MOST: usize = 1000;

/// The sessions that are open.
pub(super) struct Sessions {
    open: Mutex<HashMap<[u8; 32], Session>>,
    /// Cookies know no ports, and there may be another gateway on this machine.
    port: u16,
}

struct Session {
    whose: Whose,
    until: Instant,
}

/// Whom a session stands for.
#[derive(Clone)]
pub(super) enum Whose {
    /// Whoever bears the token with this hash, as long as it is known.
    Token([u8; 32]),
    /// Who bore a JWT.
    Jwt(Caller),
}

/// A session that was opened, by default none because none is needed.
#[derive(Default)]
pub(crate) struct Opened {
    /// What the browser is to keep.
    pub(crate) cookie: Option<HeaderValue>,
    /// When it is over.
    pub(crate) expires: Option<SystemTime>,
}

impl Sessions {
    pub(super) fn new(port: u16) -> Self {
        Self { open: Mutex::default(), port }
    }

    /// Opens a session.
    pub(super) fn open(&self, whose: Whose, is_secure: bool) -> Result<Opened, Refusal> {
        let life = match &whose {
            Whose::Token(_) => LIFE,
            Whose::Jwt(caller) => left(caller).min(LIFE),
        };
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes)
            .map_err(|error| Refusal::Unavailable(format!("no random numbers: {error}")))?;
        let id = URL_SAFE_NO_PAD.encode(bytes);
        let now = Instant::now();
        let mut open = self.lock();
        open.retain(|_, session| session.until > now);
        if open.len() >= MOST
            && let Some(first) =
                open.iter().min_by_key(|(_, session)| session.until).map(|(key, _)| *key)
        {
            open.remove(&first);
        }
        open.insert(tokens::hash(&id), Session { whose, until: now + life });
        Ok(Opened {
            cookie: Some(self.cookie(&id, life, is_secure)),
            expires: SystemTime::now().checked_add(life),
        })
    }

    /// Whom the cookie of a request stands for, where it has one that is good.
    pub(super) fn find(&self, headers: &HeaderMap) -> Option<Whose> {
        let open = self.lock();
        let mut found = self.ids(headers).filter_map(|id| open.get(&tokens::hash(id)));
        let now = Instant::now();
        found.find(|session| session.until > now).map(|session| session.whose.clone())
    }

    /// Ends the session of a request; returns the cookie that takes it from the browser.
    pub(super) fn close(&self, headers: &HeaderMap, is_secure: bool) -> HeaderValue {
        let mut open = self.lock();
        for id in self.ids(headers) {
            open.remove(&tokens::hash(id));
        }
        self.cookie("", Duration::ZERO, is_secure)
    }

    fn cookie(&self, id: &str, life: Duration, is_secure: bool) -> HeaderValue {
        let secure = if is_secure { "; Secure" } else { "" };
        let text = format!(
            "switchboard_{}={id}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict{secure}",
            self.port,
            life.as_secs()
        );
        // An id is of letters and digits.
        HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
    }

    /// What the request's cookies of our name hold.
    fn ids<'a>(&self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> + use<'a> {
        let name = format!("switchboard_{}", self.port);
        let texts =
            headers.get_all(header::COOKIE).into_iter().filter_map(|text| text.to_str().ok());
        let pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.split_once('='));
        pairs.filter(move |(own, _)| own.trim() == name).map(|(_, id)| id.trim())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a JWT is still good.
fn left(caller: &Caller) -> Duration {
    let end = caller.claims.as_ref().and_then(|claims| claims["exp"].as_f64()).unwrap_or(0.0);
    let end = Duration::try_from_secs_f64(end).unwrap_or_default();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    end.saturating_sub(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent_back(opened: &Opened) -> HeaderMap {
        let cookie = opened.cookie.as_ref().unwrap().to_str().unwrap();
        let pair = cookie.split(';').next().unwrap();
        let value = HeaderValue::from_str(&format!("other=1; {pair}")).unwrap();
        HeaderMap::from_iter([(header::COOKIE, value)])
    }

    // GW-2
    #[tokio::test(start_paused = true)]
    async fn a_session_lasts_its_time_and_no_longer() {
        let sessions = Sessions::new(7300);
        let opened = sessions.open(Whose::Token([1; 32]), true).unwrap();
        let cookie = opened.cookie.as_ref().unwrap().to_str().unwrap();
        for part in ["switchboard_7300=", "HttpOnly", "SameSite=Strict", "Path=/", "; Secure"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        let headers = sent_back(&opened);
        assert!(matches!(sessions.find(&headers), Some(Whose::Token([1, ..]))));
        assert!(Sessions::new(7301).find(&headers).is_none());
        tokio::time::advance(LIFE - Duration::from_secs(1)).await;
        assert!(sessions.find(&headers).is_some());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(sessions.find(&headers).is_none());

        let headers = sent_back(&sessions.open(Whose::Token([2; 32]), false).unwrap());
        let gone = sessions.close(&headers, false);
        assert!(gone.to_str().unwrap().contains("Max-Age=0"));
        assert!(sessions.find(&headers).is_none());
    }

    // GW-2
    #[tokio::test(start_paused = true)]
    async fn the_oldest_gives_way_and_a_jwt_outlives_itself_nowhere() {
        let sessions = Sessions::new(1);
        let first = sent_back(&sessions.open(Whose::Token([1; 32]), false).unwrap());
        tokio::time::advance(Duration::from_secs(1)).await;
        for _ in 0..MOST {
            sessions.open(Whose::Token([2; 32]), false).unwrap();
        }
        assert!(sessions.find(&first).is_none());
        assert_eq!(sessions.lock().len(), MOST);
        let over = Caller::with_claims(
            None,
            None,
            Some(std::sync::Arc::new(serde_json::json!({"exp": 5}))),
        );
        let over = sent_back(&sessions.open(Whose::Jwt(over), false).unwrap());
        assert!(sessions.find(&over).is_none());
    }
}
