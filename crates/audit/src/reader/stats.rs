//! Figures per tool.

use std::collections::BTreeMap;

use rusqlite::params_from_iter;
use serde::Serialize;

use super::Reader;
use crate::{error::Error, filter::Filter, record::Record};

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
    pub(super) durations: Vec<u64>,
}

impl Reader {
    /// Returns the figures of each tool with records that match the filter, most called first.
    ///
    /// # Errors
    /// The store cannot be read, or a pattern is invalid.
    pub fn stats(&mut self, filter: &Filter) -> Result<Vec<ToolStats>, Error> {
        let Some(index) = self.fresh()? else { return Ok(Vec::new()) };
        let clause = filter.clause(&index.connection)?;
        let question =
            format!("SELECT tool, outcome, duration, bytes FROM calls WHERE {}", clause.conditions);
        let sum = || {
            let mut sums = BTreeMap::<String, DurationSums>::new();
            let mut rows = index.connection.prepare_cached(&question)?;
            let mut rows = rows.query(params_from_iter(&clause.values))?;
            while let Some(row) = rows.next()? {
                let tool = row.get_ref(0)?.as_str()?;
                let sums = match sums.get_mut(tool) {
                    Some(sums) => sums,
                    None => sums.entry(tool.to_owned()).or_default(),
                };
                sums.calls += 1;
                let outcome = row.get_ref(1)?.as_str_or_null()?;
                sums.failures += u64::from(outcome.is_some_and(|outcome| outcome != "ok"));
                sums.durations.extend(row.get::<_, Option<u64>>(2)?);
                sums.bytes += row.get::<_, Option<u64>>(3)?.unwrap_or(0);
            }
            Ok(sums)
        };
        Ok(in_order(sum().map_err(index.tried("read"))?))
    }
}

impl ToolStats {
    /// Returns the figures of each tool in the records, most called first.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<Self> {
        let mut sums = BTreeMap::<String, DurationSums>::new();
        for record in records {
            let sums = sums.entry(record.tool.clone()).or_default();
            sums.calls += 1;
            sums.failures += u64::from(record.outcome.error_kind().is_some());
            let nanoseconds = record.duration.map(|took| u64::try_from(took.as_nanos()));
            sums.durations.extend(nanoseconds.and_then(Result::ok));
            sums.bytes += record.bytes.unwrap_or(0);
        }
        in_order(sums)
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

    /// Returns the 50th, 95th and 99th percentile in milliseconds. `None` if no duration is known.
    pub(super) fn percentiles(&mut self) -> [Option<f64>; 3] {
        self.durations.sort_unstable();
        [50, 95, 99].map(|hundredths| {
            // The nearest rank: the smallest duration that is not exceeded by this share of the calls.
            let rank = (self.durations.len() * hundredths).div_ceil(100).max(1) - 1;
            let nanoseconds = self.durations.get(rank).copied();
            nanoseconds.map(|nanoseconds| nanoseconds as f64 / 1e6)
        })
    }
}
