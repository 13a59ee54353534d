//! Why a call does not run: it cannot be written down.

use switchboard_toolcall::{BoxError, CallContext, ToolError};

use crate::redact;

/// What people can do about it.
const WAY_OUT: &str = "`switchboard doctor` shows where the records are and what is wrong. `[audit] path` names another folder; \
                       `[audit] on_failure = \"warn\"` lets calls run unrecorded.";

/// Returns the error of a call that needs the record store, which cannot be used. Says why to callers who may know what
/// is wrong with the machine; to all others that it cannot be reached.
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
