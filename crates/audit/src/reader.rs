//! Queries records, from any process.

mod detail;
mod prefix;
mod counting;
mod sums;
mod stats;
mod figures;
mod activity;
mod follow;
mod for_each_call;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{OptionalExtension, Row, params_from_iter};
use switchboard_runtime::artifacts::ArtifactSource;
use switchboard_toolcall::{CallId, ReuseReason, RunTurn};
use tracing::warn;

use crate::{
    artifacts::ArtifactFolder,
    error::Error,
    filter::{self, Filter},
    index::{CallIndex, apart},
    journal,
    key::StoreFolder,
    layout::Layout,
    manifest::Manifest,
    record::{CallOutcome, Record},
};

pub use activity::CallActivity;
pub use figures::{CallFigure, CallFigures, FigureWindow, GroupBy};
pub use follow::RecordFollower;
pub use stats::ToolStats;
pub use sums::{FigureQuery, FigureSums};

pub(crate) use detail::LineReader;

/// Queries records. Each query first indexes what was written since the last one.
pub struct Reader {
    layout: Layout,
    /// `None` while nothing was recorded: queries create no store.
    index: Option<CallIndex>,
    artifacts: ArtifactFolder,
}

/// The columns that [`record`] reads, in its order.
const COLUMNS: &str = "id, tool, server, caller, conversation, outcome, duration, started, bytes, reused, begun, length, arguments, client, profile, shown_as, run, turn";

/// Where a line of the journal is: its segment, offset and length.
pub(crate) type LineLocation = (u64, u64, u64);

impl Reader {
    /// Opens the store in the folder; one that is not there is empty.
    ///
    /// # Errors
    /// The folder cannot be read, or its index was made by a newer version.
    pub fn open(folder: impl Into<StoreFolder>) -> Result<Self, Error> {
        let layout = Layout::new(folder);
        let artifacts = ArtifactFolder::new(layout.artifacts(), u64::MAX);
        let mut reader = Self { layout, index: None, artifacts };
        reader.fresh()?;
        Ok(reader)
    }

    /// Returns the records that match the filter, newest first.
    ///
    /// # Errors
    /// The store cannot be read, or a pattern is invalid.
    pub fn list(&mut self, filter: &Filter) -> Result<Vec<Record>, Error> {
        let found = self.select(filter, COLUMNS)?;
        Ok(self.complete(found))
    }

    /// Like [`list`](Self::list), but of arguments of more than 4 KB there is only the beginning, which is no JSON: the
    /// journal is not read.
    ///
    /// # Errors
    /// The store cannot be read, or a pattern is invalid.
    pub fn list_beginnings(&mut self, filter: &Filter) -> Result<Vec<Record>, Error> {
        let columns = COLUMNS.replace("arguments", "coalesce(arguments, head)");
        let found = self.select(filter, &columns)?;
        Ok(found.into_iter().map(|(record, _)| record).collect())
    }

    fn select(
        &mut self,
        filter: &Filter,
        columns: &str,
    ) -> Result<Vec<(Record, LineLocation)>, Error> {
        let Some(index) = self.fresh()? else { return Ok(Vec::new()) };
        let clause = filter.clause(&index.connection)?;
        let limit = filter.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
        let question = format!(
            "SELECT {columns} FROM {} WHERE {} ORDER BY {} DESC LIMIT {limit}",
            clause.from, clause.conditions, clause.order
        );
        let list = || {
            let mut rows = index.connection.prepare_cached(&question)?;
            rows.query_map(params_from_iter(&clause.values), record)?.collect::<Result<Vec<_>, _>>()
        };
        list().map_err(index.tried("read"))
    }

    /// Returns how many records match the filter.
    ///
    /// # Errors
    /// The store cannot be read, or a pattern is invalid.
    pub fn count(&mut self, filter: &Filter) -> Result<u64, Error> {
        let Some(index) = self.fresh()? else { return Ok(0) };
        let clause = filter.clause(&index.connection)?;
        let question = format!("SELECT count(*) FROM {} WHERE {}", clause.from, clause.conditions);
        let count = || {
            let mut rows = index.connection.prepare_cached(&question)?;
            rows.query_row(params_from_iter(&clause.values), |row| row.get(0))
        };
        count().map_err(index.tried("read"))
    }

    /// Returns when the oldest recorded call began.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(crate) fn oldest(&mut self) -> Result<Option<SystemTime>, Error> {
        let Some(index) = self.fresh()? else { return Ok(None) };
        let question = "SELECT started FROM calls ORDER BY rank LIMIT 1";
        let oldest = index.connection.query_row(question, [], |row| row.get::<_, i64>(0));
        let oldest = oldest.optional().map_err(index.tried("read"))?;
        Ok(oldest.map(|started| UNIX_EPOCH + Duration::from_micros(started.max(0).unsigned_abs())))
    }

    /// Returns the names of all tools that have a record.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn tools(&mut self) -> Result<Vec<String>, Error> {
        let Some(index) = self.fresh()? else { return Ok(Vec::new()) };
        filter::tools(&index.connection).map_err(index.tried("read"))
    }

    /// Returns the names of the tools with records of this caller, or of who calls without a name. Reads the names of which there
    /// are figures, and no record.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn tools_called_by(&mut self, caller: Option<&str>) -> Result<Vec<String>, Error> {
        let Some(index) = self.fresh()? else { return Ok(Vec::new()) };
        let find = || {
            let question = "SELECT DISTINCT tool FROM rollup_keys WHERE caller IS ?1 ORDER BY tool";
            let mut rows = index.connection.prepare_cached(question)?;
            rows.query_map([caller], |row| row.get(0))?.collect::<Result<Vec<_>, _>>()
        };
        find().map_err(index.tried("read"))
    }

    /// Returns the tools and callers whose calls returned an artifact.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(crate) fn sources_of_artifact(&mut self, id: &str) -> Result<Vec<ArtifactSource>, Error> {
        let Some(index) = self.fresh()? else { return Ok(Vec::new()) };
        let find = || {
            let mut rows = index.connection.prepare_cached(
                "SELECT DISTINCT tool, caller FROM artifacts JOIN calls ON calls.id = artifacts.call WHERE artifact = ?1",
            )?;
            let source = |row: &Row<'_>| {
                let (tool, caller): (String, Option<String>) = (row.get(0)?, row.get(1)?);
                Ok(ArtifactSource { tool: tool.into(), caller: caller.map(Into::into) })
            };
            rows.query_map([id.to_ascii_lowercase()], source)?.collect::<Result<Vec<_>, _>>()
        };
        find().map_err(index.tried("read"))
    }

    /// Returns the records with their arguments, read from the journal if they are too long for the index.
    fn complete(&self, found: Vec<(Record, LineLocation)>) -> Vec<Record> {
        let mut lines = LineReader::new(&self.layout);
        let complete = |(mut record, begun): (Record, LineLocation)| {
            detail::complete(&mut record, begun, &mut lines);
            record
        };
        found.into_iter().map(complete).collect()
    }

    /// Indexes what was written since the last query, and marks open calls of dead processes.
    pub(crate) fn fresh(&mut self) -> Result<Option<&mut CallIndex>, Error> {
        let Some(index) = self.repaired()? else { return Ok(None) };
        index.feed()?;
        Ok(Some(index))
    }

    /// The same with about `most` bytes, at most `step` in one transaction. Returns whether there is more that can be fed.
    pub(crate) fn feed_in_steps(&mut self, step: u64, most: u64) -> Result<bool, Error> {
        let Some(index) = self.repaired()? else { return Ok(false) };
        // A damaged line is never fed.
        Ok(index.feed_in_steps(step, most)? > 0 && index.behind()? > step)
    }

    /// Opens the index, and marks open calls of dead processes.
    fn repaired(&mut self) -> Result<Option<&mut CallIndex>, Error> {
        if self.index.is_none() {
            if !self.layout.exists()? {
                return Ok(None);
            }
            self.index = Some(CallIndex::open(&self.layout)?);
        }
        // A process without write permission can still query.
        if let Err(cause) = self.repair() {
            warn!(%cause, "what dead processes left could not be looked after");
        }
        Ok(self.index.as_mut())
    }

    fn repair(&self) -> Result<(), Error> {
        let guard = self.layout.lock()?;
        let mut manifest = Manifest::read(&self.layout)?;
        journal::repair(&self.layout, &mut manifest, &guard).map(|_| ())
    }
}

/// Reads the turn of a run that made the call of a row of [`COLUMNS`].
fn run_turn(row: &Row<'_>) -> rusqlite::Result<Option<RunTurn>> {
    let run = row.get::<_, Option<String>>(16)?.and_then(|run| CallId::parse(&run));
    Ok(run.zip(row.get(17)?).map(|(run, turn)| RunTurn { run, turn }))
}

/// Reads a row of [`COLUMNS`].
fn record(row: &Row<'_>) -> rusqlite::Result<(Record, LineLocation)> {
    let outcome: Option<String> = row.get(5)?;
    let reused: Option<String> = row.get(9)?;
    let id: String = row.get(0)?;
    let record = Record {
        id: CallId::parse(&id).ok_or(rusqlite::Error::InvalidQuery)?,
        tool: row.get(1)?,
        server: row.get(2)?,
        caller: row.get(3)?,
        client: row.get(13)?,
        conversation: row.get(4)?,
        run: run_turn(row)?,
        profile: row.get(14)?,
        shown_as: row.get(15)?,
        arguments: row.get::<_, Option<String>>(12)?.unwrap_or_default(),
        outcome: CallOutcome::parse(outcome.as_deref()),
        duration: row.get::<_, Option<u64>>(6)?.map(Duration::from_nanos),
        started: UNIX_EPOCH + Duration::from_micros(row.get::<_, i64>(7)?.max(0).unsigned_abs()),
        bytes: row.get(8)?,
        reused: reused.and_then(|code| {
            [ReuseReason::Replayed, ReuseReason::Cached, ReuseReason::Shared]
                .into_iter()
                .find(|r| r.code() == code)
        }),
        node: None,
    };
    let (segment, offset) = apart(row.get(10)?);
    Ok((record, (segment, offset, row.get(11)?)))
}
