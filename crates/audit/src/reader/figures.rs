//! Figures over time: how many calls, how many failed and of what kind, how long they took.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

use super::{FigureQuery, Reader};
use crate::{error::Error, filter::Filter, record::Record};

/// The requested figures.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
        let query = FigureQuery { filter: filter.clone(), window: Some(window) };
        Ok(self.sums(&query)?.figures())
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
        let query = FigureQuery { filter: filter.clone(), window: Some(window) };
        let passes = query.filter().matcher()?;
        let mut sums = query.sums();
        let matching = records.into_iter().filter(|record| passes(record));
        matching.for_each(|record| sums.add(record));
        Ok(sums.figures())
    }
}

impl FigureWindow {
    /// Returns when the last step ends.
    pub fn until(&self) -> SystemTime {
        let steps = u32::try_from(self.steps).unwrap_or(u32::MAX);
        self.from.checked_add(self.step.saturating_mul(steps)).unwrap_or(self.from)
    }
}
