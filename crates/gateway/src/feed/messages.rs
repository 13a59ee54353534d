//! The JSON of events.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
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

impl<'a> CallEndedMessage<'a> {
    pub(super) fn new(end: &CallEnd<'a>) -> Self {
        let ms = |stage: std::time::Duration| stage.as_nanos() as f64 / 1e6;
        let Stages { open, lookup, check, wait, run, shape } = end.stages;
        let [open, lookup, check, wait, run, shape] =
            [open, lookup, check, wait, run, shape].map(ms);
        let shown = |text: Cow<'_, str>| text.chars().take(SHOWN).collect();
        Self {
            begun: CallStartedMessage { kind: "call_ended", ..CallStartedMessage::new(end.start) },
            server: end.server.map(|server| &**server),
            outcome: end.error_kind.map_or("ok", ErrorKind::code),
            error_kind: end.error_kind.map(ErrorKind::code),
            duration_ms: ms(end.duration),
            approval: end.approval.map(Approval::redacted),
            stages: StagesMs { open, lookup, check, wait, run, shape },
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
