//! The protocol's revisions, and the two eras they fall into.

use std::fmt;

/// The last revision with `initialize`; requested in the legacy era.
pub const LATEST_LEGACY: &str = "2025-11-25";

/// The revision without sessions: each request stands alone.
pub const MODERN: &str = "2026-07-28";

/// The revisions with `initialize`, newest first.
pub const LEGACY: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Which of the two ways of speaking a server understands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Era {
    /// Sessions opened by `initialize`, with the revision that was agreed on.
    Legacy(String),
    /// Stateless requests, each with its own metadata (2026-07-28).
    Modern,
}

impl Era {
    /// The revision spoken.
    pub fn version(&self) -> &str {
        match self {
            Self::Legacy(version) => version,
            Self::Modern => MODERN,
        }
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.version())
    }
}
