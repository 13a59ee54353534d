//! The JSON of events.

use std::{borrow::Cow, time::Duration};

use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_audit::{CallDetail, CallStage, StoreNode};
use switchboard_runtime::{Approval, CallEnd, CallHeld, CallStart, Stages};
use switchboard_toolcall::ErrorKind;

use super::timestamp;

/// Longer arguments are left out; the record has them.
const LONG: usize = 4096;
/// How many characters of a result are included.
const SHOWN: usize = 500;

/// A call that has begun.
#[derive(Serialize)]
pub(super) struct CallStartedMessage<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: String,
    tool: &'a str,
    arguments: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    arguments_cut: bool,
    started: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    caller: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shown_as: Option<&'a str>,
}

impl<'a> CallStartedMessage<'a> {
    pub(super) fn new(start: &'a CallStart) -> Self {
        let arguments_cut = start.arguments.len() > LONG;
        let arguments = Some(&start.arguments).filter(|_| !arguments_cut);
        Self {
            kind: "call_started",
            id: start.id.to_string(),
            tool: &start.tool,
            arguments: arguments.and_then(|text| serde_json::from_str(text).ok()),
            arguments_cut,
            started: timestamp(start.started),
            caller: start.caller.as_deref(),
            client: start.client.as_deref(),
            conversation: start.conversation.as_deref(),
            profile: start.profile.as_deref(),
            shown_as: start.shown_as.as_deref(),
        }
    }
}

/// A call that has ended.
#[derive(Serialize)]
pub(super) struct CallEndedMessage<'a> {
    #[serde(flatten)]
    begun: CallStartedMessage<'a>,
    server: Option<&'a str>,
    outcome: &'static str,
    error_kind: Option<&'static str>,
    duration_ms: f64,
    stages: StagesMs,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<Approval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
}

/// A call that waits for a person; `id` is the approval's.
#[derive(Serialize)]
pub(super) struct CallHeldMessage<'a> {
    #[serde(flatten)]
    begun: CallStartedMessage<'a>,
    call_id: String,
    reason: &'a str,
    expires: String,
}

/// A held call that was decided.
#[derive(Serialize)]
pub(super) struct CallDecidedMessage<'a> {
    #[serde(flatten)]
    held: CallHeldMessage<'a>,
    decision: &'static str,
    decided_by: Option<&'a str>,
    decision_reason: Option<String>,
}

/// How long each stage took, in milliseconds.
#[derive(Serialize)]
struct StagesMs {
    open: f64,
    lookup: f64,
    check: f64,
    wait: f64,
    run: f64,
    shape: f64,
}

/// A call of any node that has begun or ended, from its record.
#[derive(Serialize)]
pub(super) struct NodeCallMessage<'a> {
    #[serde(flatten)]
    begun: CallStartedMessage<'a>,
    node: Option<&'a StoreNode>,
    #[serde(flatten)]
    end: Option<NodeCallEnd<'a>>,
}

/// How a call of any node ended.
#[derive(Serialize)]
struct NodeCallEnd<'a> {
    server: Option<&'a str>,
    outcome: &'static str,
    error_kind: Option<&'static str>,
    duration_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stages: Option<StagesMs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<&'a Approval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
}

impl<'a> NodeCallMessage<'a> {
    pub(super) fn new(stage: CallStage, detail: &'a CallDetail) -> Self {
        let record = &detail.record;
        let arguments_cut = record.arguments.len() > LONG;
        let arguments = Some(record.arguments.as_str()).filter(|_| !arguments_cut);
        let has_ended = stage != CallStage::Started;
        let begun = CallStartedMessage {
            kind: if has_ended { "call_ended" } else { "call_started" },
            id: record.id.to_string(),
            tool: &record.tool,
            arguments: arguments.and_then(|text| serde_json::from_str(text).ok()),
            arguments_cut,
            started: timestamp(record.started),
            caller: record.caller.as_deref(),
            client: record.client.as_deref(),
            conversation: record.conversation.as_deref(),
            profile: record.profile.as_deref(),
            shown_as: record.shown_as.as_deref(),
        };
        let end = has_ended.then(|| NodeCallEnd {
            server: record.server.as_deref(),
            outcome: record.outcome.code(),
            error_kind: record.outcome.error_kind().map(ErrorKind::code),
            duration_ms: record.duration.map(milliseconds),
            stages: detail.stages.map(StagesMs::from),
            approval: detail.approval.as_ref(),
            result: result_text(detail).map(|text| text.chars().take(SHOWN).collect()),
        });
        Self { begun, node: record.node.as_ref(), end }
    }
}

/// Returns what people read of a recorded result.
fn result_text(detail: &CallDetail) -> Option<String> {
    let json = || {
        let json = detail.result.as_deref()?;
        Some(serde_json::from_str::<String>(json).unwrap_or_else(|_| json.to_owned()))
    };
    detail.text().or_else(json).or_else(|| detail.error.clone())
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e6
}

impl From<Stages> for StagesMs {
    fn from(stages: Stages) -> Self {
        let Stages { open, lookup, check, wait, run, shape } = stages;
        let [open, lookup, check, wait, run, shape] =
            [open, lookup, check, wait, run, shape].map(milliseconds);
        Self { open, lookup, check, wait, run, shape }
    }
}

impl<'a> CallEndedMessage<'a> {
    pub(super) fn new(end: &CallEnd<'a>) -> Self {
        let shown = |text: Cow<'_, str>| text.chars().take(SHOWN).collect();
        Self {
            begun: CallStartedMessage { kind: "call_ended", ..CallStartedMessage::new(end.start) },
            server: end.server.map(|server| &**server),
            outcome: end.error_kind.map_or("ok", ErrorKind::code),
            error_kind: end.error_kind.map(ErrorKind::code),
            duration_ms: milliseconds(end.duration),
            approval: end.approval.map(Approval::redacted),
            stages: end.stages.into(),
            result: end.redacted.text().map(shown),
        }
    }
}

impl<'a> CallHeldMessage<'a> {
    pub(super) fn new(held: &CallHeld<'a>) -> Self {
        let begun = CallStartedMessage {
            kind: "held",
            id: held.id.to_owned(),
            tool: held.tool,
            ..CallStartedMessage::new(held.start)
        };
        Self {
            begun,
            call_id: held.start.id.to_string(),
            reason: held.rule,
            expires: timestamp(held.expires),
        }
    }
}

impl<'a> CallDecidedMessage<'a> {
    pub(super) fn new(held: &CallHeld<'a>, approval: &'a Approval) -> Self {
        let mut held = CallHeldMessage::new(held);
        held.begun.kind = "decided";
        Self {
            held,
            decision: approval.decision.code(),
            decided_by: approval.by.as_deref(),
            decision_reason: approval.redacted().reason,
        }
    }
}
