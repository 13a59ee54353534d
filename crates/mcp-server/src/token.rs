//! Unguessable names and numbers.

use std::fmt::Write;

/// Returns a random name of 128 bits; `None` if the system has no randomness.
pub(crate) fn random() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    let mut text = String::with_capacity(32);
    for byte in bytes {
        // Writing to a string cannot fail.
        _ = write!(text, "{byte:02x}");
    }
    Some(text)
}

/// Returns a random number to count from: far from the counters of other gateways, and small enough that all numbers fit
/// into any JSON parser. `None` if the system has no randomness.
pub(crate) fn number() -> Option<u64> {
    let mut bytes = [0_u8; 4];
    getrandom::fill(&mut bytes).ok()?;
    Some((u64::from(u32::from_le_bytes(bytes)) + 1) << 20)
}
