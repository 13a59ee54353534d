//! Calls that a person must approve: the request, the wait, and the decision.
//!
//! A held call waits before it takes a slot and before its timeout starts. Who is asked, and how the decision arrives,
//! is up to the [`Approver`].

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

/// Asks people about calls that the policy holds.
pub trait Approver: Send + Sync {
    /// Asks about one call. Must not block: runs on a serving thread. Dropping the returned value withdraws the
    /// request.
    ///
    /// # Errors
    /// The request could not be made; the call is then denied.
    fn ask(&self, question: ApprovalRequest) -> Result<AskOutcome<'_>, BoxError>;
}

/// What a person is asked to decide.
#[derive(Clone, Debug)]
pub struct ApprovalRequest {
    /// The id of the held call.
    pub call: CallId,
    /// The tool's name.
    pub tool: Arc<str>,
    /// The tool's server, if it has one.
    pub server: Option<Arc<str>>,
    /// The arguments that the tool will get, as JSON, with invisible characters escaped. Values that the tool's schema
    /// or the policy marks as secret are replaced by their length.
    pub arguments: String,
    /// Hash of the tool's name and the exact arguments: a decision is valid for these only.
    pub fingerprint: [u8; 32],
    /// Hash of the tool's definition: a remembered decision is valid for this definition only.
    pub definition: [u8; 32],
    /// Whether the caller must not approve its own call.
    pub four_eyes: bool,
    /// Who makes the call.
    pub caller: Option<Arc<str>>,
    /// The policy rule that holds the call.
    pub rule: String,
    /// How long to wait for a decision.
    pub within: Duration,
}

/// The immediate outcome of [`Approver::ask`].
pub enum AskOutcome<'a> {
    /// A rule that a person left earlier decides.
    Decided(PersonDecision),
    /// The call is held until somebody decides.
    Held(PendingDecision<'a>),
    /// Nobody can be asked; the text says what to do about it.
    Nobody(String),
}

/// A call that is held until somebody decides.
pub struct PendingDecision<'a> {
    /// The id under which the call can be approved or denied.
    pub id: Arc<str>,
    /// When the request expires.
    pub expires: SystemTime,
    /// Resolves to the decision.
    pub decision: BoxFuture<'a, Result<PersonDecision, BoxError>>,
}

/// A person's decision about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonDecision {
    /// What was decided.
    pub ruling: Ruling,
    /// Who decided.
    pub by: Option<String>,
    /// Why, if a reason was given.
    pub reason: Option<String>,
}

/// What was decided about a held call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ruling {
    /// The call may run, once.
    Allow,
    /// The call must not run.
    Deny,
    /// There was no decision in time.
    Expired,
    /// The call ended before somebody decided.
    Withdrawn,
}

impl Ruling {
    /// Every ruling.
    pub const ALL: [Self; 4] = [Self::Allow, Self::Deny, Self::Expired, Self::Withdrawn];

    /// Returns the stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        }
    }
}

/// A held call, as [`CallObserver`](crate::CallObserver)s see it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CallHeld<'a> {
    /// What was known before the call ran.
    pub start: &'a Arc<CallStart>,
    /// The id under which the call can be approved or denied.
    pub id: &'a str,
    /// The tool's name.
    pub tool: &'a Arc<str>,
    /// The policy rule that holds the call.
    pub rule: &'a str,
    /// When the request expires.
    pub expires: SystemTime,
}

/// The decision about a call, by a person or by a rule that a person left; part of its record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Approval {
    /// The id under which the call could be decided. `None` if nobody had to be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What was decided.
    pub decision: Ruling,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why, if a reason was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The policy rule that held the call.
    pub rule: String,
    /// How long the call was held.
    #[serde(rename = "held_ms", serialize_with = "as_millis", deserialize_with = "from_millis")]
    pub held: Duration,
}

impl Approval {
    /// Returns the approval with secrets redacted from the reason, which a person wrote.
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

/// An [`Approver`] without anybody to ask; the text says what to do about it.
pub struct NoApprover(pub String);

impl Default for NoApprover {
    fn default() -> Self {
        Self("No person can be asked here.".to_owned())
    }
}

impl Approver for NoApprover {
    fn ask(&self, _: ApprovalRequest) -> Result<AskOutcome<'_>, BoxError> {
        Ok(AskOutcome::Nobody(self.0.clone()))
    }
}
