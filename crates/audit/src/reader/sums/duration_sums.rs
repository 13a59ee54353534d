//! How many calls there were, and how long they took: sums that can be added.

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use serde::{Deserialize, Serialize};

use super::super::{
    CallFigure, ToolStats,
    counting::{CountedCalls, CountedDurations},
};
use crate::index::DurationHistogram;

/// How many durations are kept as they are; more are counted in a histogram.
const EXACT: usize = 10_000;
/// How many calls another store may claim: sums of that many stay far from the largest number.
const MOST_CALLS: u64 = 1 << 40;

/// The sums of some calls.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(into = "DurationSumsJson", try_from = "DurationSumsJson")]
pub(in crate::reader) struct DurationSums {
    pub(in crate::reader) calls: u64,
    pub(in crate::reader) failures: u64,
    pub(in crate::reader) bytes: u64,
    /// Of calls that were counted one by one.
    durations: Vec<u64>,
    /// Of rollups, of other stores, and of many calls.
    histogram: DurationHistogram,
}

impl DurationSums {
    /// Adds calls.
    pub(in crate::reader) fn take(&mut self, calls: &CountedCalls<'_>) {
        self.calls += calls.calls;
        if calls.outcome.is_some_and(|outcome| outcome != "ok") {
            self.failures += calls.calls;
        }
        self.bytes += calls.bytes;
        match &calls.durations {
            CountedDurations::One(duration) => self.durations.extend(duration),
            CountedDurations::Rollup(histogram) => self.histogram.merge(histogram),
        }
        if self.durations.len() > EXACT {
            self.fold();
        }
    }

    /// Adds the sums of another store.
    pub(super) fn merge(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.failures = self.failures.saturating_add(other.failures);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.durations.extend(&other.durations);
        self.histogram.merge(&other.histogram);
    }

    /// Returns the figures, without bytes.
    pub(super) fn figure(mut self) -> CallFigure {
        let [p50_ms, p95_ms, p99_ms] = self.percentiles();
        CallFigure { calls: self.calls, failures: self.failures, p50_ms, p95_ms, p99_ms }
    }

    /// Returns the figures of a tool.
    pub(super) fn stats(mut self, tool: String) -> ToolStats {
        let [p50_ms, p95_ms, p99_ms] = self.percentiles().map(Option::unwrap_or_default);
        let Self { calls, failures, bytes, .. } = self;
        ToolStats { tool, calls, failures, p50_ms, p95_ms, p99_ms, bytes }
    }

    /// Counts the durations in the histogram.
    fn fold(&mut self) {
        let Self { durations, histogram, .. } = self;
        durations.drain(..).for_each(|duration| histogram.add(duration, 1));
    }

    /// Returns the 50th, 95th and 99th percentile in milliseconds. `None` if no duration is known.
    pub(in crate::reader) fn percentiles(&mut self) -> [Option<f64>; 3] {
        if !self.histogram.is_empty() {
            self.fold();
            let count = self.histogram.count();
            let at = |hundredths| self.histogram.at_rank(rank(count, hundredths));
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

/// The sums as JSON; what is 0 is left out.
#[derive(Serialize, Deserialize)]
struct DurationSumsJson {
    #[serde(default, skip_serializing_if = "is_zero")]
    calls: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    failures: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    bytes: u64,
    /// The histogram, in base64.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    durations: String,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl From<DurationSums> for DurationSumsJson {
    fn from(mut sums: DurationSums) -> Self {
        sums.fold();
        let DurationSums { calls, failures, bytes, histogram, .. } = sums;
        Self { calls, failures, bytes, durations: STANDARD_NO_PAD.encode(histogram.encode()) }
    }
}

/// The sums that were received contradict themselves.
#[derive(Debug, thiserror::Error)]
#[error("these are not sums of calls")]
struct NoSums;

impl TryFrom<DurationSumsJson> for DurationSums {
    type Error = NoSums;

    fn try_from(json: DurationSumsJson) -> Result<Self, NoSums> {
        let DurationSumsJson { calls, failures, bytes, durations } = json;
        let durations = STANDARD_NO_PAD.decode(durations).map_err(|_| NoSums)?;
        let histogram = DurationHistogram::decode(&durations);
        let has_no_more = |count: u64| count <= calls && calls <= MOST_CALLS;
        match has_no_more(failures) && histogram.checked_count().is_some_and(has_no_more) {
            true => Ok(Self { calls, failures, bytes, durations: Vec::new(), histogram }),
            false => Err(NoSums),
        }
    }
}
