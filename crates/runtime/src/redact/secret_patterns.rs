//! Everything that may begin or precede a secret, found by one automaton in one pass.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::shapes::SHAPES;

/// A possible beginning of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SecretPattern {
    /// A part of a name that may mark its value as secret.
    Name,
    /// The prefix of a token of a well-known shape: its index in [`SHAPES`].
    Shape(usize),
    /// `eyJ`, with which every JWT begins.
    WebToken,
    /// A colon before the secret half of a bot token.
    BotToken,
    /// `-----BEGIN `.
    Pem,
    /// `://`, which follows the scheme of a URL.
    Address,
    /// A scheme of `Authorization`.
    Scheme,
    /// `-u` or `--user`: curl's option for a password.
    User,
    /// `identified by`: SQL's keyword for a password.
    Identified,
}

/// Parts of the names that `names.rs` knows. Each name contains one of them.
const NAMES: &[&str] = &[
    "pass", "pwd", "pw", "secret", "token", "cred", "cookie", "auth", "jwt", "key", "sess", "sid",
    "sig", "otp", "cvv", "cvc", "psk", "phrase", "bearer", "code",
];
const OTHERS: &[(&str, SecretPattern)] = &[
    ("eyj", SecretPattern::WebToken),
    (":aa", SecretPattern::BotToken),
    ("-----begin ", SecretPattern::Pem),
    ("---- begin ", SecretPattern::Pem),
    ("private-lines:", SecretPattern::Pem),
    ("://", SecretPattern::Address),
    ("bearer", SecretPattern::Scheme),
    ("basic", SecretPattern::Scheme),
    ("digest", SecretPattern::Scheme),
    ("negotiate", SecretPattern::Scheme),
    ("ntlm", SecretPattern::Scheme),
    ("-u", SecretPattern::User),
    ("--user", SecretPattern::User),
    ("identified by", SecretPattern::Identified),
];

/// Builds a case-insensitive automaton. `None` if that fails, which a test rules out.
fn automaton<'a>(patterns: impl Iterator<Item = &'a str>) -> Option<AhoCorasick> {
    let mut builder = AhoCorasick::builder();
    builder.ascii_case_insensitive(true).match_kind(MatchKind::Standard);
    builder.kind(Some(AhoCorasickKind::DFA)).build(patterns).ok()
}

static IN_NAMES: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| automaton(NAMES.iter().copied()));
static IN_TEXTS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let others = OTHERS.iter().map(|(text, _)| *text);
    automaton(NAMES.iter().copied().chain(others).chain(SHAPES.iter().map(|shape| shape.prefix)))
});

/// Returns whether a name may mark its value as secret.
pub(super) fn has_name(name: &str) -> bool {
    IN_NAMES.as_ref().is_none_or(|patterns| patterns.is_match(name))
}

/// Returns whether a text has any pattern of a secret.
pub(super) fn has_any(text: &str) -> bool {
    IN_TEXTS.as_ref().is_none_or(|patterns| patterns.is_match(text))
}

/// Returns every pattern in the text with its position.
pub(super) fn all(text: &str) -> impl Iterator<Item = (usize, SecretPattern)> {
    let found = IN_TEXTS.iter().flat_map(move |patterns| patterns.find_overlapping_iter(text));
    found.map(|found| (found.start(), pattern_of(found.pattern().as_usize())))
}

fn pattern_of(index: usize) -> SecretPattern {
    match index.checked_sub(NAMES.len()) {
        None => SecretPattern::Name,
        Some(other) => match OTHERS.get(other) {
            Some((_, pattern)) => *pattern,
            None => SecretPattern::Shape(other - OTHERS.len()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_automata_can_be_built_and_know_every_pattern() {
        assert!(has_name("DB_PASSWORD") && !has_name("city"));
        assert!(!has_any("Weather of a big town: 21 degrees, light wind from the west."));
        for (index, shape) in SHAPES.iter().enumerate() {
            assert!(
                all(shape.prefix).any(|found| found == (0, SecretPattern::Shape(index))),
                "{}",
                shape.prefix
            );
        }
        for (text, pattern) in OTHERS {
            assert!(all(text).any(|found| found == (0, *pattern)), "{text}");
        }
    }
}
