//! Signs messages between the nodes of a cluster, so that only nodes with `[cluster] key` are accepted.
//!
//! A signed message begins with the line `sb1 NODE TIME SIGNATURE`, followed by the message. The signature
//! (HMAC-SHA-256, with a separate key for each [`Purpose`]) covers the place, the node, the time and the message. The
//! place is the subject, or the key of an entry: a signature for one place is invalid at another. Without a key nothing
//! is signed, and everything is accepted.

mod keys;
mod seen_requests;

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
use switchboard_toolcall::time::unix_milliseconds;
use tokio::time::Instant;
use ulid::Ulid;

use crate::{Error, wire};
use keys::SigningKeys;

pub use keys::{ClusterSecrets, Purpose};
pub(crate) use seen_requests::SeenRequests;

/// How far the clocks of two nodes may be apart, and how old a request may be.
pub const WINDOW: Duration = Duration::from_secs(60);

/// The first bytes of a signed message.
const MARK: &[u8] = b"sb1 ";
/// The lengths of the fields: a ULID, milliseconds since 1970, a signature in base64.
const NODE: usize = 26;
const TIME: usize = 13;
const SIGNATURE: usize = 43;
/// The length of the first line.
const HEAD: usize = MARK.len() + NODE + 1 + TIME + 1 + SIGNATURE + 1;

/// How often rejections of the same kind are logged.
const LOGGED: Duration = Duration::from_secs(60);

/// Signs and verifies, if the cluster has a key.
pub struct Signer {
    /// The first one signs, all of them verify; if empty, nothing is signed.
    keys: Vec<SigningKeys>,
    node: String,
    /// When a rejection was last logged.
    logged: Mutex<HashMap<Purpose, Instant>>,
}

/// A verified message.
#[derive(Clone, Debug)]
pub struct VerifiedMessage {
    /// The message without the signature.
    pub body: Bytes,
    /// The signature; `None` if the cluster has no key.
    pub signed: Option<VerifiedSignature>,
}

/// A verified signature.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedSignature {
    /// The node that signed: one connection of one process.
    pub node: String,
    /// When it signed, by its clock, in milliseconds since 1970.
    pub at_ms: u64,
    /// Identifies the message.
    pub id: [u8; 16],
    /// Whether the first of the cluster's keys was used, not one that is being replaced.
    pub is_current: bool,
}

impl Signer {
    /// Signs with the first of these secrets, and verifies with all of them.
    ///
    /// # Errors
    /// A secret is too short.
    pub fn new(secrets: Option<&ClusterSecrets>) -> Result<Self, Error> {
        let keys = secrets.map(SigningKeys::derive).transpose()?.unwrap_or_default();
        Ok(Self { keys, node: Ulid::generate().to_string(), logged: Mutex::default() })
    }

    /// Returns whether the cluster has a key.
    pub fn has_key(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Derives secrets for another use from the cluster's keys, in their order.
    pub fn secrets(&self, purpose: &str) -> Vec<[u8; 32]> {
        self.keys.iter().filter_map(|keys| keys.secret(purpose)).collect()
    }

    /// Serializes a message as JSON, signed for this place.
    ///
    /// # Errors
    /// It cannot be serialized.
    pub fn write(
        &self,
        purpose: Purpose,
        place: &[&str],
        message: &impl Serialize,
    ) -> Result<Bytes, Error> {
        self.write_after(purpose, place, message, 0)
    }

    /// Like [`write`](Self::write), with a time later than `before_ms`, whatever the clock says.
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
        Ok(self.complete(
            purpose,
            place,
            whole,
            unix_milliseconds().max(before_ms.saturating_add(1)),
        ))
    }

    /// Signs bytes for this place.
    pub fn sign(&self, purpose: Purpose, place: &[&str], body: &Bytes) -> Bytes {
        self.sign_after(purpose, place, body, 0)
    }

    /// Like [`sign`](Self::sign), with a time later than `before_ms`, whatever the clock says.
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
        self.sign_at(purpose, place, body, unix_milliseconds().max(before_ms.saturating_add(1)))
    }

    fn sign_at(&self, purpose: Purpose, place: &[&str], body: &[u8], at_ms: u64) -> Bytes {
        let mut whole = Vec::with_capacity(HEAD + body.len());
        whole.resize(HEAD, 0);
        whole.extend_from_slice(body);
        self.complete(purpose, place, whole, at_ms)
    }

    /// Writes the first line into the space that was reserved for it.
    fn complete(&self, purpose: Purpose, place: &[&str], mut whole: Vec<u8>, at_ms: u64) -> Bytes {
        let time = format!("{at_ms:0TIME$}");
        let text = covered(place, &self.node, &time, &whole[HEAD..]);
        let signature = self.keys.first().map(|keys| hmac::sign(keys.of(purpose), &text));
        let signature = signature.map(|tag| URL_SAFE_NO_PAD.encode(tag)).unwrap_or_default();
        let head = format!("sb1 {} {time} {signature}\n", self.node);
        whole.splice(..HEAD, head.into_bytes());
        whole.into()
    }

    /// Returns the message, if it is valid at this place. A cluster without a key accepts signed messages without
    /// verifying them.
    ///
    /// # Errors
    /// It is not signed with one of the cluster's keys, or for another place or purpose.
    pub fn open(
        &self,
        purpose: Purpose,
        place: &[&str],
        bytes: &Bytes,
    ) -> Result<VerifiedMessage, Error> {
        let head = SignatureLine::read(bytes);
        if self.keys.is_empty() {
            let body = head.map_or_else(|| bytes.clone(), |_| bytes.slice(HEAD..));
            return Ok(VerifiedMessage { body, signed: None });
        }
        let unsigned = || Error::Unsigned { what: purpose.what() };
        let head = head.ok_or_else(unsigned)?;
        let text = covered(place, head.node, head.time, &bytes[HEAD..]);
        let fits =
            |keys: &SigningKeys| hmac::verify(keys.of(purpose), &text, &head.signature).is_ok();
        let key = self.keys.iter().position(fits).ok_or_else(unsigned)?;
        let mut id = [0; 16];
        id.copy_from_slice(&head.signature[..16]);
        let at_ms = head.time.parse().map_err(|_| unsigned())?;
        let signed =
            VerifiedSignature { node: head.node.to_owned(), at_ms, id, is_current: key == 0 };
        Ok(VerifiedMessage { body: bytes.slice(HEAD..), signed: Some(signed) })
    }

    /// Like [`open`](Self::open), for a message that must be recent.
    ///
    /// # Errors
    /// As [`open`](Self::open), or its time is outside of [`WINDOW`].
    pub(crate) fn open_fresh(
        &self,
        purpose: Purpose,
        place: &[&str],
        bytes: &Bytes,
        now_ms: u64,
    ) -> Result<VerifiedMessage, Error> {
        self.open_kept(purpose, place, bytes, now_ms, Duration::ZERO)
    }

    /// Like [`open_fresh`](Self::open_fresh), for a message that was stored for up to `kept`.
    ///
    /// # Errors
    /// As [`open`](Self::open), or its time is outside of [`WINDOW`].
    pub(crate) fn open_kept(
        &self,
        purpose: Purpose,
        place: &[&str],
        bytes: &Bytes,
        now_ms: u64,
        kept: Duration,
    ) -> Result<VerifiedMessage, Error> {
        let opened = self.open(purpose, place, bytes)?;
        let kept_ms = u64::try_from(kept.as_millis()).unwrap_or(u64::MAX);
        let stored_ms =
            |signed: &VerifiedSignature| now_ms.saturating_sub(signed.at_ms).min(kept_ms);
        match &opened.signed {
            Some(signed) if !signed.is_fresh(now_ms - stored_ms(signed)) => Err(Error::Stale {
                what: purpose.what(),
                seconds: signed.at_ms.abs_diff(now_ms) / 1000,
            }),
            _ => Ok(opened),
        }
    }

    /// Logs a rejection: each kind once a minute, since an attacker may send many.
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

impl VerifiedSignature {
    /// Returns whether it was signed within [`WINDOW`] of `now_ms`.
    pub(crate) fn is_fresh(&self, now_ms: u64) -> bool {
        u128::from(self.at_ms.abs_diff(now_ms)) <= WINDOW.as_millis()
    }
}

/// Returns whether a message looks signed.
pub fn is_signed(bytes: &[u8]) -> bool {
    SignatureLine::read(bytes).is_some()
}

/// The first line of a signed message.
struct SignatureLine<'a> {
    node: &'a str,
    time: &'a str,
    signature: [u8; 32],
}

impl<'a> SignatureLine<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let line = bytes.get(..HEAD)?.strip_prefix(MARK)?.strip_suffix(b"\n")?;
        let mut parts = std::str::from_utf8(line).ok()?.split(' ');
        let (node, time, signature) = (parts.next()?, parts.next()?, parts.next()?);
        let is_whole = node.len() == NODE && time.len() == TIME && parts.next().is_none();
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?.try_into().ok()?;
        is_whole.then_some(Self { node, time, signature })
    }
}

/// Returns what a signature covers. Each part is prefixed by its length, so that different lists of parts never give
/// the same bytes.
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
