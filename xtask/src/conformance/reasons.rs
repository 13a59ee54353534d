//! Why scenarios are expected to fail: the comments in the files that are given to the suite.
//!
//! A comment at the end of a scenario's line is about it; one above stands for all lines until the next.

use anyhow::{Context, Result};

/// The reasons of one file.
pub(super) struct Reasons {
    file: String,
    /// A scenario and its reason, which is empty where none is given.
    entries: Vec<(String, String)>,
}

impl Reasons {
    pub(super) fn parse(file: &str, text: &str) -> Self {
        let mut entries = Vec::new();
        let mut above: Vec<&str> = Vec::new();
        let mut in_comment = false;
        for line in text.lines().map(str::trim) {
            if let Some(comment) = line.strip_prefix('#') {
                if !in_comment {
                    above.clear();
                }
                above.push(comment.trim());
            } else if let Some(entry) = line.strip_prefix("- ") {
                let (name, beside) = entry.split_once(" #").unwrap_or((entry, ""));
                let reason = if beside.is_empty() { above.join(" ") } else { beside.to_owned() };
                entries.push((name.trim().to_owned(), reason.trim().to_owned()));
            } else if line.ends_with(':') {
                // What stands above a key is about the file.
                above.clear();
            }
            in_comment = line.starts_with('#');
        }
        Self { file: file.to_owned(), entries }
    }

    /// Why `scenario` fails.
    pub(super) fn of(&self, scenario: &str) -> Result<&str> {
        let entry = self.entries.iter().find(|(name, _)| name == scenario);
        let reason = entry.map(|(_, reason)| reason.trim_end_matches('.'));
        reason.filter(|reason| !reason.is_empty()).with_context(|| {
            format!("`{scenario}` fails; say why in a comment at its line in `{}`", self.file)
        })
    }
}
