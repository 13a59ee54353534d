//! Signs what the nodes of a cluster say to each other, so that only nodes that have `[cluster] key` are believed.
//!
//! A signed message begins with one line, `sb1 NODE TIME SIGNATURE`, and the message itself stands below it. The signature
//! (HMAC-SHA-256, with a key of its own for each [`Purpose`]) covers the place, the node, the time and the message. The place is the
//! subject, or the key of an entry: what was signed for one place is worth nothing at another. Without a key nothing is signed,
//! and everything is believed.

mod keys;
mod seen;

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use ring::{
    digest::{SHA256, digest},
    hmac,
};
use serde::Serialize;
use tokio::time::Instant;
use ulid::Ulid;

use crate::{Error, clock::now_ms, wire};
use keys::Keys;

pub use keys::{Purpose, Secrets};
pub(crate) use seen::Seen;

/// How far the clocks of two nodes may be apart, and how old a request may be.
pub const WINDOW: Duration = Duration::from_secs(60);

/// What a signed message begins with.
const MARK: &[u8] = b"sb1 ";
/// How long the parts of the first line are: a ULID, milliseconds since 1970, a signature in base64.
const NODE: usize = 26;
const TIME: usize = 13;
const SIGNATURE: usize = 43;
/// How long the first line is.
const HEAD: usize = MARK.len() + NODE + 1 + TIME + 1 + SIGNATURE + 1;

/// How often the same kind of refusal is logged.
const LOGGED: Duration = Duration::from_secs(60);

/// Signs and verifies, if the cluster has a key.
pub struct Signer {
    /// The first one signs, all of them verify; none: nothing is signed.
    keys: Vec<Keys>,
    node: String,
    /// When a refusal was last logged.
    logged: Mutex<HashMap<Purpose, Instant>>,
}

/// A message that may be believed.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The message itself.
    pub body: Bytes,
    /// Who signed it; `None` if the cluster has no key.
    pub signed: Option<Signed>,
}

/// What is known of a signature that was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The node that signed: one connection of one process.
    pub node: String,
    /// When it signed, by its clock, in milliseconds since 1970.
    pub at_ms: u64,
    /// Tells this message from every other one.
    pub id: [u8; 16],
    /// Whether it was signed with the first of the cluster's keys, not with one that is about to be replaced.
    pub is_current: bool,
}

impl Signer {
    /// Signs with the first of these secrets, and verifies with all of them.
    ///
    /// # Errors
    /// A secret is too short.
    pub fn new(secrets: Option<&Secrets>) -> Result<Self, Error> {
        let keys = secrets.map(Keys::derive).transpose()?.unwrap_or_default();
        Ok(Self { keys, node: Ulid::generate().to_string(), logged: Mutex::default() })
    }

    /// Whether the cluster has a key.
    pub fn has_key(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Secrets for another use than signatures, made from the cluster's keys, in their order.
    pub fn secrets(&self, purpose: &str) -> Vec<[u8; 32]> {
        self.keys.iter().filter_map(|keys| keys.secret(purpose)).collect()
    }

    /// Writes a message as JSON, signed for this place.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub fn write(
        &self,
        purpose: Purpose,
        place: &[&str],
        message: &impl Serialize,
    ) -> Result<Bytes, Error> {
        self.write_after(purpose, place, message, 0)
    }

    /// As [`write`](Self::write), with a time that is later than `before_ms`, whatever the clock says.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_after(
        &self,
        purpose: Purpose,
        place: &[&str],
        message: &impl Serialize,
        before_ms: u64,
    ) -> Result<Bytes, Error> {
        if self.keys.is_empty() {
            return wire::write(message);
        }
        let mut whole = vec![0; HEAD];
        wire::write_to(&mut whole, message)?;
        Ok(self.complete(purpose, place, whole, now_ms().max(before_ms.saturating_add(1))))
    }

    /// Signs bytes for this place.
    pub fn sign(&self, purpose: Purpose, place: &[&str], body: &Bytes) -> Bytes {
        self.sign_after(purpose, place, body, 0)
    }

    /// As [`sign`](Self::sign), with a time that is later than `before_ms`, whatever the clock says.
    pub fn sign_after(
        &self,
        purpose: Purpose,
        place: &[&str],
        body: &Bytes,
        before_ms: u64,
    ) -> Bytes {
        if self.keys.is_empty() {
            return body.clone();
        }
        self.sign_at(purpose, place, body, now_ms().max(before_ms.saturating_add(1)))
    }

    fn sign_at(&self, purpose: Purpose, place: &[&str], body: &[u8], at_ms: u64) -> Bytes {
        let mut whole = Vec::with_capacity(HEAD + body.len());
        whole.resize(HEAD, 0);
        whole.extend_from_slice(body);
        self.complete(purpose, place, whole, at_ms)
    }

    /// Fills in the first line, for which room was left.
    fn complete(&self, purpose: Purpose, place: &[&str], mut whole: Vec<u8>, at_ms: u64) -> Bytes {
        let time = format!("{at_ms:0TIME$}");
        let text = covered(place, &self.node, &time, &whole[HEAD..]);
        let signature = self.keys.first().map(|keys| hmac::sign(keys.of(purpose), &text));
        let signature = signature.map(|tag| URL_SAFE_NO_PAD.encode(tag)).unwrap_or_default();
        let head = format!("sb1 {} {time} {signature}\n", self.node);
        whole.splice(..HEAD, head.into_bytes());
        whole.into()
    }

    /// Returns the message, if it may be believed at this place. A cluster without a key believes signed messages too, unseen.
    ///
    /// # Errors
    /// It is not signed with one of the cluster's keys, or was signed for another place or purpose.
    pub fn open(&self, purpose: Purpose, place: &[&str], bytes: &Bytes) -> Result<Opened, Error> {
        let head = Head::read(bytes);
        if self.keys.is_empty() {
            let body = head.map_or_else(|| bytes.clone(), |_| bytes.slice(HEAD..));
            return Ok(Opened { body, signed: None });
        }
        let unsigned = || Error::Unsigned { what: purpose.what() };
        let head = head.ok_or_else(unsigned)?;
        let text = covered(place, head.node, head.time, &bytes[HEAD..]);
        let fits = |keys: &Keys| hmac::verify(keys.of(purpose), &text, &head.signature).is_ok();
        let key = self.keys.iter().position(fits).ok_or_else(unsigned)?;
        let mut id = [0; 16];
        id.copy_from_slice(&head.signature[..16]);
        let at_ms = head.time.parse().map_err(|_| unsigned())?;
        let signed = Signed { node: head.node.to_owned(), at_ms, id, is_current: key == 0 };
        Ok(Opened { body: bytes.slice(HEAD..), signed: Some(signed) })
    }

    /// As [`open`](Self::open), for a message that was signed around this moment.
    ///
    /// # Errors
    /// As [`open`](Self::open), or it was signed earlier or later than [`WINDOW`] allows.
    pub fn open_fresh(
        &self,
        purpose: Purpose,
        place: &[&str],
        bytes: &Bytes,
        now_ms: u64,
    ) -> Result<Opened, Error> {
        let opened = self.open(purpose, place, bytes)?;
        match &opened.signed {
            Some(signed) if !signed.is_fresh(now_ms) => Err(Error::Stale {
                what: purpose.what(),
                seconds: signed.at_ms.abs_diff(now_ms) / 1000,
            }),
            _ => Ok(opened),
        }
    }

    /// Logs that something was refused: each kind once a minute, for whoever sends such things may send many.
    pub fn refused(&self, purpose: Purpose, place: &str, error: &Error) {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.get(&purpose).is_none_or(|logged| logged.elapsed() >= LOGGED) {
            logged.insert(purpose, Instant::now());
            tracing::warn!(
                "refused at `{place}`: {error}; every gateway and worker needs the same `[cluster] key`, and clocks in step"
            );
        }
    }
}

impl Signed {
    /// Whether it was signed around this moment.
    pub fn is_fresh(&self, now_ms: u64) -> bool {
        u128::from(self.at_ms.abs_diff(now_ms)) <= WINDOW.as_millis()
    }
}

/// Whether a message looks like a signed one.
pub fn is_signed(bytes: &[u8]) -> bool {
    Head::read(bytes).is_some()
}

/// The first line of a signed message.
struct Head<'a> {
    node: &'a str,
    time: &'a str,
    signature: [u8; 32],
}

impl<'a> Head<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let line = bytes.get(..HEAD)?.strip_prefix(MARK)?.strip_suffix(b"\n")?;
        let mut parts = std::str::from_utf8(line).ok()?.split(' ');
        let (node, time, signature) = (parts.next()?, parts.next()?, parts.next()?);
        let is_whole = node.len() == NODE && time.len() == TIME && parts.next().is_none();
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?.try_into().ok()?;
        is_whole.then_some(Self { node, time, signature })
    }
}

/// What a signature covers. Each part stands behind its length, so that no two lists of parts are the same text.
fn covered(place: &[&str], node: &str, time: &str, body: &[u8]) -> Vec<u8> {
    let body = digest(&SHA256, body);
    let mut text = Vec::with_capacity(256);
    for part in [node, time].iter().chain(place) {
        text.extend_from_slice(&(part.len() as u64).to_be_bytes());
        text.extend_from_slice(part.as_bytes());
    }
    text.extend_from_slice(body.as_ref());
    text
}

#[cfg(test)]
mod tests;
