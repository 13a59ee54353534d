//! Estimates the size of a pattern's automaton, without building it.

use regex_syntax::{
    hir::{Class, Hir, HirKind},
    utf8::Utf8Sequences,
};

/// How many bytes building one pattern's automaton may take, two to three times its final size. `^.{1,255}$` takes 260
/// KB and `^\S{1,256}$` 550 KB to build, so this is not much more than ordinary patterns need.
pub(super) const LARGEST: usize = 640 << 10;

/// Bytes of one state, including its entry in the automaton.
const STATE: u64 = 32;
/// Bytes of one transition.
const TRANSITION: u64 = 8;
/// Bytes of an automaton without its states.
const AUTOMATON: u64 = 1024;

/// The cost of a pattern.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PatternCost {
    /// How many bytes the automaton takes, at most.
    pub(super) bytes: u64,
    /// Whether matching may backtrack, because of look-around or back references.
    pub(super) backtracks: bool,
}

impl PatternCost {
    /// Measures the automaton that the validator would build for the pattern.
    pub(super) fn of(pattern: &str) -> Self {
        let Ok(translated) = jsonschema_regex::to_rust_regex(pattern) else {
            // It does not compile, which is reported when it is compiled.
            return Self { bytes: pattern.len() as u64, backtracks: false };
        };
        if let Ok(hir) = regex_syntax::parse(&translated) {
            let bytes = AUTOMATON.saturating_add(size(&hir)).min(LARGEST as u64);
            return Self { bytes, backtracks: false };
        }
        // The parts between look-arounds and back references become separate automata, so only the sum is bounded.
        let (flat, parts) = flattened(&translated);
        let bytes = match regex_syntax::parse(&flat) {
            Ok(hir) => size(&hir).saturating_add(AUTOMATON * parts),
            Err(_) => LARGEST as u64 * parts,
        };
        Self { bytes, backtracks: true }
    }
}

/// Returns the bytes of the states, at most.
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

/// Returns the pattern with look-arounds and atomic groups as plain groups and without back references, and the maximal
/// number of its parts.
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
            let PatternCost { bytes, .. } = PatternCost::of(pattern);
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
            let measured = PatternCost::of(pattern);
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
        let measured = PatternCost::of(&many);
        assert!(measured.backtracks);
        assert!(measured.bytes > 10 << 20, "{measured:?}");
        assert_eq!(PatternCost::of("(").bytes, 1, "one that does not compile has no automaton");
    }
}
