//! Approvals and rules as they are shown.

use serde::Serialize;
use serde_json::{Value, value::RawValue};
use switchboard_access::Caller;
use switchboard_approvals::{PendingApproval, ResolvedApproval};
use switchboard_runtime::{CallNames, ToolManager, redact};
use switchboard_toolcall::Visibility;
use utoipa::ToSchema;

use crate::{feed::timestamp, profile_view::RULE};

/// A call that waits for a person.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShownApproval {
    id: String,
    /// The call that waits, as the records know it.
    call_id: String,
    tool: String,
    /// The MCP server that it belongs to.
    server: Option<String>,
    /// The arguments that will be used, if the caller may decide; with secrets redacted otherwise.
    #[schema(value_type = Object)]
    arguments: Box<RawValue>,
    /// Who made the call.
    asked_by: Option<String>,
    /// The rule that leaves it to a person.
    reason: String,
    asked: String,
    /// When the request expires.
    expires: String,
    /// Why it is asked about although it was always allowed: the tool's definition has changed, for example.
    note: Option<String>,
    /// Whether who asked cannot allow it.
    four_eyes: bool,
}

impl ShownApproval {
    /// Sets what the caller calls the tool.
    pub(super) fn of_tool(self, tool: String) -> Self {
        let reason = if self.tool == tool { self.reason } else { RULE.to_owned() };
        Self { tool, reason, ..self }
    }

    /// Redacts what looks like a secret in the arguments, and leaves out what the caller does not see; `name` is what it calls
    /// the tool.
    pub(super) fn redacted(mut self, name: &str, caller: &Caller, tools: &ToolManager) -> Self {
        let mut arguments: Value = serde_json::from_str(self.arguments.get()).unwrap_or_default();
        if let Value::Object(arguments) = &mut arguments {
            tools.shown_arguments(caller.visibility(), name, arguments);
        }
        let redacted = RawValue::from_string(redact::value(&arguments));
        self.arguments = redacted.unwrap_or_else(|_| RawValue::NULL.to_owned());
        self
    }
}

impl From<PendingApproval> for ShownApproval {
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

/// A held call that was decided.
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
    /// Who made the call.
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
    /// The standing approval that was left with it.
    rule: Option<ShownRule>,
}

impl DecidedApproval {
    /// Sets what the caller calls the tool.
    pub(super) fn for_caller(self, visibility: &Visibility, tools: &ToolManager) -> Self {
        let names = CallNames { tool: &self.tool, ..CallNames::default() };
        let tool = tools.shown_tool(visibility, &names).unwrap_or_default();
        let rule = self.rule.map(|rule| rule.of_tool(tool.clone()));
        let reason = if self.tool == tool { self.reason } else { RULE.to_owned() };
        Self { tool, rule, reason, ..self }
    }
}

impl From<ResolvedApproval> for DecidedApproval {
    fn from(decided: ResolvedApproval) -> Self {
        let ResolvedApproval { pending, outcome: answer, rule } = decided;
        let ShownApproval {
            id,
            call_id,
            tool,
            server,
            arguments,
            asked_by,
            reason,
            asked,
            expires,
            ..
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
            rule: rule.map(ShownRule::from),
        }
    }
}

/// Something that a person always allows.
#[derive(Serialize, ToSchema)]
pub(crate) struct ShownRule {
    id: String,
    tool: String,
    /// The arguments that it allows, secrets redacted; unset if it allows all.
    #[schema(value_type = Option<Object>)]
    arguments: Option<Box<RawValue>>,
    /// Who allowed it.
    by: String,
    created: String,
}

impl ShownRule {
    /// Sets what the caller calls the tool.
    pub(super) fn of_tool(self, tool: String) -> Self {
        Self { tool, ..self }
    }
}

impl From<switchboard_approvals::AllowRule> for ShownRule {
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
