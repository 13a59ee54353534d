//! A quick look that tells most texts from those that may hold a secret.

/// Whether any of the patterns of secrets could match: every match has one of these signs in it.
///
/// Looked at to the end and without branches, so that the compiler takes many bytes at a time: the patterns themselves
/// take ten times as long to find nothing.
pub(super) fn is_suspect(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (Some(second), Some(third)) = (bytes.get(1..), bytes.get(2..)) else { return false };
    let signs = bytes.iter().zip(second).zip(third).map(|((a, b), c)| sign(*a, *b, *c));
    signs.fold(0, |any, sign| any | sign) != 0
}

/// Not 0 for three bytes that stand in a secret, or could.
fn sign(a: u8, b: u8, c: u8) -> u8 {
    // Small letters, as far as there are; what is no letter stays itself or becomes what is none of these.
    let (small_a, small_b, small_c) = (a | 0x20, b | 0x20, c | 0x20);
    let is = |byte: u8, wanted: u8| u8::from(byte == wanted);
    let three = |[x, y, z]: &[u8; 3]| is(small_a, *x) & is(small_b, *y) & is(small_c, *z);
    let ends_pat = is(a, b'a') & is(b, b't');
    // "Bearer " and "Basic ", "AKIA" and "ASIA", "AIza", "eyJ", "xoxb-".
    (three(b"rer") | three(b"sic") | three(b"kia") | three(b"sia"))
        | (three(b"iza") | three(b"eyj") | three(b"xox"))
        // "sk-", "glpat-", a private key.
        | (is(c, b'-') & (is(b, b'k') | is(b, b'-') | ends_pat))
        // "sk_live_", "ghp_", "hf_", "github_pat_".
        | (is(c, b'_') & (is(b, b'k') | is(a, b'h') | ends_pat))
        // An address, JSON.
        | (is(b, b'/') & is(c, b'/'))
        | is(a, b'"')
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, string::string_regex};

    use super::*;
    use crate::redact::PATTERNS;

    /// Texts that match one of the patterns. Where a word ends is not for a generator of texts to say.
    fn secrets() -> impl Strategy<Value = String> {
        let secret = |pattern: &&str| string_regex(&pattern.replace(r"\b", "")).unwrap().boxed();
        let around = || string_regex("[a-zA-Z ]{0,20}").unwrap();
        let secret = proptest::strategy::Union::new(PATTERNS.iter().map(secret));
        (around(), secret, around()).prop_map(|(before, secret, after)| before + &secret + &after)
    }

    proptest! {
        // EX-5
        #[test]
        fn no_secret_is_overlooked(text in secrets()) {
            prop_assert!(is_suspect(&text), "{text:?}");
        }
    }

    #[test]
    fn most_texts_are_not_suspect() {
        for text in [
            "",
            "a",
            "ab",
            "Weather of a city: 21 degrees, light wind from the west.",
            "x0123456789",
        ] {
            assert!(!is_suspect(text), "{text}");
        }
    }
}
