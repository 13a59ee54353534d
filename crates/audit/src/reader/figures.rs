//! Figures over time: how many calls, how many failed and of what kind, how long they took.

use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, SystemTime},
};

use serde::Serialize;

use super::{
    Reader,
    counting::{CountedCalls, CountedDurations, CountedTime},
    stats::DurationSums,
};
use crate::{
    error::Error,
    filter::Filter,
    line::microseconds,
    record::{CallOutcome, Record},
};

/// How many calls are counted one by one at most, the newest ones, so that no query delays the next for long.
const MOST: usize = 500_000;

/// The requested figures.
#[derive(Clone, Copy, Debug)]
pub struct FigureWindow {
    /// When the first step begins.
    pub from: SystemTime,
    /// How long a step is.
    pub step: Duration,
    /// How many there are.
    pub steps: usize,
    /// What calls are grouped by.
    pub by: GroupBy,
}

/// What calls are grouped by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupBy {
    /// The tool.
    #[default]
    Tool,
    /// The caller.
    Caller,
    /// The server that the tool belongs to.
    Server,
}

/// The figures of some calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallFigure {
    /// How many there were.
    pub calls: u64,
    /// How many of those failed or have an unknown outcome.
    pub failures: u64,
    /// The median duration in milliseconds.
    pub p50_ms: Option<f64>,
    /// The 95th percentile.
    pub p95_ms: Option<f64>,
    /// The 99th percentile.
    pub p99_ms: Option<f64>,
}

/// Figures over time, by kind of error and by group.
#[derive(Clone, Debug)]
pub struct CallFigures {
    /// Of all calls.
    pub total: CallFigure,
    /// How many calls failed, by kind of error.
    pub kinds: BTreeMap<String, u64>,
    /// Of each step.
    pub steps: Vec<CallFigure>,
    /// Of each tool, caller or server; `None` for anonymous calls, or tools without a server.
    pub groups: Vec<(Option<String>, CallFigure)>,
    /// Whether there were more calls than one query reads; then only the newest count.
    pub is_partial: bool,
}

impl Reader {
    /// Returns the figures of the calls in the window that match the filter.
    ///
    /// # Errors
    /// The store cannot be read, or a pattern is invalid.
    pub fn figures(&mut self, filter: &Filter, window: FigureWindow) -> Result<CallFigures, Error> {
        let mut sums = FigureBuilder::new(window);
        let filter = window.within(filter);
        let time = CountedTime::of_window(&filter, window);
        sums.is_partial = self.count_calls(&filter, time, Some(MOST), |calls| sums.take(&calls))?;
        Ok(sums.figures())
    }
}

impl CallFigures {
    /// Returns the figures of calls in memory.
    ///
    /// # Errors
    /// A pattern is invalid.
    pub fn of<'a>(
        records: impl IntoIterator<Item = &'a Record>,
        filter: &Filter,
        window: FigureWindow,
    ) -> Result<Self, Error> {
        let passes = window.within(filter).matcher()?;
        let mut sums = FigureBuilder::new(window);
        for record in records.into_iter().filter(|record| passes(record)) {
            let is_running = record.outcome == CallOutcome::Running;
            let duration = record.duration.and_then(|took| u64::try_from(took.as_nanos()).ok());
            sums.take(&CountedCalls {
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
        Ok(sums.figures())
    }
}

impl FigureWindow {
    /// Returns when the last step ends.
    pub fn until(&self) -> SystemTime {
        let steps = u32::try_from(self.steps).unwrap_or(u32::MAX);
        self.from + self.step.saturating_mul(steps)
    }

    fn within(&self, filter: &Filter) -> Filter {
        let (since, until) = (Some(self.from), Some(self.until()));
        Filter { since, until, limit: None, ..filter.clone() }
    }
}

/// Accumulates the figures.
struct FigureBuilder {
    by: GroupBy,
    from: i64,
    step: i64,
    total: DurationSums,
    kinds: BTreeMap<String, u64>,
    steps: Vec<DurationSums>,
    groups: HashMap<Option<String>, DurationSums>,
    is_partial: bool,
}

impl FigureBuilder {
    fn new(window: FigureWindow) -> Self {
        let signed = |number: u128| i64::try_from(number).unwrap_or(i64::MAX);
        Self {
            by: window.by,
            from: signed(microseconds(window.from).into()),
            step: signed(window.step.as_micros()).max(1),
            total: DurationSums::default(),
            kinds: BTreeMap::new(),
            steps: (0..window.steps).map(|_| DurationSums::default()).collect(),
            groups: HashMap::new(),
            is_partial: false,
        }
    }

    fn take(&mut self, calls: &CountedCalls<'_>) {
        if let Some(kind) = calls.outcome.filter(|outcome| *outcome != "ok") {
            match self.kinds.get_mut(kind) {
                Some(count) => *count += calls.calls,
                None => _ = self.kinds.insert(kind.to_owned(), calls.calls),
            }
        }
        let step = usize::try_from((calls.started - self.from) / self.step);
        let step = step.ok().and_then(|step| self.steps.get_mut(step));
        let name = match self.by {
            GroupBy::Tool => Some(calls.tool),
            GroupBy::Caller => calls.caller,
            GroupBy::Server => calls.server,
        };
        let group = self.groups.entry(name.map(str::to_owned)).or_default();
        for sums in [Some(&mut self.total), step, Some(group)].into_iter().flatten() {
            sums.take(calls);
        }
    }

    fn figures(self) -> CallFigures {
        CallFigures {
            total: figure(self.total),
            kinds: self.kinds,
            steps: self.steps.into_iter().map(figure).collect(),
            groups: self.groups.into_iter().map(|(name, sums)| (name, figure(sums))).collect(),
            is_partial: self.is_partial,
        }
    }
}

fn figure(mut sums: DurationSums) -> CallFigure {
    let [p50_ms, p95_ms, p99_ms] = sums.percentiles();
    CallFigure { calls: sums.calls, failures: sums.failures, p50_ms, p95_ms, p99_ms }
}
