//! How large the automaton of a pattern gets, without building it.

use regex_syntax::{
    hir::{Class, Hir, HirKind},
    utf8::Utf8Sequences,
};

/// How many bytes building the automaton of one pattern may take, which is two to three times what is left when it is
/// built. `^.{1,255}$` takes 260 KB and `^\S{1,256}$` 550 KB to build, so this is not much more than honest patterns need.
pub(super) const LARGEST: usize = 640 << 10;

/// What one state takes, with its place in the automaton.
const STATE: u64 = 32;
/// What one transition of a state takes.
const TRANSITION: u64 = 8;
/// What an automaton takes besides its states.
const AUTOMATON: u64 = 1024;

/// What a pattern costs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Automaton {
    /// How many bytes it takes, at most.
    pub(super) bytes: u64,
    /// Whether matching may turn back: it has look-around or back references.
    pub(super) backtracks: bool,
}

impl Automaton {
    /// Measures the automaton that the validator would build for the pattern.
    pub(super) fn of(pattern: &str) -> Self {
        let Ok(translated) = jsonschema_regex::to_rust_regex(pattern) else {
            // It does not compile, which whoever tries it says.
            return Self { bytes: pattern.len() as u64, backtracks: false };
        };
        if let Ok(hir) = regex_syntax::parse(&translated) {
            let bytes = AUTOMATON.saturating_add(size(&hir)).min(LARGEST as u64);
            return Self { bytes, backtracks: false };
        }
        // What is between look-arounds and back references becomes an automaton of its own, so only the sum is bounded.
        let (flat, parts) = flattened(&translated);
        let bytes = match regex_syntax::parse(&flat) {
            Ok(hir) => size(&hir).saturating_add(AUTOMATON * parts),
            Err(_) => LARGEST as u64 * parts,
        };
        Self { bytes, backtracks: true }
    }
}

/// The bytes of the states, at most.
fn size(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => STATE,
        HirKind::Literal(literal) => STATE * literal.0.len() as u64,
        HirKind::Class(class) => class_size(class),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min.saturating_add(1)).max(1);
            size(&repetition.sub).saturating_add(STATE).saturating_mul(u64::from(times))
        }
        HirKind::Capture(capture) => size(&capture.sub).saturating_add(2 * STATE),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(size).fold(STATE, |sum, size| sum.saturating_add(size + TRANSITION))
        }
    }
}

fn class_size(class: &Class) -> u64 {
    match class {
        Class::Bytes(class) => STATE + TRANSITION * class.ranges().len() as u64,
        Class::Unicode(class) if class.is_ascii() => {
            STATE + TRANSITION * class.ranges().len() as u64
        }
        Class::Unicode(class) => {
            let sequences = class
                .iter()
                .flat_map(|range| Utf8Sequences::new(range.start(), range.end()))
                .map(|sequence| sequence.len() as u64);
            // Sequences share most of their states.
            STATE + sequences.sum::<u64>() * 2 * TRANSITION
        }
    }
}

/// The pattern with look-arounds and atomic groups as plain groups and without back references, and how many parts it
/// may be cut into.
fn flattened(pattern: &str) -> (String, u64) {
    const GROUPS: [&str; 5] = ["(?=", "(?!", "(?<=", "(?<!", "(?>"];
    let (mut flat, mut parts, mut rest) = (String::with_capacity(pattern.len()), 1, pattern);
    while let Some(first) = rest.chars().next() {
        let group = GROUPS.iter().find(|group| rest.starts_with(**group));
        let taken = match first {
            '\\' => {
                let escaped = rest[1..].chars().next();
                let taken = 1 + escaped.map_or(0, char::len_utf8);
                match escaped {
                    Some('1'..='9') => parts += 1,
                    _ => flat.push_str(&rest[..taken]),
                }
                taken
            }
            '(' | '|' => {
                parts += 2;
                flat.push_str(group.map_or(&rest[..1], |_| "(?:"));
                group.map_or(1, |group| group.len())
            }
            other => {
                flat.push(other);
                other.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    (flat, parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn honest_patterns_are_small() {
        let cases: &[(&str, u64)] = &[
            ("^[a-z]+$", 2_000),
            ("^[a-zA-Z0-9_-]{1,64}$", 10_000),
            (r"^[\w+=,.@-]{1,1024}$", 160_000),
            (r"^[^\s@]+@[^\s@]+\.[^\s@]+$", 10_000),
            (r"^(?!-)[a-z0-9-]{1,63}(?<!-)$", 20_000),
            (r"^(a+)\1$", 20_000),
        ];
        for (pattern, most) in cases {
            let Automaton { bytes, .. } = Automaton::of(pattern);
            assert!(bytes <= *most, "{pattern}: {bytes}");
        }
    }

    #[test]
    fn nothing_that_is_built_is_larger_than_measured() {
        let patterns = [
            "^(a|b12){1,300}$",
            "((a{10}){10}){10}",
            r"^\S{1,64}$",
            r"^(\p{L}|\d)+$",
            "^.{1,255}$",
            "(?i)straße{3}",
            "[^a-z]{40}",
            r"\bfoo\b|bar|[0-9]{3,}",
            "",
        ];
        for pattern in patterns {
            let translated = jsonschema_regex::to_rust_regex(pattern).unwrap();
            let nfa = regex_automata::nfa::thompson::NFA::new(&translated).unwrap();
            let measured = Automaton::of(pattern);
            assert!(!measured.backtracks);
            assert!(
                measured.bytes >= nfa.memory_usage() as u64,
                "{pattern}: {measured:?} of {}",
                nfa.memory_usage()
            );
        }
    }

    #[test]
    fn look_arounds_count_what_is_in_them() {
        let many = "(?=(a|bc){1,2000})".repeat(100);
        let measured = Automaton::of(&many);
        assert!(measured.backtracks);
        assert!(measured.bytes > 10 << 20, "{measured:?}");
        assert_eq!(Automaton::of("(").bytes, 1, "one that does not compile has no automaton");
    }
}
