//! Approvals as they are stored.

use std::time::SystemTime;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_runtime::{Ruling, approval::ApprovalRequest};
use switchboard_toolcall::CallId;
use switchboard_toolcall::text::hex;

/// A call that waits for a person.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PendingApproval {
    /// The id under which it is decided.
    pub id: String,
    /// The call that waits.
    pub call_id: CallId,
    /// The tool's name.
    pub tool: String,
    /// The MCP server that it belongs to.
    pub server: Option<String>,
    /// The arguments of the call, without those that the tool's schema or the policy marks as secret.
    pub arguments: Box<RawValue>,
    /// The caller's name.
    pub asked_by: Option<String>,
    /// The policy rule that asks for a person.
    pub reason: String,
    /// When the call was held.
    pub asked: Timestamp,
    /// When it expires.
    pub expires: Timestamp,
    /// Why a rule for such calls does not allow this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether the caller cannot allow its own call.
    #[serde(default)]
    pub four_eyes: bool,
    /// Hash of the tool's name and the exact arguments.
    pub(crate) fingerprint: String,
    /// Hash of the tool's definition.
    #[serde(default)]
    pub(crate) definition: String,
}

impl PendingApproval {
    pub(crate) fn new(id: String, question: &ApprovalRequest, note: Option<String>) -> Self {
        let asked = Timestamp::now();
        let arguments = RawValue::from_string(question.arguments.clone());
        Self {
            id,
            call_id: question.call,
            tool: question.tool.to_string(),
            server: question.server.as_ref().map(ToString::to_string),
            arguments: arguments.unwrap_or_else(|_| RawValue::NULL.to_owned()),
            asked_by: question.caller.as_ref().map(ToString::to_string),
            reason: question.rule.clone(),
            asked,
            expires: asked.saturating_add(question.within).unwrap_or(Timestamp::MAX),
            note,
            four_eyes: question.four_eyes,
            fingerprint: hex(&question.fingerprint),
            definition: hex(&question.definition),
        }
    }

    pub(crate) fn expires_at(&self) -> SystemTime {
        self.expires.into()
    }
}

/// How an approval ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ApprovalOutcome {
    /// The decision.
    pub decision: Ruling,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The reason, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it was decided.
    pub decided: Timestamp,
    /// Fingerprint of the approval that this belongs to.
    pub(crate) fingerprint: String,
}

/// An approval with its outcome.
#[derive(Clone, Debug)]
pub struct ResolvedApproval {
    /// The approval as it was pending.
    pub pending: PendingApproval,
    /// The outcome.
    pub outcome: ApprovalOutcome,
    /// The rule that was stored with it.
    pub rule: Option<crate::AllowRule>,
}
