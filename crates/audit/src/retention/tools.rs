//! Removes the content of calls whose tool has an age of its own.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, SystemTime},
};

use super::{
    StoreContents,
    rewrite::{LineSpan, RewriteLock, RewriteOutcome, rewrite},
};
use crate::{
    config::{Config, ToolAges},
    error::Error,
    filter,
    index::{CallIndex, EndedCall},
    line::microseconds,
    manifest::{Manifest, ManifestEntry},
};

/// Which calls are to lose their content.
pub(super) struct ToolRemoval {
    /// The tools with an age of their own.
    tools: Vec<(String, Duration)>,
    /// When the segments were sealed that are sealed and there.
    sealed: BTreeMap<u64, u64>,
    /// The segments that are there.
    kept: BTreeSet<u64>,
    now: u64,
}

impl ToolRemoval {
    pub(super) fn new(
        ages: &ToolAges,
        manifest: &Manifest,
        index: &CallIndex,
    ) -> Result<Self, Error> {
        let names = filter::tools(&index.connection).map_err(index.tried("read"))?;
        let tools = names.into_iter().filter_map(|name| ages.of(&name).map(|age| (name, age)));
        let sealed =
            manifest.kept().filter_map(|entry| Some((entry.number, entry.end.as_ref()?.at)));
        Ok(Self {
            tools: tools.collect(),
            sealed: sealed.collect(),
            kept: manifest.kept().map(|entry| entry.number).collect(),
            now: microseconds(SystemTime::now()),
        })
    }

    /// Returns whether a segment was sealed so long ago, or is gone.
    fn is_due(&self, segment: u64, age: Duration) -> bool {
        let age = u64::try_from(age.as_micros()).unwrap_or(u64::MAX);
        match self.sealed.get(&segment) {
            Some(at) => at.saturating_add(age) < self.now,
            None => !self.kept.contains(&segment),
        }
    }

    /// Returns the calls that began in a segment, and are to lose their content.
    pub(super) fn calls(
        &self,
        entry: &ManifestEntry,
        index: &CallIndex,
    ) -> Result<Vec<EndedCall>, Error> {
        let mut found = Vec::new();
        let Some(end) = &entry.end else { return Ok(found) };
        for (tool, age) in self.tools.iter().filter(|(_, age)| self.is_due(entry.number, *age)) {
            let calls = index.ended_calls(tool, entry.number, (entry.began, end.until))?;
            // Both lines of a call go, or none.
            let is_due = |call: &EndedCall| {
                call.ended.is_none_or(|(segment, ..)| self.is_due(segment, *age))
            };
            found.extend(calls.into_iter().filter(is_due));
        }
        Ok(found)
    }
}

/// Returns where the lines of calls are, by segment.
pub(super) fn spans(calls: &[EndedCall]) -> BTreeMap<u64, Vec<LineSpan>> {
    let mut spans = BTreeMap::<_, Vec<_>>::new();
    let lines = calls.iter().flat_map(|call| [Some(call.begun), call.ended]).flatten();
    for (segment, offset, length) in lines {
        spans.entry(segment).or_default().push((offset, length));
    }
    spans
}

impl StoreContents {
    /// Removes the content of calls whose tools have an age of their own that is past: first from the segments, then from the
    /// index, which knows which calls are left to do.
    pub(super) fn remove_by_tool(&mut self, config: &Config) -> Result<(), Error> {
        if config.tool_max_age.is_empty() {
            return Ok(());
        }
        let Some(lock) = RewriteLock::take(&self.layout)? else { return Ok(()) };
        let manifest = Manifest::read(&self.layout)?;
        let removal = ToolRemoval::new(&config.tool_max_age, &manifest, &self.index)?;
        for entry in manifest.kept() {
            let mut calls = removal.calls(entry, &self.index)?;
            let segments: Vec<u64> = spans(&calls).into_keys().collect();
            for segment in segments {
                // Those of a damaged segment keep their other lines, too.
                let Some(spans) = spans(&calls).remove(&segment) else { continue };
                let Some(entry) = manifest.kept().find(|kept| kept.number == segment) else {
                    continue;
                };
                let outcome = rewrite(&self.layout, entry, &spans, config.compress, &lock)?;
                if let RewriteOutcome::Damaged = outcome {
                    calls.retain(|call| call.segments().all(|other| other != segment));
                }
            }
            self.index.remove_calls(entry.number, &calls)?;
            self.collected.calls += calls.len() as u64;
        }
        Ok(())
    }
}
