//! Approvals and rules as they are shown.

use serde::Serialize;
use serde_json::{Value, value::RawValue};
use switchboard_approvals::{PendingApproval, ResolvedApproval};
use switchboard_runtime::redact;
use utoipa::ToSchema;

use crate::feed::timestamp;

/// A call that waits for a person.
#[derive(Serialize, ToSchema)]
pub(crate) struct Approval {
    id: String,
    /// The call that waits, as the records know it.
    call_id: String,
    tool: String,
    /// The MCP server that it belongs to.
    server: Option<String>,
    /// The arguments that will be used, where the caller may decide; secrets taken out where it may not.
    #[schema(value_type = Object)]
    arguments: Box<RawValue>,
    /// Who wants to call it.
    asked_by: Option<String>,
    /// The rule that leaves it to a person.
    reason: String,
    asked: String,
    /// When nobody can decide any more.
    expires: String,
    /// Why it is asked about although it was allowed for good: the tool's definition has changed, for example.
    note: Option<String>,
    /// Whether who asked cannot allow it.
    four_eyes: bool,
}

impl Approval {
    /// The same, with what looks like a secret taken out of the arguments.
    pub(super) fn redacted(mut self) -> Self {
        let arguments: Value = serde_json::from_str(self.arguments.get()).unwrap_or_default();
        let redacted = RawValue::from_string(redact::value(&arguments));
        self.arguments = redacted.unwrap_or_else(|_| RawValue::NULL.to_owned());
        self
    }
}

impl From<PendingApproval> for Approval {
    fn from(pending: PendingApproval) -> Self {
        Self {
            id: pending.id,
            call_id: pending.call_id.to_string(),
            tool: pending.tool,
            server: pending.server,
            arguments: pending.arguments,
            asked_by: pending.asked_by,
            reason: pending.reason,
            asked: timestamp(pending.asked.into()),
            expires: timestamp(pending.expires.into()),
            note: pending.note,
            four_eyes: pending.four_eyes,
        }
    }
}

/// A call that waited for a person, and what the person said.
#[derive(Serialize, ToSchema)]
pub(crate) struct DecidedApproval {
    id: String,
    /// The call that waited, as the records know it.
    call_id: String,
    tool: String,
    /// The MCP server that it belongs to.
    server: Option<String>,
    /// The arguments.
    #[schema(value_type = Object)]
    arguments: Box<RawValue>,
    /// Who wanted to call it.
    asked_by: Option<String>,
    /// The rule that left it to a person.
    reason: String,
    asked: String,
    expires: String,
    /// `allow` or `deny`.
    decision: &'static str,
    /// Who decided.
    decided_by: Option<String>,
    decided: String,
    /// Why it was decided so.
    decision_reason: Option<String>,
    /// What is allowed for good from now on.
    rule: Option<Rule>,
}

impl From<ResolvedApproval> for DecidedApproval {
    fn from(decided: ResolvedApproval) -> Self {
        let ResolvedApproval { pending, outcome: answer, rule } = decided;
        let Approval {
            id, call_id, tool, server, arguments, asked_by, reason, asked, expires, ..
        } = pending.into();
        Self {
            id,
            call_id,
            tool,
            server,
            arguments,
            asked_by,
            reason,
            asked,
            expires,
            decision: answer.decision.code(),
            decided_by: answer.by,
            decided: timestamp(answer.decided.into()),
            decision_reason: answer.reason,
            rule: rule.map(Rule::from),
        }
    }
}

/// Something that a person allowed for good.
#[derive(Serialize, ToSchema)]
pub(crate) struct Rule {
    id: String,
    tool: String,
    /// The arguments that it is allowed with, secrets taken out; none where all are.
    #[schema(value_type = Option<Object>)]
    arguments: Option<Box<RawValue>>,
    /// Who allowed it.
    by: String,
    created: String,
}

impl From<switchboard_approvals::AllowRule> for Rule {
    fn from(rule: switchboard_approvals::AllowRule) -> Self {
        Self {
            id: rule.id,
            tool: rule.tool,
            arguments: rule.arguments,
            by: rule.by,
            created: timestamp(rule.created.into()),
        }
    }
}
