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
