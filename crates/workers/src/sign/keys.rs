//! The keys of a cluster: one for each purpose, derived from the secret in the config.

use std::fmt;

use ring::{
    hkdf::{HKDF_SHA256, KeyType, Prk, Salt},
    hmac::{self, HMAC_SHA256},
};
use serde::{Deserialize, Serialize};

use crate::{Error, names::Bucket};

/// Shorter secrets could be guessed.
const SHORTEST: usize = 32;

/// The context of all derived keys.
const CLUSTER: &[u8] = b"switchboard cluster 1";

/// The secrets of `[cluster] key`: one, or several while one is replaced.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged, expecting = "a secret, or a list of secrets whose first one signs")]
pub enum ClusterSecrets {
    /// Signs and verifies.
    One(String),
    /// The first one signs, all of them verify.
    Several(Vec<String>),
}

impl fmt::Debug for ClusterSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl From<&str> for ClusterSecrets {
    fn from(secret: &str) -> Self {
        Self::One(secret.to_owned())
    }
}

/// What a signature is for. A signature for one purpose is invalid for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A call for a worker.
    Request,
    /// A worker's reply.
    Reply,
    /// That a call may start, or that nobody waits for it.
    Word,
    /// The cancellation of a call.
    Notice,
    /// A call in the queue.
    Job,
    /// An object that is too large for a message.
    Large,
    /// A message between gateways about MCP sessions.
    Session,
    /// The reply to it.
    SessionReply,
    /// A question to a node about the figures of its calls.
    Figures,
    /// The reply to it.
    FiguresReply,
    /// An entry of a bucket.
    Entry(Bucket),
}

impl Purpose {
    /// The purposes besides buckets.
    const MESSAGES: [Self; 10] = [
        Self::Request,
        Self::Reply,
        Self::Word,
        Self::Notice,
        Self::Job,
        Self::Large,
        Self::Session,
        Self::SessionReply,
        Self::Figures,
        Self::FiguresReply,
    ];

    pub(super) fn all() -> impl Iterator<Item = Self> {
        Self::MESSAGES.into_iter().chain(Bucket::ALL.map(Self::Entry))
    }

    fn number(self) -> usize {
        match self {
            Self::Entry(bucket) => Self::MESSAGES.len() + bucket.number(),
            message => Self::MESSAGES.iter().position(|one| *one == message).unwrap_or_default(),
        }
    }

    /// Returns the context of the derived key.
    fn word(self) -> (&'static str, &'static str) {
        match self {
            Self::Request => ("message", "request"),
            Self::Reply => ("message", "reply"),
            Self::Word => ("message", "word"),
            Self::Notice => ("message", "notice"),
            Self::Job => ("message", "job"),
            Self::Large => ("message", "large"),
            Self::Session => ("message", "session"),
            Self::SessionReply => ("message", "session reply"),
            Self::Figures => ("message", "figures"),
            Self::FiguresReply => ("message", "figures reply"),
            Self::Entry(bucket) => ("entry", bucket.word()),
        }
    }

    /// Returns its name, for errors.
    pub(super) fn what(self) -> &'static str {
        match self {
            Self::Request => "the request",
            Self::Reply => "a worker's answer",
            Self::Word | Self::Notice => "what a worker is told of a call",
            Self::Job => "a queued call",
            Self::Large => "what was too large for a message",
            Self::Session | Self::SessionReply => "what a gateway says of a session",
            Self::Figures => "a question about figures",
            Self::FiguresReply => "the figures of a node",
            Self::Entry(Bucket::Workers | Bucket::Tools) => "what a worker says of itself",
            Self::Entry(Bucket::Calls) => "the state of a queued call",
            Self::Entry(Bucket::Keys) => "the entry of an idempotency key",
            Self::Entry(Bucket::Tokens) => "the entry of a token",
            Self::Entry(Bucket::Rates) => "the entry of a rate",
            Self::Entry(Bucket::Approvals) => "the entry of an approval",
            Self::Entry(Bucket::Sessions) => "the entry of a session",
            Self::Entry(Bucket::Gateways) => "what a gateway says of itself",
            Self::Entry(Bucket::Credentials) => "the entry of a sign-in",
        }
    }
}

/// All keys that are derived from one secret.
pub(super) struct SigningKeys {
    secret: Prk,
    of_purposes: Vec<hmac::Key>,
}

impl SigningKeys {
    pub(super) fn derive(secrets: &ClusterSecrets) -> Result<Vec<Self>, Error> {
        let wrong = |reason: String| Error::Setting { key: "key", reason };
        let secrets = match secrets {
            ClusterSecrets::One(secret) => std::slice::from_ref(secret),
            ClusterSecrets::Several(secrets) => secrets,
        };
        if secrets.is_empty() {
            return Err(wrong("the list is empty".to_owned()));
        }
        let derive = |secret: &String| {
            let secret = secret.trim();
            match secret.len() {
                length if length < SHORTEST => Err(wrong(format!(
                    "a key has {length} characters and needs at least {SHORTEST}; `openssl rand -base64 32` makes one"
                ))),
                _ => Self::new(secret.as_bytes())
                    .ok_or_else(|| wrong("no keys can be made from it".to_owned())),
            }
        };
        secrets.iter().map(derive).collect()
    }

    fn new(secret: &[u8]) -> Option<Self> {
        let secret = Salt::new(HKDF_SHA256, CLUSTER).extract(secret);
        let key = |purpose: Purpose| {
            let (kind, word) = purpose.word();
            let info = [kind.as_bytes(), b" ", word.as_bytes()];
            secret.expand(&info, HMAC_SHA256).map(hmac::Key::from).ok()
        };
        let of_purposes = Purpose::all().map(key).collect::<Option<_>>()?;
        Some(Self { of_purposes, secret })
    }

    pub(super) fn of(&self, purpose: Purpose) -> &hmac::Key {
        &self.of_purposes[purpose.number()]
    }

    /// Derives a secret for another use.
    pub(super) fn secret(&self, purpose: &str) -> Option<[u8; 32]> {
        let mut secret = [0; 32];
        let info = [b"secret ", purpose.as_bytes()];
        let made = self.secret.expand(&info, Bytes32).ok()?;
        made.fill(&mut secret).ok().map(|()| secret)
    }
}

struct Bytes32;

impl KeyType for Bytes32 {
    fn len(&self) -> usize {
        32
    }
}
