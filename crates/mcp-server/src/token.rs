//! Names that nobody can guess.

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

/// Returns a random number to count from: other counters stay far from it, and all numbers fit into any JSON
/// reader's. `None` if the system has no randomness.
pub(crate) fn number() -> Option<u64> {
    let mut bytes = [0_u8; 4];
    getrandom::fill(&mut bytes).ok()?;
    Some((u64::from(u32::from_le_bytes(bytes)) + 1) << 20)
}
