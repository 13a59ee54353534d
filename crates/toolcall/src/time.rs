//! The time as Unix time, for files and messages between processes.

use std::time::SystemTime;

/// Returns the current time in seconds since 1970; 0 if the clock is before that.
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Returns the current time in milliseconds since 1970; 0 if the clock is before that.
pub fn unix_milliseconds() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
