//! The distribution of calls over time.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rusqlite::params_from_iter;

use super::Reader;
use crate::{error::Error, filter::Filter};

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
    /// Returns how the calls that match the filter are spread over time. `None` if there are none.
    ///
    /// # Errors
    /// The store cannot be read, or a pattern is invalid.
    pub fn activity(
        &mut self,
        filter: &Filter,
        parts: usize,
    ) -> Result<Option<CallActivity>, Error> {
        let Some(index) = self.fresh()? else { return Ok(None) };
        let clause = filter.clause(&index.connection)?;
        let (conditions, parts) = (&clause.conditions, parts.max(1));
        let count = || {
            let ends = format!("SELECT min(started), max(started) FROM calls WHERE {conditions}");
            let ends =
                index.connection.query_row(&ends, params_from_iter(&clause.values), |row| {
                    Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?))
                })?;
            let (Some(from), Some(until)) = ends else { return Ok(None) };
            let span = until - from + 1;
            let question = format!(
                "SELECT tool, (started - {from}) * {parts} / {span} AS part, count(*) FROM calls
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
            let time = |at: i64| UNIX_EPOCH + Duration::from_micros(at.max(0).unsigned_abs());
            Ok(Some(CallActivity { from: time(from), until: time(until), calls }))
        };
        count().map_err(index.tried("read"))
    }
}
