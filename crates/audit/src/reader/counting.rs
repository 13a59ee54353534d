//! Counts calls for figures: from rollups where whole minutes, hours or days are asked for, and one by one elsewhere.

use std::time::{Duration, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, params_from_iter};

use super::{FigureWindow, Reader};
use crate::{
    error::Error,
    filter::Filter,
    index::{CallIndex, DurationHistogram, LENGTHS, SECOND, removed_until},
    line::microseconds,
};

/// Up to so many calls are counted one by one, so that their percentiles are exact.
const EXACT: u64 = 10_000;

/// Calls that count: one, or those of a rollup.
pub(super) struct CountedCalls<'a> {
    pub(super) tool: &'a str,
    pub(super) server: Option<&'a str>,
    pub(super) caller: Option<&'a str>,
    /// `None` while they run.
    pub(super) outcome: Option<&'a str>,
    /// When the first may have begun, in microseconds since 1970.
    pub(super) started: i64,
    pub(super) calls: u64,
    pub(super) bytes: u64,
    pub(super) durations: CountedDurations,
}

/// How long they took, as far as they have ended.
pub(super) enum CountedDurations {
    /// Of one call, in nanoseconds.
    One(Option<u64>),
    Rollup(DurationHistogram),
}

/// The times that calls are asked for: equal steps, or one.
#[derive(Clone, Copy)]
pub(super) struct CountedTime {
    from: Option<i64>,
    until: Option<i64>,
    step: Option<i64>,
}

impl CountedTime {
    /// Returns the time of a filter.
    pub(super) fn of_filter(filter: &Filter) -> Self {
        let signed = |time| i64::try_from(microseconds(time)).unwrap_or(i64::MAX);
        Self { from: filter.since.map(signed), until: filter.until.map(signed), step: None }
    }

    /// Returns the time of figures, whose filter has its beginning and end.
    pub(super) fn of_window(filter: &Filter, window: FigureWindow) -> Self {
        let step = i64::try_from(window.step.as_micros()).unwrap_or(i64::MAX).max(1);
        Self { step: Some(step), ..Self::of_filter(filter) }
    }

    /// Returns which rollups add up to it, and which times remain.
    fn parts(self, index: &Connection) -> rusqlite::Result<CountedParts> {
        let mut parts = CountedParts::default();
        let Some((first, last)) = days(index)? else { return Ok(parts) };
        let from = self.from.unwrap_or(first).max(first);
        let until = self.until.unwrap_or(last).min(last);
        let Some(step) = self.step else {
            parts.cut(from, until, &LENGTHS);
            return Ok(parts);
        };
        // Steps begin where the window does, whether or not there are calls.
        let begin = self.from.unwrap_or(first);
        let mut at = begin + (from - begin).div_euclid(step) * step;
        while at < until {
            let next = at.saturating_add(step);
            parts.cut(at.max(from), next.min(until), &LENGTHS);
            at = next;
        }
        Ok(parts)
    }
}

/// Returns the first day that has calls and the end of the last, in microseconds.
pub(super) fn days(index: &Connection) -> rusqlite::Result<Option<(i64, i64)>> {
    let end = |order: &str| {
        let day = format!(
            "SELECT began FROM rollups WHERE seconds = {} ORDER BY began {order} LIMIT 1",
            LENGTHS[0]
        );
        index.prepare_cached(&day)?.query_row([], |row| row.get::<_, i64>(0)).optional()
    };
    let (Some(first), Some(last)) = (end("ASC")?, end("DESC")?) else { return Ok(None) };
    Ok(Some((first * SECOND, (last + LENGTHS[0]) * SECOND)))
}

/// The parts of a time, in its order.
#[derive(Default)]
struct CountedParts {
    /// The length of rollups in seconds, and from when until when they are needed, in microseconds.
    rollups: Vec<(i64, i64, i64)>,
    /// What is counted call by call, in microseconds.
    calls: Vec<(i64, i64)>,
}

impl CountedParts {
    /// Divides a time into as few rollups as possible.
    fn cut(&mut self, from: i64, until: i64, lengths: &[i64]) {
        if from >= until {
            return;
        }
        let [length, shorter @ ..] = lengths else {
            match self.calls.last_mut() {
                Some(last) if last.1 == from => last.1 = until,
                _ => self.calls.push((from, until)),
            }
            return;
        };
        let unit = length * SECOND;
        let first = from.saturating_add(unit - 1).div_euclid(unit) * unit;
        let last = until.div_euclid(unit) * unit;
        if first >= last {
            return self.cut(from, until, shorter);
        }
        self.cut(from, first, shorter);
        match self.rollups.last_mut() {
            Some(range) if (range.0, range.2) == (*length, first) => range.2 = last,
            _ => self.rollups.push((*length, first, last)),
        }
        self.cut(last, until, shorter);
    }

    /// Returns whether the rollups have so few calls that these can be counted one by one.
    fn are_few(&self, index: &Connection) -> rusqlite::Result<bool> {
        // Calls that were removed are in rollups alone.
        let removed = removed_until(index)?;
        if self.rollups.iter().any(|(_, from, _)| removed.is_some_and(|until| *from <= until)) {
            return Ok(false);
        }
        let mut sum = index.prepare_cached(&format!(
            "SELECT coalesce(sum(calls), 0) FROM (
                 SELECT calls FROM rollups WHERE seconds = ?1 AND began >= ?2 AND began < ?3 LIMIT {}
             )",
            EXACT + 1
        ))?;
        let mut all = 0;
        for (length, from, until) in &self.rollups {
            all += sum
                .query_row([*length, from / SECOND, until / SECOND], |row| row.get::<_, u64>(0))?;
            if all > EXACT {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Filter {
    /// Returns whether rollups have everything that it asks for.
    pub(super) fn is_of_rollups(&self) -> bool {
        self.conversation.is_none()
            && self.slower_than.is_none()
            && self.after.is_none()
            && self.search.is_none()
    }
}

impl Reader {
    /// Hands over the calls that match the filter. Of those that are counted one by one, takes the newest `most`, and
    /// returns whether there were more.
    pub(super) fn count_calls(
        &mut self,
        filter: &Filter,
        time: CountedTime,
        most: Option<usize>,
        take: impl FnMut(CountedCalls<'_>),
    ) -> Result<bool, Error> {
        let Some(index) = self.fresh()? else { return Ok(false) };
        count(index, filter, time, most, true, take)
    }
}

/// Hands over calls as [`count_calls`](Reader::count_calls) does; unless `few_are_exact`, few calls come from rollups, too.
fn count(
    index: &CallIndex,
    filter: &Filter,
    time: CountedTime,
    most: Option<usize>,
    few_are_exact: bool,
    mut take: impl FnMut(CountedCalls<'_>),
) -> Result<bool, Error> {
    // All parts see the same calls, whatever another process feeds meanwhile.
    let snapshot = index.connection.unchecked_transaction().map_err(index.tried("read"))?;
    let parts = rolled_parts(&snapshot, filter, time, few_are_exact);
    let Some(parts) = parts.map_err(index.tried("read"))? else {
        return scan(index, filter, most, &mut take);
    };
    sum_rollups(index, filter, &parts.rollups, &mut take)?;
    let mut has_more = false;
    for (from, until) in parts.calls.into_iter().rev() {
        let time = |at: i64| Some(UNIX_EPOCH + Duration::from_micros(at.max(0).unsigned_abs()));
        let part = Filter { since: time(from), until: time(until), ..filter.clone() };
        has_more |= scan(index, &part, most, &mut take)?;
    }
    Ok(has_more)
}

/// Returns the parts of a time; `None` if all calls are counted one by one.
fn rolled_parts(
    index: &Connection,
    filter: &Filter,
    time: CountedTime,
    few_are_exact: bool,
) -> rusqlite::Result<Option<CountedParts>> {
    if !filter.is_of_rollups() {
        return Ok(None);
    }
    let parts = time.parts(index)?;
    let are_few = few_are_exact && parts.are_few(index)?;
    Ok((!are_few).then_some(parts))
}

/// Returns whether so many calls match the filter that rollups are asked about them.
pub(super) fn are_many(index: &Connection, filter: &Filter) -> rusqlite::Result<bool> {
    Ok(rolled_parts(index, filter, CountedTime::of_filter(filter), true)?.is_some())
}

/// Hands over calls one by one.
fn scan(
    index: &CallIndex,
    filter: &Filter,
    most: Option<usize>,
    take: &mut impl FnMut(CountedCalls<'_>),
) -> Result<bool, Error> {
    let clause = filter.clause(&index.connection)?;
    let newest =
        |most: usize| format!("ORDER BY {} DESC LIMIT {}", clause.order, most.saturating_add(1));
    let newest = most.map(newest);
    let question = format!(
        "SELECT tool, server, caller, outcome, started, duration, bytes FROM {} WHERE {} {}",
        clause.from,
        clause.conditions,
        newest.unwrap_or_default()
    );
    let mut scan = || {
        let mut rows = index.connection.prepare_cached(&question)?;
        let mut rows = rows.query(params_from_iter(&clause.values))?;
        let mut seen = 0;
        while let Some(row) = rows.next()? {
            seen += 1;
            if most.is_some_and(|most| seen > most) {
                return Ok(true);
            }
            take(CountedCalls {
                tool: row.get_ref(0)?.as_str()?,
                server: row.get_ref(1)?.as_str_or_null()?,
                caller: row.get_ref(2)?.as_str_or_null()?,
                outcome: row.get_ref(3)?.as_str_or_null()?,
                started: row.get(4)?,
                calls: 1,
                bytes: row.get::<_, Option<u64>>(6)?.unwrap_or(0),
                durations: CountedDurations::One(row.get(5)?),
            });
        }
        Ok(false)
    };
    scan().map_err(index.tried("read"))
}

/// Hands over the sums of rollups.
fn sum_rollups(
    index: &CallIndex,
    filter: &Filter,
    ranges: &[(i64, i64, i64)],
    take: &mut impl FnMut(CountedCalls<'_>),
) -> Result<(), Error> {
    // The keys have the columns of calls that such a filter needs, but for the time.
    let keys = Filter { since: None, until: None, ..filter.clone() }.clause(&index.connection)?;
    let count = keys.values.len();
    let question = format!(
        "SELECT tool, server, caller, outcome, began, calls, bytes, durations
         FROM rollups JOIN rollup_keys ON id = key
         WHERE {} AND seconds = ?{} AND began >= ?{} AND began < ?{}",
        keys.conditions,
        count + 1,
        count + 2,
        count + 3
    );
    let mut sum = || {
        let mut rows = index.connection.prepare_cached(&question)?;
        for (length, from, until) in ranges {
            for (at, value) in (1..).zip(&keys.values) {
                rows.raw_bind_parameter(at, value)?;
            }
            for (at, number) in (count + 1..).zip([*length, from / SECOND, until / SECOND]) {
                rows.raw_bind_parameter(at, number)?;
            }
            let mut rows = rows.raw_query();
            while let Some(row) = rows.next()? {
                take(CountedCalls {
                    tool: row.get_ref(0)?.as_str()?,
                    server: row.get_ref(1)?.as_str_or_null()?,
                    caller: row.get_ref(2)?.as_str_or_null()?,
                    outcome: row.get_ref(3)?.as_str_or_null()?,
                    started: row.get::<_, i64>(4)? * SECOND,
                    calls: row.get(5)?,
                    bytes: row.get(6)?,
                    durations: CountedDurations::Rollup(DurationHistogram::decode(
                        row.get_ref(7)?.as_blob()?,
                    )),
                });
            }
        }
        Ok(())
    };
    sum().map_err(index.tried("read"))
}

#[cfg(test)]
mod tests;
