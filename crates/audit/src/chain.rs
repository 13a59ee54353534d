//! The hash chain: each line carries a hash over the line before it and its own content.
//!
//! `hash` of a line is SHA-256 over the hash of the line before, written as its 64 hex digits, followed by the
//! line's text up to its `,"hash":`. So `printf %s%s "$previous" "$content" | sha256sum` checks one by hand.
//!
//! With a key, a line also has a `mac` in front of its `tick`: HMAC-SHA-256 over the hash of the line before and the line's
//! text without `mac` and `hash`. The chain holds for those who do not have the key, too.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::key::SigningKey;

/// A hash as it stands in a line: 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hash([u8; 64]);

/// The text before the hash in a line.
const BEFORE: &[u8] = b",\"hash\":\"";
/// The text after it.
const AFTER: &[u8] = b"\"}";
/// The text before a signature in a line.
const MAC: &[u8] = b",\"mac\":\"";
/// The text after a signature.
const TICK: &[u8] = b",\"tick\":";
/// The text that a line begins with whose content was removed.
pub(crate) const REMOVED: &[u8] = b"{\"removed\":\"";

impl Hash {
    /// The predecessor of the very first line.
    pub const NONE: Self = Self([b'0'; 64]);

    fn of(previous: &Self, content: &[u8]) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(previous.0);
        hasher.update(content);
        Self(hex(hasher.finalize().into()))
    }

    /// Returns the hash of several hashes, in their order.
    pub(crate) fn of_all<'a>(hashes: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut hasher = Sha256::new();
        hashes.into_iter().for_each(|hash| hasher.update(hash.0));
        Self(hex(hasher.finalize().into()))
    }

    /// Returns the hash as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Parses a hash of a line.
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let digits: [u8; 64] = text.as_bytes().try_into().ok()?;
        digits.iter().all(is_digit).then_some(Self(digits))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Completes the object that begins at `from` with its hash, a brace and a newline. Returns the hash. With a key it is
/// signed first.
pub(crate) fn seal(
    text: &mut Vec<u8>,
    from: usize,
    previous: &Hash,
    key: Option<&SigningKey>,
) -> Hash {
    if let Some(key) = key {
        let mac = key.sign(&[&previous.0, &text[from..]]);
        let at = tick(&text[from..]).map_or(text.len(), |tick| from + tick);
        text.splice(at..at, [MAC, &mac, b"\""].concat());
    }
    let hash = Hash::of(previous, &text[from..]);
    text.extend_from_slice(BEFORE);
    text.extend_from_slice(&hash.0);
    text.extend_from_slice(AFTER);
    text.push(b'\n');
    hash
}

/// A parsed line, without its newline.
#[derive(Clone, Copy)]
pub(crate) struct SealedLine<'a> {
    content: &'a [u8],
    /// The line's hash.
    pub(crate) hash: Hash,
}

impl<'a> SealedLine<'a> {
    /// Parses a line. Returns `None` if it does not end with a hash.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        let content = line.len().checked_sub(BEFORE.len() + 64 + AFTER.len())?;
        let (content, rest) = line.split_at(content);
        let digits = rest.strip_prefix(BEFORE)?.strip_suffix(AFTER)?;
        let hash = Hash::parse(std::str::from_utf8(digits).ok()?)?;
        Some(Self { content, hash })
    }

    /// Returns whether a line ends with something like a hash.
    pub(crate) fn is_like(line: &[u8]) -> bool {
        let end = line.len().checked_sub(BEFORE.len() + 64 + AFTER.len());
        end.is_some_and(|end| line[end..].starts_with(BEFORE)) && line.ends_with(AFTER)
    }

    /// Returns whether the line was signed with the key. `None` if it has no signature.
    pub(crate) fn is_signed_with(&self, key: &SigningKey, previous: &Hash) -> Option<bool> {
        let (before, mac, tick) = self.signature()?;
        Some(key.sign(&[&previous.0, before, tick]) == mac)
    }

    /// Returns whether the line has a signature, whatever key it was made with.
    pub(crate) fn is_signed(&self) -> bool {
        self.signature().is_some()
    }

    /// Returns the text before the signature, the signature, and the text after it.
    fn signature(&self) -> Option<(&'a [u8], &'a [u8], &'a [u8])> {
        let (signed, tick) = self.content.split_at(tick(self.content)?);
        let signed = signed.strip_suffix(b"\"")?;
        let (before, mac) = signed.split_at(signed.len().checked_sub(64)?);
        Some((before.strip_suffix(MAC)?, mac, tick))
    }

    /// Returns whether the line is unaltered and follows the one with the hash `previous`, or its content was removed: whether it
    /// was by retention, the manifest says.
    pub(crate) fn follows(&self, previous: &Hash) -> bool {
        self.is_removed() || Hash::of(previous, self.content) == self.hash
    }

    /// Returns whether the line has the place and the hash of one whose content was removed.
    pub(crate) fn is_removed(&self) -> bool {
        self.content.starts_with(REMOVED)
    }
}

/// Returns where the tick begins in a line: its last field, and a short one.
fn tick(content: &[u8]) -> Option<usize> {
    const LONGEST: usize = 40;
    let from = content.len().saturating_sub(LONGEST);
    let at = content[from..].windows(TICK.len()).rposition(|part| part == TICK)?;
    Some(from + at)
}

/// Returns the end of a line that has its tick and its hash.
pub(crate) fn end_with_tick(line: &[u8]) -> Option<&[u8]> {
    let content = line.len().checked_sub(BEFORE.len() + 64 + AFTER.len())?;
    line.get(tick(&line[..content])?..)
}

/// The length of a line's end with its hash, including the newline.
pub(crate) const END: u64 = (BEFORE.len() + 64 + AFTER.len() + 1) as u64;

/// Returns the hash at the end of `before`. `None` if there is no line before.
pub(crate) fn before(text: &[u8]) -> Option<Hash> {
    SealedLine::parse(text.strip_suffix(b"\n")?).map(|sealed| sealed.hash)
}

/// Returns the hex digits of a digest.
pub(crate) fn hex(digest: [u8; 32]) -> [u8; 64] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut hex = [0; 64];
    for (byte, pair) in digest.iter().zip(hex.chunks_exact_mut(2)) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_follows_exactly_one_other() {
        let mut line = b"{\"open\":\"1\"".to_vec();
        let hash = seal(&mut line, 0, &Hash::NONE, None);
        let text = &line[..line.len() - 1];
        let sealed = SealedLine::parse(text).unwrap();
        assert_eq!(sealed.hash, hash);
        assert!(SealedLine::is_like(text));
        assert!(sealed.follows(&Hash::NONE) && !sealed.follows(&hash));
        let altered = String::from_utf8(text.to_vec()).unwrap().replacen('1', "2", 1);
        assert!(!SealedLine::parse(altered.as_bytes()).unwrap().follows(&Hash::NONE));
        for torn in ["", "{", &altered[..altered.len() - 1]] {
            assert!(SealedLine::parse(torn.as_bytes()).is_none(), "{torn}");
            assert!(!SealedLine::is_like(torn.as_bytes()), "{torn}");
        }
    }

    // RC-3
    #[test]
    fn a_signature_is_of_one_key_one_place_and_one_text() {
        let key = |text| SigningKey::new(text).unwrap();
        let (own, other) = (key("the key of the store"), key("the key of another one"));
        let mut line = b"{\"open\":\"1\",\"arguments\":{\"mac\":\"x\"},\"tick\":17".to_vec();
        let hash = seal(&mut line, 0, &Hash::NONE, Some(&own));
        let text = line.strip_suffix(b"\n").unwrap();
        let sealed = SealedLine::parse(text).unwrap();
        assert!(sealed.follows(&Hash::NONE) && sealed.is_signed());
        assert_eq!(sealed.is_signed_with(&own, &Hash::NONE), Some(true));
        assert_eq!(sealed.is_signed_with(&other, &Hash::NONE), Some(false));
        assert_eq!(sealed.is_signed_with(&own, &hash), Some(false));
        assert!(serde_json::from_slice::<serde_json::Value>(text).is_ok());
        for (was, is) in [("\"open\":\"1\"", "\"open\":\"2\""), ("\"tick\":17", "\"tick\":18")] {
            let altered = String::from_utf8(text.to_vec()).unwrap().replace(was, is);
            let altered = SealedLine::parse(altered.as_bytes()).unwrap();
            assert_eq!(altered.is_signed_with(&own, &Hash::NONE), Some(false), "{is}");
        }
    }
}
