//! Patterns of tool names.

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde::Deserialize;

/// A list of patterns such as `zwave__*`; an empty list matches nothing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct Globs(GlobSet);

impl Globs {
    /// The patterns, ready to match.
    ///
    /// # Errors
    /// One of them is no pattern.
    pub fn new(patterns: &[impl AsRef<str>]) -> Result<Self, globset::Error> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            set.add(Glob::new(pattern.as_ref())?);
        }
        set.build().map(Self)
    }

    /// Whether a pattern matches the name.
    pub fn matches(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}

impl TryFrom<Vec<String>> for Globs {
    type Error = globset::Error;

    fn try_from(patterns: Vec<String>) -> Result<Self, Self::Error> {
        Self::new(&patterns)
    }
}
