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
pub struct ToolPatterns(#[schemars(with = "Vec<String>")] GlobSet);

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
        Ok(Self(set.build()?))
    }

    /// Returns whether a pattern matches the name.
    pub fn matches(&self, name: &str) -> bool {
        self.0.is_match(name)
    }

    /// Returns the index of the first pattern that matches the name.
    pub fn first_match(&self, name: &str) -> Option<usize> {
        self.0.matches(name).first().copied()
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
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
