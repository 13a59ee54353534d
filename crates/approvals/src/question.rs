//! Questions and answers as they lie on the desk.

use std::{fmt::Write, time::SystemTime};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_runtime::{Ruling, approval::Question};
use switchboard_toolcall::CallId;

/// A call that waits for a person.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pending {
    /// The word under which it is decided.
    pub id: String,
    /// The execution that waits.
    pub call_id: CallId,
    /// The tool's name.
    pub tool: String,
    /// The MCP server that it belongs to.
    pub server: Option<String>,
    /// The arguments that will be used; only what the tool or the policy calls a secret is left out.
    pub arguments: Box<RawValue>,
    /// Who wants to call it.
    pub asked_by: Option<String>,
    /// The rule that leaves it to a person.
    pub reason: String,
    /// Since when it waits.
    pub asked: Timestamp,
    /// When nobody can decide any more.
    pub expires: Timestamp,
    /// Why it is asked about although it was allowed for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Whether who asked cannot allow it.
    #[serde(default)]
    pub four_eyes: bool,
    /// Of the tool's name and the exact arguments.
    pub(crate) fingerprint: String,
    /// Of the tool's definition.
    #[serde(default)]
    pub(crate) definition: String,
}

impl Pending {
    pub(crate) fn new(id: String, question: &Question, note: Option<String>) -> Self {
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

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// What was said.
    pub decision: Ruling,
    /// Who said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When.
    pub decided: Timestamp,
    /// Of the question that this is an answer to.
    pub(crate) fingerprint: String,
}

/// A question with its answer.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The question.
    pub pending: Pending,
    /// The answer.
    pub answer: Answer,
    /// The rule that was left, where one was.
    pub rule: Option<crate::Rule>,
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
