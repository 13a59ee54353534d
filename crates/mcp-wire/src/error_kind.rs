//! The kind of a failure over MCP, which itself only has `isError`: a key in the result's `_meta`.

use serde_json::{Map, Value};
use switchboard_toolcall::ErrorKind;

/// The key in `_meta` of a failed result.
pub const KEY: &str = "switchboard/errorKind";

/// Returns whether a kind is sent to clients, and accepted from servers.
///
/// Any server may claim a kind, so only those are accepted that affect only its own callers: a call that ended as one of
/// these is retried only if it may run twice. `overloaded` would be retried even if it must not run twice, since it means
/// that nothing ran; the other kinds are about our side of the call.
pub fn is_passed_on(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Unavailable | ErrorKind::Timeout | ErrorKind::InvalidParameters)
}

/// Takes the kind out of a result's `_meta`. Returns `None` if it is missing or not one that is believed.
pub fn take(meta: &mut Map<String, Value>) -> Option<ErrorKind> {
    let kind = meta.remove(KEY)?;
    kind.as_str()?.parse().ok().filter(|kind| is_passed_on(*kind))
}
