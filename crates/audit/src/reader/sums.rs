//! Figures over several stores: each store sums its own calls, and the node that asked merges the sums.

mod duration_sums;

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{
    CallFigures, FigureWindow, GroupBy, Reader, ToolStats,
    counting::{CountedCalls, CountedDurations, CountedTime},
};
use crate::{
    error::Error,
    filter::Filter,
    line::microseconds,
    record::{CallOutcome, Record},
};

pub(super) use duration_sums::DurationSums;

/// How many calls are counted one by one at most, the newest ones, so that no query delays the next for long.
const MOST: usize = 500_000;

/// Which figures are asked for; each store of a cluster can answer for its own calls.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureQuery {
    /// Which calls count.
    pub filter: Filter,
    /// The steps of time, and what calls are grouped by; `None` for figures of each tool alone.
    pub window: Option<FigureWindow>,
}

impl FigureQuery {
    /// Returns which calls count, with the time of the window.
    pub fn filter(&self) -> Filter {
        match &self.window {
            Some(window) => {
                let (since, until) = (Some(window.from), Some(window.until()));
                Filter { since, until, limit: None, ..self.filter.clone() }
            }
            None => self.filter.clone(),
        }
    }

    /// Returns the sums of no calls.
    pub fn sums(&self) -> FigureSums {
        let signed = |number: u128| i64::try_from(number).unwrap_or(i64::MAX);
        let grid = self.window.map_or_else(FigureGrid::default, |window| FigureGrid {
            by: window.by,
            from: signed(microseconds(window.from).into()),
            step: signed(window.step.as_micros()).max(1),
        });
        let steps = self.window.map_or(0, |window| window.steps);
        let steps = (0..steps).map(|_| DurationSums::default()).collect();
        FigureSums { grid, steps, ..FigureSums::default() }
    }
}

impl Reader {
    /// Returns the sums of the calls that match. Percentiles of more than 10,000 calls are within 1 %.
    ///
    /// # Errors
    /// The store cannot be read, or a pattern is invalid.
    pub fn sums(&mut self, query: &FigureQuery) -> Result<FigureSums, Error> {
        let mut sums = query.sums();
        let filter = query.filter();
        let (time, most) = match query.window {
            Some(window) => (CountedTime::of_window(&filter, window), Some(MOST)),
            None => (CountedTime::of_filter(&filter), None),
        };
        sums.is_partial = self.count_calls(&filter, time, most, |calls| sums.take(&calls))?;
        Ok(sums)
    }
}

/// Sums of calls, in memory that grows with the groups and the steps and not with the calls. As JSON, durations are within
/// 1 %.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FigureSums {
    /// Not part of the JSON: the node that merges the sums has chosen the grid itself.
    #[serde(skip)]
    grid: FigureGrid,
    total: DurationSums,
    kinds: BTreeMap<String, u64>,
    steps: Vec<DurationSums>,
    #[serde(serialize_with = "write_groups", deserialize_with = "read_groups")]
    groups: HashMap<Option<String>, DurationSums>,
    is_partial: bool,
}

/// Where a call belongs.
#[derive(Clone, Debug, Default)]
struct FigureGrid {
    by: GroupBy,
    from: i64,
    step: i64,
}

impl FigureSums {
    /// Adds a call.
    pub fn add(&mut self, record: &Record) {
        let is_running = record.outcome == CallOutcome::Running;
        let duration = record.duration.and_then(|took| u64::try_from(took.as_nanos()).ok());
        self.take(&CountedCalls {
            tool: &record.tool,
            server: record.server.as_deref(),
            caller: record.caller.as_deref(),
            outcome: Some(record.outcome.code()).filter(|_| !is_running),
            started: i64::try_from(microseconds(record.started)).unwrap_or(i64::MAX),
            calls: 1,
            bytes: record.bytes.unwrap_or(0),
            durations: CountedDurations::One(duration),
        });
    }

    pub(super) fn take(&mut self, calls: &CountedCalls<'_>) {
        if let Some(kind) = calls.outcome.filter(|outcome| *outcome != "ok") {
            match self.kinds.get_mut(kind) {
                Some(count) => *count += calls.calls,
                None => _ = self.kinds.insert(kind.to_owned(), calls.calls),
            }
        }
        let FigureGrid { by, from, step } = self.grid;
        let step = usize::try_from((calls.started - from) / step.max(1));
        let step = step.ok().and_then(|step| self.steps.get_mut(step));
        let name = match by {
            GroupBy::Tool => Some(calls.tool),
            GroupBy::Caller => calls.caller,
            GroupBy::Server => calls.server,
        };
        let group = self.groups.entry(name.map(str::to_owned)).or_default();
        for sums in [Some(&mut self.total), step, Some(group)].into_iter().flatten() {
            sums.take(calls);
        }
    }

    /// Adds the sums of another store. Returns `false`, and adds nothing, if they have other steps.
    pub fn merge(&mut self, other: Self) -> bool {
        if other.steps.len() != self.steps.len() {
            return false;
        }
        self.total.merge(&other.total);
        for (kind, count) in other.kinds {
            let sum = self.kinds.entry(kind).or_default();
            *sum = sum.saturating_add(count);
        }
        for (ours, theirs) in self.steps.iter_mut().zip(&other.steps) {
            ours.merge(theirs);
        }
        for (name, theirs) in other.groups {
            self.groups.entry(name).or_default().merge(&theirs);
        }
        self.is_partial |= other.is_partial;
        true
    }

    /// Returns the figures over time, by kind of error and by group.
    pub fn figures(self) -> CallFigures {
        CallFigures {
            total: self.total.figure(),
            kinds: self.kinds,
            steps: self.steps.into_iter().map(DurationSums::figure).collect(),
            groups: self.groups.into_iter().map(|(name, sums)| (name, sums.figure())).collect(),
            is_partial: self.is_partial,
        }
    }

    /// Returns the figures of each tool, most called first, of sums that are grouped by tool.
    pub fn stats(self) -> Vec<ToolStats> {
        let groups = self.groups.into_iter().filter_map(|(tool, sums)| Some((tool?, sums)));
        let mut stats: Vec<_> = groups.map(|(tool, sums)| sums.stats(tool)).collect();
        stats.sort_by(|one, other| {
            other.calls.cmp(&one.calls).then_with(|| one.tool.cmp(&other.tool))
        });
        stats
    }
}

/// Writes pairs: a name that is `None` cannot be a key of JSON.
fn write_groups<S: Serializer>(
    groups: &HashMap<Option<String>, DurationSums>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(groups)
}

fn read_groups<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<HashMap<Option<String>, DurationSums>, D::Error> {
    Ok(Vec::deserialize(deserializer)?.into_iter().collect())
}

#[cfg(test)]
mod tests;
