//! Calls whose content retention removes: they leave the index, but their figures stay.

use rusqlite::{Connection, params};

use super::{CallIndex, LENGTHS, SECOND, apart, first_rank, last_rank, place};
use crate::{error::Error, reader::LineLocation};

/// A call that has ended, and where its lines are.
pub(crate) struct EndedCall {
    rank: i64,
    started: i64,
    pub(crate) begun: LineLocation,
    pub(crate) ended: Option<LineLocation>,
}

impl EndedCall {
    /// Returns the segments that its lines are in.
    pub(crate) fn segments(&self) -> impl Iterator<Item = u64> {
        [Some(self.begun), self.ended].into_iter().flatten().map(|(segment, ..)| segment)
    }
}

/// How many calls leave the index in one transaction: others wait for its end.
const TOGETHER: usize = 1000;

impl CallIndex {
    /// Returns the ended calls of a tool that began in a segment, whose ticks are between these.
    pub(crate) fn ended_calls(
        &self,
        tool: &str,
        segment: u64,
        (from, until): (u64, u64),
    ) -> Result<Vec<EndedCall>, Error> {
        let find = || {
            let mut rows = self.connection.prepare_cached(
                "SELECT rank, started, begun, length, ended, end_length FROM calls INDEXED BY calls_by_tool
                 WHERE tool = ?1 AND rank >= ?2 AND rank <= ?3 AND begun >= ?4 AND begun < ?5
                 AND outcome IS NOT NULL",
            )?;
            let (begin, end) = (place(segment, 0), place(segment + 1, 0));
            let parameters = params![tool, first_rank(from), last_rank(until), begin, end];
            let call = |row: &rusqlite::Row<'_>| {
                let (segment, offset) = apart(row.get(2)?);
                let begun = (segment, offset, row.get(3)?);
                let ended = match row.get::<_, Option<i64>>(4)?.map(apart) {
                    Some((segment, offset)) => Some((segment, offset, row.get(5)?)),
                    None => None,
                };
                Ok(EndedCall { rank: row.get(0)?, started: row.get(1)?, begun, ended })
            };
            rows.query_map(parameters, call)?.collect::<Result<Vec<_>, _>>()
        };
        find().map_err(self.tried("read"))
    }

    /// Deletes calls of a segment, but for their figures.
    pub(crate) fn remove_calls(&mut self, segment: u64, calls: &[EndedCall]) -> Result<(), Error> {
        for calls in calls.chunks(TOGETHER) {
            let tried = self.tried("change");
            let mut remove = || {
                let change = self.connection.transaction()?;
                remove_calls(&change, segment, calls)?;
                change.commit()
            };
            remove().map_err(tried)?;
        }
        Ok(())
    }

    /// Deletes the figures of times that ended before `tick`: what is left of them is of calls that were removed.
    pub(crate) fn forget_figures(&mut self, tick: u64) -> Result<(), Error> {
        let tried = self.tried("change");
        let before = i64::try_from(tick).unwrap_or(i64::MAX) / SECOND;
        let mut forget = || {
            let change = self.connection.transaction()?;
            for length in LENGTHS {
                let old = "DELETE FROM rollups WHERE seconds = ?1 AND began < ?2";
                change.execute(old, [length, before - length])?;
            }
            change.execute(
                "DELETE FROM rollup_keys WHERE NOT EXISTS (SELECT 1 FROM rollups WHERE seconds = 86400 AND key = id)",
                [],
            )?;
            change.commit()
        };
        forget().map_err(tried)
    }
}

/// Deletes calls of a segment, but for their figures.
pub(crate) fn remove_calls(
    change: &Connection,
    segment: u64,
    calls: &[EndedCall],
) -> rusqlite::Result<()> {
    change.execute_batch(
        "CREATE TEMP TABLE IF NOT EXISTS removed_ranks (rank INTEGER PRIMARY KEY); DELETE FROM removed_ranks",
    )?;
    let mut insert = change.prepare_cached("INSERT INTO removed_ranks VALUES (?1)")?;
    for call in calls {
        insert.execute([call.rank])?;
    }
    change.execute_batch(
        "DELETE FROM artifacts WHERE call IN (SELECT id FROM calls JOIN removed_ranks USING (rank));
         DELETE FROM calls_text WHERE rowid IN (SELECT rank FROM removed_ranks);
         DELETE FROM calls WHERE rank IN (SELECT rank FROM removed_ranks)",
    )?;
    let Some(until) = calls.iter().map(|call| call.started).max() else { return Ok(()) };
    change.execute(
        "INSERT INTO removals VALUES (?1, ?2) ON CONFLICT DO UPDATE SET until = max(until, ?2)",
        params![segment, until],
    )?;
    Ok(())
}

/// Returns until when calls began that were removed, in microseconds since 1970. Until then only rollups have all calls.
pub(crate) fn removed_until(index: &Connection) -> rusqlite::Result<Option<i64>> {
    index.prepare_cached("SELECT max(until) FROM removals")?.query_row([], |row| row.get(0))
}
