//! Names that nobody can guess.

use std::fmt::Write;

/// A random name of 128 bits; none, where the system has no randomness to give.
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

/// A random number to count from: whoever else counts does not come near it, and what is counted so fits into any JSON
/// reader's numbers. None, where the system has no randomness to give.
pub(crate) fn number() -> Option<u64> {
    let mut bytes = [0_u8; 4];
    getrandom::fill(&mut bytes).ok()?;
    Some((u64::from(u32::from_le_bytes(bytes)) + 1) << 20)
}
