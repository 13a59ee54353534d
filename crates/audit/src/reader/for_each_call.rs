//! All calls that match a filter, one at a time, however many there are.

use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension, params_from_iter, types::Value};

use super::{COLUMNS, LineReader, Reader, detail::FoundCall};
use crate::{
    error::Error,
    filter::{Clause, Filter},
    record::CallDetail,
};

/// How many rows are read at once.
const PAGE: usize = 500;

impl Reader {
    /// Hands over everything about the calls that match the filter now, oldest first, until `take` breaks. With a `limit`,
    /// those are the newest. Calls that retention deletes meanwhile are left out.
    ///
    /// # Errors
    /// The store cannot be read, a pattern is invalid, or a call's lines are damaged.
    pub fn for_each_call(
        &mut self,
        filter: &Filter,
        mut take: impl FnMut(CallDetail) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let Some(index) = self.fresh()? else { return Ok(()) };
        let mut clause = filter.clause(&index.connection)?;
        let ends = ends(&index.connection, &clause, filter.limit).map_err(index.tried("read"))?;
        let Some((mut next, last)) = ends else { return Ok(()) };
        let (from, order, bounds) = (clause.from, clause.order, clause.values.len());
        let question = format!(
            "SELECT {COLUMNS}, {}, {order} FROM {from} WHERE {} AND {order} >= ?{} AND {order} <= ?{}
             ORDER BY {order} LIMIT {PAGE}",
            FoundCall::COLUMNS,
            clause.conditions,
            bounds + 1,
            bounds + 2
        );
        let mut lines = LineReader::new(&self.layout);
        loop {
            let Some(index) = &self.index else { return Ok(()) };
            clause.values.truncate(bounds);
            clause.values.extend([Value::from(next), Value::from(last)]);
            let page = || {
                let mut rows = index.connection.prepare_cached(&question)?;
                let found = rows.query_map(params_from_iter(&clause.values), |row| {
                    Ok((row.get::<_, i64>(20)?, FoundCall::read(row)?))
                })?;
                found.collect::<Result<Vec<_>, _>>()
            };
            let page = page().map_err(index.tried("read"))?;
            let Some((read, _)) = page.last() else { return Ok(()) };
            next = read.saturating_add(1);
            for (_, found) in page {
                let id = found.record.id;
                let detail = match self.detail(found, &mut lines) {
                    Ok(detail) => detail,
                    // It may have been deleted since, or be elsewhere now.
                    Err(_) => self.show(id)?,
                };
                if detail.is_some_and(|detail| take(detail).is_break()) {
                    return Ok(());
                }
            }
        }
    }
}

/// Returns the places of the oldest and the newest of the calls, of the newest `limit` if it is set.
fn ends(
    index: &Connection,
    clause: &Clause,
    limit: Option<usize>,
) -> rusqlite::Result<Option<(i64, i64)>> {
    let Clause { from, order, conditions, values } = clause;
    let newest = |behind: usize| {
        let question = format!(
            "SELECT {order} FROM {from} WHERE {conditions} ORDER BY {order} DESC LIMIT 1 OFFSET {behind}"
        );
        let found = index.prepare(&question)?.query_row(params_from_iter(values), |row| row.get(0));
        found.optional()
    };
    let Some(last) = newest(0)? else { return Ok(None) };
    match limit {
        Some(0) => Ok(None),
        Some(most) => Ok(Some((newest(most - 1)?.unwrap_or(i64::MIN), last))),
        None => Ok(Some((i64::MIN, last))),
    }
}
