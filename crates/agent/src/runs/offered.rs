//! Which tools a run was offered, so that a rerun can say what is different today.

use serde::{Deserialize, Serialize};

use super::keys::hash;
use crate::Agent;

/// Of more tools than this, only the number and the hash are recorded.
const MOST_NAMES: usize = 100;

/// How many names are told of a difference.
const TOLD: usize = 5;

/// The tools that a model was offered, or could find if it searched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedTools {
    /// How many they were.
    pub count: usize,
    /// The first 32 hex digits of a SHA-256 of the sorted names.
    pub hash: String,
    /// The sorted names; none if they are more than a hundred.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

impl OfferedTools {
    /// Returns what an agent offers now.
    pub fn of(agent: &Agent) -> Self {
        let ours = agent.offered().into_iter().map(|tool| tool.name().to_string());
        Self::named(ours.chain(agent.foreign.iter().map(|tool| tool.name.clone())).collect())
    }

    fn named(mut names: Vec<String>) -> Self {
        names.sort_unstable();
        let (count, hash) = (names.len(), hash(&[names.join("\n").as_bytes()]));
        if count > MOST_NAMES {
            names.clear();
        }
        Self { count, hash, names }
    }

    /// Returns what is different now; `None` if nothing is.
    pub fn difference(&self, now: &Self) -> Option<String> {
        if self.hash == now.hash {
            return None;
        }
        let mut text =
            format!("the model was offered {} tools then and {} now", self.count, now.count);
        let knows_all = |tools: &Self| tools.names.len() == tools.count;
        if knows_all(self) && knows_all(now) {
            for (word, these, others) in [("without", self, now), ("with", now, self)] {
                let only = these.names.iter().filter(|name| !others.names.contains(name));
                let only: Vec<&str> = only.map(String::as_str).collect();
                let told = only[..only.len().min(TOLD)].join(", ");
                match only.len() {
                    0 => {}
                    many if many > TOLD => {
                        text.push_str(&format!(", {word} {told} and {} more", many - TOLD));
                    }
                    _ => text.push_str(&format!(", {word} {told}")),
                }
            }
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(names: &[&str]) -> OfferedTools {
        OfferedTools::named(names.iter().map(|name| (*name).to_owned()).collect())
    }

    // RN-1, RN-4
    #[test]
    fn a_difference_names_what_came_and_went() {
        let before = tools(&["b", "a"]);
        assert_eq!(before.names, ["a", "b"]);
        assert_eq!(before.difference(&tools(&["a", "b"])), None);
        let text = "the model was offered 2 tools then and 1 now, without a, b, with c";
        assert_eq!(before.difference(&tools(&["c"])).as_deref(), Some(text));
        let text = "the model was offered 2 tools then and 8 now, with c, d, e, f, g and 1 more";
        let now = tools(&["a", "b", "c", "d", "e", "f", "g", "h"]);
        assert_eq!(before.difference(&now).as_deref(), Some(text));
        let many: Vec<String> = (0..101).map(|number| number.to_string()).collect();
        let many = OfferedTools::named(many);
        assert_eq!((many.count, many.names.len()), (101, 0));
        let text = "the model was offered 2 tools then and 101 now";
        assert_eq!(before.difference(&many).as_deref(), Some(text));
    }
}
