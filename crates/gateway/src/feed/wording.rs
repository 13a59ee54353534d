//! Events as those who watch read them.

use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_runtime::{CallEnd, CallStart, Stages, redact};
use switchboard_toolcall::{ErrorKind, ToolResult};

use super::timestamp;

/// Longer arguments are not told; the record has them.
const LONG: usize = 4096;
/// How many characters of a result are told.
const SHOWN: usize = 500;

/// A call that has begun.
#[derive(Serialize)]
pub(super) struct Begun<'a> {
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
    conversation: Option<&'a str>,
}

impl<'a> Begun<'a> {
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
            conversation: start.conversation.as_deref(),
        }
    }
}

/// A call that has ended.
#[derive(Serialize)]
pub(super) struct Ended<'a> {
    #[serde(flatten)]
    begun: Begun<'a>,
    server: Option<&'a str>,
    outcome: &'static str,
    error_kind: Option<&'static str>,
    duration_ms: f64,
    stages: StagesMs,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<String>,
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

impl<'a> Ended<'a> {
    pub(super) fn new(end: &CallEnd<'a>) -> Self {
        let ms = |stage: std::time::Duration| stage.as_nanos() as f64 / 1e6;
        let Stages { open, lookup, check, wait, run, shape } = end.stages;
        let [open, lookup, check, wait, run, shape] =
            [open, lookup, check, wait, run, shape].map(ms);
        let shown = |text: &str| redact::text(text).chars().take(SHOWN).collect();
        Self {
            begun: Begun { kind: "call_ended", ..Begun::new(end.start) },
            server: end.server.map(|server| &**server),
            outcome: end.error_kind.map_or("ok", ErrorKind::code),
            error_kind: end.error_kind.map(ErrorKind::code),
            duration_ms: ms(end.duration),
            stages: StagesMs { open, lookup, check, wait, run, shape },
            result: end.result.map(|result| shown(&ToolResult::text(result))),
        }
    }
}
