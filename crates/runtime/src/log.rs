//! The log lines of calls (SPEC EX-5).

use std::{borrow::Cow, error::Error, time::Duration};

use switchboard_toolcall::{BoxError, ErrorKind, ToolError, ToolResult};
use tracing::{Level, enabled, error, info, warn};

use crate::{
    approval::CallHeld,
    record::{CallStart, RedactedResult},
    redact,
};

/// How many bytes of a result a log line shows.
const SHOWN: usize = 200;

/// Logs the end of a call, once: its name, arguments, duration, outcome and shortened result.
pub(crate) fn ended(
    start: &CallStart,
    kind: Option<ErrorKind>,
    duration: Duration,
    is_slow: bool,
    result: Option<&ToolResult>,
    redacted: &RedactedResult<'_>,
) {
    let (tool, arguments) = (&*start.tool, start.arguments.as_str());
    let duration_ms = duration.as_nanos() as f64 / 1e6;
    if is_slow {
        warn!(tool, duration_ms, "slow call: '{tool}' took {duration_ms:.0} ms");
    }
    if !enabled!(Level::ERROR) {
        return;
    }
    let failure = result.and_then(|result| result.outcome.as_ref().err());
    let cause = failure.map(chain).unwrap_or_default();
    let outcome = kind.map_or("ok", ErrorKind::code);
    match kind {
        Some(ErrorKind::NotFound | ErrorKind::UnknownServer) => {
            warn!(tool, %arguments, duration_ms, outcome, "unknown tool '{tool}': {cause}");
        }
        Some(ErrorKind::Internal) => {
            error!(tool, %arguments, duration_ms, outcome, cause, "call of '{tool}' failed");
        }
        Some(_) => {
            info!(tool, %arguments, duration_ms, outcome, cause, "call of '{tool}' failed");
        }
        None if enabled!(Level::INFO) => {
            let result = shortened(redacted.json());
            info!(tool, %arguments, duration_ms, outcome, %result, "call of '{tool}' succeeded");
        }
        None => {}
    }
}

/// Logs that a call is held for approval.
pub(crate) fn held(held: &CallHeld<'_>) {
    let (tool, id, rule) = (&**held.tool, held.id, held.rule);
    info!(tool, approval = id, rule, "call of '{tool}' waits for a person: approval {id}");
}

/// Logs that a read-only call runs although it could not be recorded.
pub(crate) fn unrecorded(tool: &str, cause: &BoxError) {
    warn!(tool, cause = &**cause as &dyn Error, "call of '{tool}' runs unrecorded");
}

/// Returns the error with its causes, secrets redacted.
fn chain(error: &ToolError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    redact::text(&text).into_owned()
}

/// Returns as much of a result as a log line shows. It is JSON, hence one line.
fn shortened(json: &str) -> Cow<'_, str> {
    if json.len() <= SHOWN {
        return json.into();
    }
    let end = (0..=SHOWN).rev().find(|end| json.is_char_boundary(*end));
    [&json[..end.unwrap_or_default()], "…"].concat().into()
}
