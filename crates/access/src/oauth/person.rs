//! Who lets clients in: the bearer of a token or a JWT after a sign-in, or the user of this machine.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderValue, request};
use serde_json::Value;

use super::{GrantUser, redirect};
use crate::{
    Access, Caller, ConnectionUser, NewSession, Rejection, sessions::SessionSubject, tokens,
};

/// Headers by which a proxy says that somebody else is behind it.
const FORWARDED: [&str; 4] = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];

/// Returns whether a proxy says that somebody else is behind it.
pub(crate) fn is_forwarded(request: &request::Parts) -> bool {
    FORWARDED.iter().any(|name| request.headers.contains_key(*name))
}

/// Somebody who may let clients in.
pub struct Person {
    /// What the person may do.
    pub caller: Caller,
    pub(super) user: GrantUser,
}

impl Person {
    /// Returns the person's name, for people.
    pub fn name(&self) -> String {
        self.user.name()
    }

    /// Returns whether the person has signed in, and can sign out.
    pub fn has_session(&self) -> bool {
        self.user != GrantUser::Owner
    }
}

impl Access {
    /// Returns who has signed in; `None` if nobody has.
    pub async fn person(&self, request: &request::Parts, peer: ConnectionUser) -> Option<Person> {
        match self.sessions.find(&request.headers).await {
            Some((_, subject)) => self.person_of(subject),
            None => self
                .is_local_user(request, peer)
                .then(|| Person { caller: Caller::owner(), user: GrantUser::Owner }),
        }
    }

    fn person_of(&self, subject: SessionSubject) -> Option<Person> {
        let claims = match subject {
            SessionSubject::Token(hash) => {
                let token = self.tokens.find_hash(&hash)?;
                let entry = token.entry();
                let hash = URL_SAFE_NO_PAD.encode(hash);
                let user = GrantUser::Token { name: entry.name.clone(), hash };
                let person = Person { caller: token.caller(), user };
                return entry.oauth.is_none().then_some(person);
            }
            SessionSubject::Jwt(caller) => match caller.claims.as_deref() {
                Some(Value::Object(claims)) => claims.clone(),
                _ => return None,
            },
            SessionSubject::Claims(claims) => claims,
        };
        let caller = self.jwt.as_ref()?.caller(claims.clone()).ok()?;
        let name = caller.name.as_deref().unwrap_or_default().to_owned();
        Some(Person { caller, user: GrantUser::Jwt { name, claims } })
    }

    /// Returns whether the request comes from a program of the user who runs the gateway, and from nobody behind it.
    fn is_local_user(&self, request: &request::Parts, peer: ConnectionUser) -> bool {
        let is_taken = self.oauth.as_ref().is_some_and(|oauth| oauth.takes_local_user());
        let is_forwarded = is_forwarded(request);
        let base = self.base_url(request).ok().and_then(|base| base.parse().ok());
        is_taken
            && peer == ConnectionUser::Owner
            && !is_forwarded
            && base.is_some_and(|base| redirect::is_loopback(&base))
    }

    /// Opens a session for the owner of this token. The request must come from our own form: see [`check_form`](Self::check_form).
    ///
    /// # Errors
    /// The token is invalid, or that of a client.
    pub async fn sign_in_person(
        &self,
        request: &request::Parts,
        secret: &str,
    ) -> Result<NewSession, Rejection> {
        let subject = match &self.jwt {
            Some(jwt) if !secret.starts_with(tokens::PREFIX) => {
                SessionSubject::Jwt(jwt.admit(secret, self.peers()).await?.caller)
            }
            _ => {
                self.admit_known(tokens::hash(secret)).await?;
                SessionSubject::Token(tokens::hash(secret))
            }
        };
        let is_secure = self.base_url(request)?.starts_with("https://");
        self.sessions.open(subject, is_secure).await
    }

    /// Ends the session of a person, from a form of ours. Returns the cookie that removes it from the browser.
    ///
    /// # Errors
    /// Other gateways cannot be reached.
    pub async fn sign_out_person(
        &self,
        request: &request::Parts,
    ) -> Result<HeaderValue, Rejection> {
        let is_secure = self.base_url(request)?.starts_with("https://");
        self.sessions.close(&request.headers, is_secure).await
    }

    /// Returns what the person may do who let a client in.
    ///
    /// # Errors
    /// The person may not call any more.
    pub(super) fn caller_of(&self, user: &GrantUser) -> Result<Caller, Rejection> {
        let gone = || {
            let text = format!("{} let this client in, and may not call any more", user.name());
            Rejection::InvalidToken(text)
        };
        match user {
            GrantUser::Owner => Ok(Caller::owner()),
            GrantUser::Token { hash, .. } => {
                let hash = URL_SAFE_NO_PAD.decode(hash).ok().and_then(|hash| hash.try_into().ok());
                let token = hash.and_then(|hash: [u8; 32]| self.tokens.find_hash(&hash));
                token
                    .filter(|token| token.entry().oauth.is_none())
                    .map(|token| token.caller())
                    .ok_or_else(gone)
            }
            GrantUser::Jwt { claims, .. } => {
                let jwt = self.jwt.as_ref().ok_or_else(gone)?;
                jwt.caller_at_any_time(claims.clone()).map_err(|_| gone())
            }
        }
    }
}
