//! Patterns of tool names, such as `zwave__*`.

use std::str::FromStr;

use globset::{Glob, GlobMatcher, GlobSet, GlobSetBuilder};
use serde::Deserialize;

/// One pattern of tool names.
#[derive(Clone, Debug)]
pub struct ToolPattern(GlobMatcher);

/// A list of patterns of tool names; an empty list matches nothing.
///
/// ```
/// use switchboard_toolcall::ToolPatterns;
///
/// let patterns = ToolPatterns::new(&["zwave__*", "wait"]).unwrap();
/// assert!(patterns.matches("zwave__list_devices"));
/// assert_eq!(patterns.first_match("wait"), Some(1));
/// ```
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "Vec<String>")]
pub struct ToolPatterns(#[schemars(with = "Vec<String>")] PatternSet);

#[derive(Clone, Debug, Default)]
struct PatternSet {
    globs: GlobSet,
    /// The same, if all of them are simple: searches try them on thousands of names, and comparing texts is quicker.
    simple: Option<Vec<SimplePattern>>,
}

/// A pattern whose only wildcard, if any, is a `*` at its end.
#[derive(Clone, Debug)]
enum SimplePattern {
    Name(String),
    Prefix(String),
}

impl SimplePattern {
    fn of(pattern: &str) -> Option<Self> {
        let is_plain = |text: &str| {
            text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
        };
        match pattern.strip_suffix('*') {
            Some(prefix) => is_plain(prefix).then(|| Self::Prefix(prefix.to_owned())),
            None => is_plain(pattern).then(|| Self::Name(pattern.to_owned())),
        }
    }

    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Name(own) => own == name,
            Self::Prefix(prefix) => name.starts_with(&**prefix),
        }
    }
}

/// The error of an invalid pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct PatternError(#[from] globset::Error);

impl ToolPattern {
    /// Returns whether the pattern matches the name.
    pub fn matches(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}

impl FromStr for ToolPattern {
    type Err = PatternError;

    fn from_str(pattern: &str) -> Result<Self, PatternError> {
        Ok(Self(Glob::new(pattern)?.compile_matcher()))
    }
}

impl ToolPatterns {
    /// Compiles the patterns.
    ///
    /// # Errors
    /// One of them is invalid.
    pub fn new(patterns: &[impl AsRef<str>]) -> Result<Self, PatternError> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            set.add(Glob::new(pattern.as_ref())?);
        }
        let simple = patterns.iter().map(|pattern| SimplePattern::of(pattern.as_ref())).collect();
        Ok(Self(PatternSet { globs: set.build()?, simple }))
    }

    /// Returns whether a pattern matches the name.
    pub fn matches(&self, name: &str) -> bool {
        match &self.0.simple {
            Some(patterns) => patterns.iter().any(|pattern| pattern.matches(name)),
            None => self.0.globs.is_match(name),
        }
    }

    /// Returns the index of the first pattern that matches the name.
    pub fn first_match(&self, name: &str) -> Option<usize> {
        self.0.globs.matches(name).first().copied()
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.globs.is_empty()
    }
}

impl TryFrom<Vec<String>> for ToolPatterns {
    type Error = PatternError;

    fn try_from(patterns: Vec<String>) -> Result<Self, PatternError> {
        Self::new(&patterns)
    }
}

impl PatternError {
    /// Returns what is wrong, without repeating the pattern.
    pub fn reason(&self) -> String {
        self.0.kind().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_patterns_match_what_globs_do() {
        let names =
            ["", "a", "a__b", "a__b.c", "a__resources/read", "ab", "A__b", "a__\n", "*", "ä__b"];
        for pattern in ["*", "a", "a*", "a__*", "a__b.c", "a__b*", "", "a-b", "A*", "a__resources*"]
        {
            let patterns = ToolPatterns::new(&[pattern]).unwrap();
            assert!(patterns.0.simple.is_some(), "{pattern}");
            for name in names {
                assert_eq!(
                    patterns.matches(name),
                    patterns.0.globs.is_match(name),
                    "{pattern}: {name:?}"
                );
            }
        }
        for pattern in ["*a", "a?", "[ab]", "{a,b}", "a/*", "a**", "\\*"] {
            assert!(ToolPatterns::new(&[pattern]).unwrap().0.simple.is_none(), "{pattern}");
        }
    }
}
