//! Secrets that this process has itself, known by their value: those of the vault and the tokens of sign-ins.

use std::{
    borrow::Cow,
    collections::VecDeque,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use aho_corasick::{AhoCorasick, MatchKind};

use super::REDACTED;

/// Shorter values are words that occur anyway.
const SHORTEST: usize = 8;
/// How many values are remembered; tokens are renewed again and again.
const MOST: usize = 1024;

static ANY: AtomicBool = AtomicBool::new(false);
static KNOWN: RwLock<KnownSecrets> =
    RwLock::new(KnownSecrets { values: VecDeque::new(), automaton: None });

struct KnownSecrets {
    values: VecDeque<String>,
    automaton: Option<AhoCorasick>,
}

/// Redacts this value from now on, wherever it occurs. Values of less than 8 bytes are not remembered.
pub fn remember(secret: &str) {
    if secret.len() < SHORTEST {
        return;
    }
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if known.values.iter().any(|value| value == secret) {
        return;
    }
    if known.values.len() == MOST {
        known.values.pop_front();
    }
    known.values.push_back(secret.to_owned());
    let mut builder = AhoCorasick::builder();
    let automaton = builder.match_kind(MatchKind::LeftmostLongest).build(&known.values);
    known.automaton = automaton.ok();
    ANY.store(true, Ordering::Release);
}

/// Returns the text with remembered values replaced.
pub(super) fn hide(text: &str) -> Cow<'_, str> {
    if text.len() < SHORTEST || !ANY.load(Ordering::Acquire) {
        return Cow::Borrowed(text);
    }
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    match &known.automaton {
        Some(automaton) if automaton.is_match(text) => {
            let mut shown = String::with_capacity(text.len());
            automaton.replace_all_with(text, &mut shown, |_, _, shown| {
                shown.push_str(REDACTED);
                true
            });
            Cow::Owned(shown)
        }
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{text, value};
    use super::*;

    // AU-2: whatever its shape and wherever it occurs.
    #[test]
    fn what_is_remembered_is_redacted() {
        let plain = "sunflower meadow at dawn";
        assert_eq!(text(plain), plain);
        remember(plain);
        remember(plain);
        remember("a word");
        assert_eq!(text("so: sunflower meadow at dawn!"), "so: [redacted]!");
        assert_eq!(text("a word"), "a word");
        let nested = serde_json::json!({"said": ["x", {"note": format!("<{plain}>")}]});
        assert_eq!(value(&nested), r#"{"said":["x",{"note":"<[redacted]>"}]}"#);
        let both = format!("password=hunter2 {plain}");
        assert_eq!(text(&both), "password=[redacted] [redacted]");
    }
}
