//! Calls about which a person decides: the question, the wait, and what came of it.
//!
//! A held call waits before it takes a slot and before its time begins. Whom to ask, and how an answer comes back, is an
//! [`Approver`]'s business.

mod definition;
mod secrets;
mod wait;

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize, Serializer};
use switchboard_toolcall::{BoxError, BoxFuture, CallId};

use crate::{record::CallStart, redact};

pub(crate) use wait::until_allowed;

/// Whom the executor asks about a call that policy leaves to a person.
pub trait Approver: Send + Sync {
    /// Asks about one call. Must not block; dropping what it returns withdraws the question.
    ///
    /// # Errors
    /// The question could not be put; the call is then denied.
    fn ask(&self, question: Question) -> Result<Asked<'_>, BoxError>;
}

/// What a person is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// The execution that waits.
    pub call: CallId,
    /// The tool's name.
    pub tool: Arc<str>,
    /// The server that it belongs to.
    pub server: Option<Arc<str>>,
    /// The arguments that will be used, as JSON: all of them, characters that cannot be seen as escapes. Only what the
    /// tool's schema or the policy calls a secret stands there as its length.
    pub arguments: String,
    /// Of the tool's name and the exact arguments: an answer holds for nothing else.
    pub fingerprint: [u8; 32],
    /// Of what the tool says of itself: an answer that is remembered holds for no other definition.
    pub definition: [u8; 32],
    /// Whether who asks cannot allow.
    pub four_eyes: bool,
    /// Who wants to call it.
    pub caller: Option<Arc<str>>,
    /// The rule that leaves it to a person.
    pub rule: String,
    /// How long an answer is waited for.
    pub within: Duration,
}

/// What became of a question at once.
pub enum Asked<'a> {
    /// It was answered before: a person left a rule.
    Decided(Decision),
    /// It waits for an answer.
    Held(Held<'a>),
    /// There is nobody to ask; the text says what to do.
    Nobody(String),
}

/// A question that waits for an answer.
pub struct Held<'a> {
    /// The word under which it can be answered.
    pub id: Arc<str>,
    /// When nobody can answer any more.
    pub expires: SystemTime,
    /// The answer.
    pub decision: BoxFuture<'a, Result<Decision, BoxError>>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What it says.
    pub ruling: Ruling,
    /// Who gave it.
    pub by: Option<String>,
    /// Why, where that was said.
    pub reason: Option<String>,
}

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ruling {
    /// The call may run, once.
    Allow,
    /// It may not.
    Deny,
    /// Nobody answered in time.
    Expired,
    /// The call ended before somebody answered.
    Withdrawn,
}

impl Ruling {
    /// Every ruling.
    pub const ALL: [Self; 4] = [Self::Allow, Self::Deny, Self::Expired, Self::Withdrawn];

    /// The stable word for it.
    pub fn code(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        }
    }
}

/// A call that is held, as observers are told.
#[derive(Clone, Copy, Debug)]
pub struct CallHeld<'a> {
    /// What was known before.
    pub start: &'a Arc<CallStart>,
    /// The word under which it can be decided.
    pub id: &'a str,
    /// The tool's name.
    pub tool: &'a Arc<str>,
    /// The rule that leaves it to a person.
    pub rule: &'a str,
    /// When nobody can decide any more.
    pub expires: SystemTime,
}

/// What a person, or a rule that one left, said of a call; part of its record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The word under which it could be decided; none where nobody had to be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What was said.
    pub decision: Ruling,
    /// Who said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The rule that left it to a person.
    pub rule: String,
    /// How long the call was held.
    #[serde(rename = "held_ms", serialize_with = "as_millis", deserialize_with = "from_millis")]
    pub held: Duration,
}

impl Approval {
    /// Returns the approval without the secrets that somebody may have written as the reason.
    pub fn redacted(&self) -> Self {
        let reason = self.reason.as_deref().map(|reason| redact::text(reason).into_owned());
        Self { reason, ..self.clone() }
    }
}

fn as_millis<S: Serializer>(held: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(held.as_millis()).unwrap_or(u64::MAX))
}

fn from_millis<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_millis)
}

/// Nobody is there to be asked.
pub struct Nobody(pub String);

impl Default for Nobody {
    fn default() -> Self {
        Self("No person can be asked here.".to_owned())
    }
}

impl Approver for Nobody {
    fn ask(&self, _: Question) -> Result<Asked<'_>, BoxError> {
        Ok(Asked::Nobody(self.0.clone()))
    }
}
