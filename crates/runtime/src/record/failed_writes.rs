//! The error of a call that does not run because it cannot be recorded.

use switchboard_toolcall::{BoxError, CallContext, ToolError};

use crate::redact;

/// The hint for people.
const WAY_OUT: &str = "`switchboard doctor` shows where the records are and what is wrong. `[audit] path` names another folder; \
                       `[audit] on_failure = \"warn\"` lets calls run unrecorded.";

/// Returns the error of a call that needs the record store, which cannot be used. Callers who may know about the
/// machine read the cause, others only that the store is unreachable.
pub(crate) fn store_unreachable(tool: &str, cause: BoxError, cx: &CallContext) -> ToolError {
    let mut error = ToolError::unreachable(tool, "the record store");
    if cx.visibility.watches() {
        let causes =
            std::iter::successors(Some(&*cause as &dyn std::error::Error), |cause| cause.source());
        let causes: Vec<_> = causes.map(ToString::to_string).collect();
        error.for_model = format!("{}: {}", error.for_model, redact::text(&causes.join(": ")));
        error = error.with_hint(WAY_OUT);
    }
    error.caused_by(cause)
}
