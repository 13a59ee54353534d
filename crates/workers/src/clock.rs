//! Wall-clock times in messages between nodes: milliseconds since 1970.

use std::time::{Duration, SystemTime};

/// Converts milliseconds since 1970.
pub(crate) fn moment(millis: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
}
