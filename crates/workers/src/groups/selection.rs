//! Which groups a gateway uses: `[cluster] groups`.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};
use switchboard_toolcall::{PatternError, ToolPatterns};

use crate::{ClusterNames, Error, worker::check_group};

/// With more names than this, all entries are counted, and all messages are heard: each name costs a message each second.
const MOST_NAMES: usize = 16;

/// The groups that a gateway uses.
#[derive(Clone, Debug)]
pub(crate) struct GroupSelection {
    /// `None`: all.
    patterns: Option<ToolPatterns>,
    /// The groups, if the patterns are a few names. Otherwise empty.
    names: Vec<String>,
    /// The same for all that have the same patterns.
    name: String,
}

impl GroupSelection {
    /// Creates a selection of the groups that match one of these patterns; of all, if there is no pattern.
    pub(crate) fn new(patterns: &[String]) -> Result<Self, Error> {
        let invalid =
            |error: PatternError| Error::Setting { key: "groups", reason: error.to_string() };
        let are_names = patterns.len() <= MOST_NAMES
            && patterns.iter().all(|pattern| check_group(pattern).is_ok());
        let mut names = if are_names { patterns.to_vec() } else { Vec::new() };
        names.sort();
        names.dedup();
        let name = match patterns {
            [] => "all".to_owned(),
            patterns => name_of(patterns),
        };
        let patterns = match patterns {
            [] => None,
            patterns => Some(ToolPatterns::new(patterns).map_err(invalid)?),
        };
        Ok(Self { patterns, names, name })
    }

    /// Returns whether this gateway uses the group.
    pub(super) fn has(&self, group: &str) -> bool {
        self.patterns.as_ref().is_none_or(|patterns| patterns.matches(group))
    }

    /// Returns whether this gateway uses the group of this entry.
    pub(super) fn has_key(&self, key: &str) -> bool {
        // Names of groups are not escaped in keys.
        self.has(key.split('.').next().unwrap_or_default())
    }

    /// Returns the subjects on which workers of these groups say what changes.
    pub(super) fn subjects(&self, names: &ClusterNames) -> Vec<String> {
        match &*self.names {
            [] => vec![names.presences()],
            groups => groups.iter().map(|group| names.presence(group)).collect(),
        }
    }

    /// Returns the subjects of the heartbeats of these groups' workers.
    pub(super) fn beats(&self, names: &ClusterNames) -> Vec<String> {
        match &*self.names {
            [] => vec![names.all_beats()],
            groups => groups.iter().map(|group| names.beats(group)).collect(),
        }
    }

    /// Returns a name for the selection: the same for gateways that use the same groups.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns patterns of the keys of these groups' entries.
    pub(super) fn keys(&self, names: &ClusterNames) -> Vec<String> {
        match &*self.names {
            [] => vec![">".to_owned()],
            groups => groups.iter().map(|group| names.members(group)).collect(),
        }
    }
}

/// Returns a short name for these patterns.
fn name_of(patterns: &[String]) -> String {
    let patterns: BTreeSet<_> = patterns.iter().map(String::as_bytes).collect();
    let patterns: Vec<_> = patterns.into_iter().collect();
    let digest = Sha256::digest(patterns.join(&b'\n'));
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(patterns: &[&str]) -> Vec<String> {
        let patterns: Vec<_> = patterns.iter().map(ToString::to_string).collect();
        let names = ClusterNames::new("home", 1).unwrap();
        GroupSelection::new(&patterns).unwrap().keys(&names)
    }

    #[test]
    fn a_few_names_are_asked_for_and_patterns_are_not() {
        assert_eq!(keys(&[]), [">"]);
        assert_eq!(keys(&["gpu", "cpu", "gpu"]), ["cpu.>", "gpu.>"]);
        assert_eq!(keys(&["gpu", "c*"]), [">"]);
        assert_eq!(keys(&["gpu"; MOST_NAMES + 1]), [">"]);
    }

    #[test]
    fn a_group_is_used_if_a_pattern_matches_it() {
        let patterns = ["gpu-*".to_owned(), "cpu".to_owned()];
        let selection = GroupSelection::new(&patterns).unwrap();
        let has = ["gpu-1", "cpu", "cpu-1", "gpu"].map(|group| selection.has(group));
        assert_eq!(has, [true, true, false, false]);
        assert!(selection.has_key("gpu-1.01KA") && !selection.has_key("gpu.01KA"));
        let error = GroupSelection::new(&["a[".to_owned()]).unwrap_err().to_string();
        assert!(error.starts_with("`cluster.groups`: "), "{error}");
    }
}
