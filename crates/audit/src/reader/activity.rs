//! The distribution of calls over time.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rusqlite::params_from_iter;

use super::{
    Reader,
    counting::{are_many, days},
};
use crate::{
    error::Error,
    filter::Filter,
    index::{CallIndex, LENGTHS, SECOND},
    line::microseconds,
};

/// How many calls of each tool began when.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallActivity {
    /// When the first one began.
    pub from: SystemTime,
    /// When the last one began.
    pub until: SystemTime,
    /// The counts by tool, for equal parts of that time.
    pub calls: BTreeMap<String, Vec<u64>>,
}

impl Reader {
    /// Returns how the calls that match the filter are spread over time. `None` if there are none. Of more than 10,000
    /// calls, times are those of whole minutes, hours or days.
    ///
    /// # Errors
    /// The store cannot be read, or a pattern is invalid.
    pub fn activity(
        &mut self,
        filter: &Filter,
        parts: usize,
    ) -> Result<Option<CallActivity>, Error> {
        let Some(index) = self.fresh()? else { return Ok(None) };
        if are_many(&index.connection, filter).map_err(index.tried("read"))? {
            return rolled(index, filter, parts.max(1));
        }
        let clause = filter.clause(&index.connection)?;
        let (conditions, parts, table) = (&clause.conditions, parts.max(1), clause.from);
        let count = || {
            let ends = format!("SELECT min(started), max(started) FROM {table} WHERE {conditions}");
            let ends =
                index.connection.query_row(&ends, params_from_iter(&clause.values), |row| {
                    Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?))
                })?;
            let (Some(from), Some(until)) = ends else { return Ok(None) };
            let span = until - from + 1;
            let question = format!(
                "SELECT tool, (started - {from}) * {parts} / {span} AS part, count(*) FROM {table}
                 WHERE {conditions} GROUP BY tool, part"
            );
            let mut calls = BTreeMap::<String, Vec<u64>>::new();
            let mut rows = index.connection.prepare(&question)?;
            let mut rows = rows.query(params_from_iter(&clause.values))?;
            while let Some(row) = rows.next()? {
                let counts = calls.entry(row.get(0)?).or_insert_with(|| vec![0; parts]);
                if let Some(count) = counts.get_mut(row.get::<_, usize>(1)?) {
                    *count = row.get(2)?;
                }
            }
            Ok(Some(CallActivity { from: time(from), until: time(until), calls }))
        };
        count().map_err(index.tried("read"))
    }
}

fn time(at: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(at.max(0).unsigned_abs())
}

/// Counts by rollups: those of the longest kind that is not longer than a part.
fn rolled(index: &CallIndex, filter: &Filter, parts: usize) -> Result<Option<CallActivity>, Error> {
    let keys = Filter { since: None, until: None, ..filter.clone() }.clause(&index.connection)?;
    let signed = |time| i64::try_from(microseconds(time)).unwrap_or(i64::MAX) / SECOND;
    let count = || {
        let Some((first, last)) = days(&index.connection)? else { return Ok(None) };
        let from = filter.since.map_or(i64::MIN, signed).max(first / SECOND);
        let until = filter.until.map_or(i64::MAX, signed).min(last / SECOND);
        let columns = |columns: &str, length: i64, from: i64, until: i64| {
            format!(
                "SELECT {columns} FROM rollups JOIN rollup_keys ON id = key WHERE {} AND seconds = {length}
                 AND began > {} AND began < {until}",
                keys.conditions,
                from.saturating_sub(length),
            )
        };
        let values = || params_from_iter(&keys.values);
        let ends = |length, from, until| {
            let ends = columns("min(began), max(began)", length, from, until);
            index.connection.query_row(&ends, values(), |row| {
                Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?))
            })
        };
        // The hours first: there are few of them, and only two have to be looked at by the minute.
        let (Some(first), Some(last)) = ends(3600, from, until)? else { return Ok(None) };
        let (begin, _) = ends(60, from.max(first), until.min(first + 3600))?;
        let (_, end) = ends(60, from.max(last), until.min(last + 3600))?;
        let (begin, end) = (begin.unwrap_or(first), end.map_or(last + 3600, |end| end + 60));
        let span = end - begin;
        let wanted = span / i64::try_from(parts).unwrap_or(i64::MAX);
        let length = LENGTHS.into_iter().find(|length| *length <= wanted).unwrap_or(60);
        let question = columns("tool, began, calls", length, begin.max(from), end);
        let mut calls = BTreeMap::<String, Vec<u64>>::new();
        let mut rows = index.connection.prepare(&question)?;
        let mut rows = rows.query(values())?;
        while let Some(row) = rows.next()? {
            let tool = row.get_ref(0)?.as_str()?;
            if !calls.contains_key(tool) {
                calls.insert(tool.to_owned(), vec![0; parts]);
            }
            let at = (row.get::<_, i64>(1)? - begin).max(0);
            let part =
                usize::try_from(at).unwrap_or(0) * parts / usize::try_from(span).unwrap_or(1);
            if let Some(count) = calls.get_mut(tool).and_then(|counts| counts.get_mut(part)) {
                *count += row.get::<_, u64>(2)?;
            }
        }
        let until = time(end * SECOND).min(SystemTime::now());
        Ok(Some(CallActivity { from: time(begin * SECOND), until, calls }))
    };
    count().map_err(index.tried("read"))
}
