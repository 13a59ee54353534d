//! Which calls returned the latest artifacts.
//!
//! The index knows this of calls whose end is recorded here. A queued call ends elsewhere, and its result is normalised
//! again each time it is requested: what is noted then is enough.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
};

use switchboard_runtime::ArtifactSource;

/// How many notes are kept; the oldest are dropped.
const MOST: usize = 10_000;

/// The calls that returned the latest artifacts.
#[derive(Default)]
pub(super) struct ArtifactSources(Mutex<SourceNotes>);

#[derive(Default)]
struct SourceNotes {
    by_artifact: HashMap<String, Vec<ArtifactSource>>,
    order: VecDeque<String>,
}

impl ArtifactSources {
    /// Notes that a call returned an artifact.
    pub(super) fn note(&self, artifact: &str, source: ArtifactSource) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = notes.by_artifact.entry(artifact.to_owned()).or_default();
        if known.contains(&source) {
            return;
        }
        known.push(source);
        notes.order.push_back(artifact.to_owned());
        if notes.order.len() > MOST
            && let Some(oldest) = notes.order.pop_front()
        {
            let sources = notes.by_artifact.get_mut(&oldest);
            let is_last = sources.is_none_or(|sources| {
                // Notes of one artifact are in order, too.
                sources.remove(0);
                sources.is_empty()
            });
            if is_last {
                notes.by_artifact.remove(&oldest);
            }
        }
    }

    /// Returns the noted calls that returned the artifact.
    pub(super) fn of(&self, artifact: &str) -> Vec<ArtifactSource> {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.by_artifact.get(artifact).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_notes_give_way() {
        let sources = ArtifactSources::default();
        let source =
            |caller: &str| ArtifactSource { tool: "t".into(), caller: Some(caller.into()) };
        sources.note("shared", source("a"));
        sources.note("shared", source("b"));
        sources.note("shared", source("b"));
        assert_eq!(sources.of("shared"), [source("a"), source("b")]);
        for number in 0..MOST - 1 {
            sources.note(&number.to_string(), source("c"));
        }
        assert_eq!(sources.of("shared"), [source("b")]);
        sources.note("last", source("c"));
        assert_eq!(sources.of("shared"), []);
        assert_eq!(sources.of("last"), [source("c")]);
    }
}
