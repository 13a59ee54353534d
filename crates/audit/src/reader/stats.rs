//! Figures per tool.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    Reader,
    counting::{CountedCalls, CountedDurations, CountedTime},
};
use crate::{error::Error, filter::Filter, index::DurationHistogram, record::Record};

/// How many durations of a tool are kept as they are.
const EXACT: usize = 10_000;

/// The figures of one tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolStats {
    /// The tool's name.
    pub tool: String,
    /// How often it was called.
    pub calls: u64,
    /// How many of those failed or have an unknown outcome.
    pub failures: u64,
    /// The median duration in milliseconds.
    pub p50_ms: f64,
    /// The 95th percentile.
    pub p95_ms: f64,
    /// The 99th percentile.
    pub p99_ms: f64,
    /// The total size of its results.
    pub bytes: u64,
}

#[derive(Default)]
pub(super) struct DurationSums {
    pub(super) calls: u64,
    pub(super) failures: u64,
    pub(super) bytes: u64,
    /// Of calls that were counted one by one.
    pub(super) durations: Vec<u64>,
    /// Of rollups.
    histogram: DurationHistogram,
}

impl Reader {
    /// Returns the figures of each tool with records that match the filter, most called first. Percentiles of more than
    /// 10,000 calls are within 1 %.
    ///
    /// # Errors
    /// The store cannot be read, or a pattern is invalid.
    pub fn stats(&mut self, filter: &Filter) -> Result<Vec<ToolStats>, Error> {
        let mut sums = BTreeMap::<String, DurationSums>::new();
        self.count_calls(filter, CountedTime::of_filter(filter), None, |calls| {
            match sums.get_mut(calls.tool) {
                Some(sums) => sums.take(&calls),
                None => sums.entry(calls.tool.to_owned()).or_default().take(&calls),
            }
        })?;
        Ok(in_order(sums))
    }
}

impl ToolStats {
    /// Returns the figures of each tool in the records, most called first.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<Self> {
        let mut sum = ToolStatsSum::default();
        records.into_iter().for_each(|record| sum.add(record));
        sum.stats()
    }
}

/// Adds up the figures of tools call by call, in memory that grows with the tools and not with the calls.
#[derive(Default)]
pub struct ToolStatsSum(BTreeMap<String, DurationSums>);

impl ToolStatsSum {
    /// Adds a call.
    pub fn add(&mut self, record: &Record) {
        let sums = match self.0.get_mut(&record.tool) {
            Some(sums) => sums,
            None => self.0.entry(record.tool.clone()).or_default(),
        };
        sums.calls += 1;
        sums.failures += u64::from(record.outcome.error_kind().is_some());
        let nanoseconds = record.duration.map(|took| u64::try_from(took.as_nanos()));
        sums.durations.extend(nanoseconds.and_then(Result::ok));
        sums.bytes += record.bytes.unwrap_or(0);
        if sums.durations.len() > EXACT {
            let DurationSums { durations, histogram, .. } = sums;
            durations.drain(..).for_each(|duration| histogram.add(duration, 1));
        }
    }

    /// Returns the figures of each tool, most called first. Percentiles of more than 10,000 calls of a tool are within 1 %.
    pub fn stats(self) -> Vec<ToolStats> {
        in_order(self.0)
    }
}

fn in_order(sums: BTreeMap<String, DurationSums>) -> Vec<ToolStats> {
    let mut stats: Vec<_> = sums.into_iter().map(|(tool, sums)| sums.stats(tool)).collect();
    stats.sort_by_key(|stats| std::cmp::Reverse(stats.calls));
    stats
}

impl DurationSums {
    fn stats(mut self, tool: String) -> ToolStats {
        let [p50_ms, p95_ms, p99_ms] = self.percentiles().map(Option::unwrap_or_default);
        let Self { calls, failures, bytes, .. } = self;
        ToolStats { tool, calls, failures, p50_ms, p95_ms, p99_ms, bytes }
    }

    /// Adds calls.
    pub(super) fn take(&mut self, calls: &CountedCalls<'_>) {
        self.calls += calls.calls;
        if calls.outcome.is_some_and(|outcome| outcome != "ok") {
            self.failures += calls.calls;
        }
        self.bytes += calls.bytes;
        match &calls.durations {
            CountedDurations::One(duration) => self.durations.extend(duration),
            CountedDurations::Rollup(histogram) => self.histogram.merge(histogram),
        }
    }

    /// Returns the 50th, 95th and 99th percentile in milliseconds. `None` if no duration is known.
    pub(super) fn percentiles(&mut self) -> [Option<f64>; 3] {
        if !self.histogram.is_empty() {
            let Self { durations, histogram, .. } = self;
            durations.drain(..).for_each(|duration| histogram.add(duration, 1));
            let count = histogram.count();
            let at = |hundredths| histogram.at_rank(rank(count, hundredths));
            return [50, 95, 99].map(at).map(|found| found.map(|nanoseconds| nanoseconds / 1e6));
        }
        self.durations.sort_unstable();
        let count = self.durations.len() as u64;
        [50, 95, 99].map(|hundredths| {
            let rank = usize::try_from(rank(count, hundredths)).unwrap_or(usize::MAX);
            let nanoseconds = self.durations.get(rank).copied();
            nanoseconds.map(|nanoseconds| nanoseconds as f64 / 1e6)
        })
    }
}

/// Returns the nearest rank, from 0: of the smallest duration that is not exceeded by this share of the calls.
fn rank(count: u64, hundredths: u64) -> u64 {
    (count * hundredths).div_ceil(100).max(1) - 1
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use switchboard_toolcall::CallId;

    use super::*;
    use crate::record::CallOutcome;

    fn record(nanoseconds: u64) -> Record {
        Record {
            id: CallId::generate(),
            tool: "echo".to_owned(),
            server: None,
            caller: None,
            client: None,
            conversation: None,
            run: None,
            profile: None,
            shown_as: None,
            arguments: "{}".to_owned(),
            outcome: CallOutcome::Ok,
            duration: Some(Duration::from_nanos(nanoseconds)),
            started: UNIX_EPOCH,
            bytes: Some(1),
            reused: None,
            node: None,
        }
    }

    #[test]
    fn many_calls_are_summed_in_little_memory() {
        let mut sum = ToolStatsSum::default();
        let many = 5 * EXACT as u64;
        for milliseconds in 1..=many {
            sum.add(&record(milliseconds * 1_000_000));
            assert!(sum.0["echo"].durations.len() <= EXACT);
        }
        let stats = sum.stats();
        assert_eq!((stats[0].calls, stats[0].bytes), (many, many));
        let half = many as f64 / 2.0;
        assert!((stats[0].p50_ms - half).abs() < half / 100.0, "{}", stats[0].p50_ms);
        let few = ToolStats::of([&record(2_000_000), &record(4_000_000), &record(9_000_000)]);
        assert_eq!((few[0].p50_ms, few[0].p99_ms), (4.0, 9.0));
    }
}
