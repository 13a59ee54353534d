//! Calls on their way into the index: start and end are written as one row if they come soon after each other.

use std::{
    borrow::Cow,
    collections::{HashMap, hash_map::Entry},
    io::Write,
};

use rusqlite::{CachedStatement, OptionalExtension, Statement, Transaction, params};
use switchboard_toolcall::CallId;

use super::{
    rank::{TRIES, apart, place, rank},
    rollups::{COUNTED, CountedCall, RollupChanges},
    search_text,
};
use crate::{
    layout::Layout,
    line::{IndexedEnd, IndexedLine, IndexedOpen, TimeParser},
    reader::{LineLocation, LineReader},
};

/// How many calls are written by one statement, which has a cost of its own.
const TOGETHER: usize = 16;
/// How many columns a row has.
const COLUMNS: usize = 22;

/// A recorded end overrides `outcome_unknown`.
const UPDATE: &str =
    "UPDATE calls SET outcome = ?2, duration = ?3, server = ?4, bytes = ?5, reused = ?6,
     tool = coalesce(?7, tool), ended = ?8, end_length = ?9
     WHERE id = ?1 AND (outcome IS NULL OR outcome = 'outcome_unknown')";

/// The calls of a segment.
pub(super) struct CallRows<'a> {
    change: &'a Transaction<'a>,
    segment: u64,
    insert: CachedStatement<'a>,
    insert_together: CachedStatement<'a>,
    update: CachedStatement<'a>,
    insert_text: CachedStatement<'a>,
    /// What changes in the rollups.
    rollups: RollupChanges,
    /// By how many microseconds a tick was later than the start of its call, at most.
    lead: i64,
    /// The journal, for the beginning of calls that end later.
    journal: LineReader,
    /// A buffer for the text of a call, reused.
    text: String,
    /// Calls that started in an earlier batch and have not ended yet.
    running: HashMap<CallId, CallRow<'static>>,
    clock: TimeParser,
}

/// A line's position and its length.
type LineSpan = (i64, usize);

struct CallRow<'a> {
    begun: IndexedOpen<'a>,
    place: LineSpan,
    line: Cow<'a, [u8]>,
    ended: Option<CallRowEnd<'a>>,
    is_unknown: bool,
}

struct CallRowEnd<'a> {
    end: IndexedEnd<'a>,
    place: LineSpan,
    line: &'a [u8],
}

impl<'a> CallRows<'a> {
    pub(super) fn new(
        change: &'a Transaction<'a>,
        layout: &Layout,
        segment: u64,
    ) -> rusqlite::Result<Self> {
        Ok(Self {
            change,
            segment,
            insert: change.prepare_cached(&insert(1))?,
            insert_together: change.prepare_cached(&insert(TOGETHER))?,
            update: change.prepare_cached(UPDATE)?,
            insert_text: change
                .prepare_cached("INSERT INTO calls_text (rowid, text) VALUES (?1, ?2)")?,
            rollups: RollupChanges::default(),
            lead: 0,
            journal: LineReader::new(layout),
            text: String::new(),
            running: HashMap::new(),
            clock: TimeParser::default(),
        })
    }

    /// Takes lines, each with its position after `from`. Returns how many there were.
    pub(super) fn take<'t>(
        &mut self,
        from: u64,
        lines: impl Iterator<Item = (u64, &'t [u8])>,
    ) -> rusqlite::Result<u64> {
        let (mut begun, mut over) = (OrderedParams::default(), Vec::new());
        let mut count = 0;
        for (at, line) in lines {
            count += 1;
            let place = (place(self.segment, from + at), line.len());
            match IndexedLine::read(line, &mut self.clock) {
                IndexedLine::Open(call) => {
                    self.lead = self.lead.max(call.lead());
                    begun.add(call, place, line);
                }
                IndexedLine::End(end) => {
                    let id = end.id;
                    let ended = CallRowEnd { end, place, line };
                    match begun.find(id) {
                        Some(call) => _ = call.ended.get_or_insert(ended),
                        None => over.extend(self.end(ended)?),
                    }
                }
                IndexedLine::Unknown(id) => match begun.find(id) {
                    Some(call) => call.is_unknown = true,
                    None => self.mark_unknown(id)?,
                },
                // Damaged lines are reported by `verify`.
                IndexedLine::Other => {}
            }
        }
        for call in begun.calls {
            match call.ended.is_some() || call.is_unknown {
                true => over.push(call),
                false => _ = self.running.insert(call.begun.id, call.into_running()),
            }
        }
        self.write(over)?;
        Ok(count)
    }

    /// Writes the calls that have not ended, too, and the rollups. Returns by how many microseconds a tick was later than
    /// the start of its call, at most.
    pub(super) fn finish(mut self) -> rusqlite::Result<i64> {
        let running = std::mem::take(&mut self.running);
        self.write(running.into_values().collect())?;
        self.rollups.write(self.change)?;
        Ok(self.lead)
    }

    /// Returns the ended call if it is not in the index yet.
    fn end<'t>(&mut self, ended: CallRowEnd<'t>) -> rusqlite::Result<Option<CallRow<'t>>> {
        let Some(running) = self.running.remove(&ended.end.id) else {
            return self.update(&ended).map(|()| None);
        };
        Ok(Some(CallRow { ended: Some(ended), is_unknown: false, ..running }))
    }

    fn write(&mut self, mut calls: Vec<CallRow<'_>>) -> rusqlite::Result<()> {
        calls.sort_unstable_by_key(|call| call.begun.tick);
        for calls in calls.chunks(TOGETHER) {
            if calls.len() < TOGETHER || !self.are_new(calls)? {
                calls.iter().try_for_each(|call| self.write_alone(call))?;
            }
            let ended = calls.iter().filter_map(|call| call.ended.as_ref());
            for ended in ended.filter(|ended| !ended.end.artifacts.is_empty()) {
                self.name_artifacts(&ended.end)?;
            }
        }
        Ok(())
    }

    /// Writes the batched calls. Returns `false` if some were there already, or their ranks are taken.
    fn are_new(&mut self, calls: &[CallRow<'_>]) -> rusqlite::Result<bool> {
        let rank = |call: &CallRow<'_>| rank(call.begun.tick, self.segment);
        for (number, call) in calls.iter().enumerate() {
            call.bind(rank(call), &mut self.insert_together, number * COLUMNS)?;
        }
        if self.insert_together.raw_execute()? != calls.len() {
            return Ok(false);
        }
        let ranks: Vec<_> = calls.iter().map(rank).collect();
        calls.iter().zip(ranks).try_for_each(|(call, rank)| self.written(call, rank))?;
        Ok(true)
    }

    fn write_alone(&mut self, call: &CallRow<'_>) -> rusqlite::Result<()> {
        let rank = rank(call.begun.tick, self.segment);
        call.bind(rank, &mut self.insert, 0)?;
        match self.insert.raw_execute()? {
            0 => self.insert_beside(call, rank),
            _ => self.written(call, rank),
        }
    }

    /// Writes a call whose rank is taken, unless it is there already.
    fn insert_beside(&mut self, call: &CallRow<'_>, rank: i64) -> rusqlite::Result<()> {
        let mut same = self.change.prepare_cached("SELECT rank, begun FROM calls WHERE id = ?1")?;
        let same = same.query_row([IdText::of(call.begun.id).as_str()], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)?))
        });
        match same.optional()? {
            // A line is read once: the statement for several calls has just written it.
            Some((rank, begun)) if begun == call.place.0 => return self.written(call, rank),
            Some(_) => return Ok(()),
            None => {}
        }
        for next in (rank..rank.saturating_add(TRIES)).skip(1) {
            call.bind(next, &mut self.insert, 0)?;
            if self.insert.raw_execute()? > 0 {
                return self.written(call, next);
            }
        }
        Ok(())
    }

    /// Adds what belongs to a new row.
    fn written(&mut self, call: &CallRow<'_>, rank: i64) -> rusqlite::Result<()> {
        self.rollups.add(&call.counted());
        self.text.clear();
        search_text::collect(&call.line, &mut self.text);
        if let Some(ended) = &call.ended {
            search_text::collect(ended.line, &mut self.text);
        }
        search_text::collect_outcome(call.counted().outcome, &mut self.text);
        self.insert_text.execute(params![rank, self.text]).map(|_| ())
    }

    /// Adds the end of a call that is in the index.
    fn update(&mut self, ended: &CallRowEnd<'_>) -> rusqlite::Result<()> {
        let CallRowEnd { end, place, line } = ended;
        let id = IdText::of(end.id);
        let mut row = self.change.prepare_cached(&format!(
            "SELECT {COUNTED}, rank, begun, length FROM calls
             WHERE id = ?1 AND (outcome IS NULL OR outcome = 'outcome_unknown')"
        ))?;
        let rollups = &mut self.rollups;
        let found = row.query_row([id.as_str()], |row| {
            let call = CountedCall::of(row)?;
            rollups.remove(&call);
            rollups.add(&CountedCall {
                tool: end.found.as_deref().unwrap_or(call.tool),
                server: end.server.as_deref(),
                outcome: Some(&end.outcome),
                duration: Some(end.duration_ns),
                bytes: Some(end.bytes),
                ..call
            });
            let (segment, offset) = apart(row.get(8)?);
            Ok((row.get::<_, i64>(7)?, (segment, offset, row.get(9)?)))
        });
        if let Some((rank, begun)) = found.optional()? {
            self.update.execute(params![
                id.as_str(),
                &*end.outcome,
                end.duration_ns,
                end.server.as_deref(),
                end.bytes,
                end.reused.map(|reused| reused.code()),
                end.found.as_deref(),
                place.0,
                place.1,
            ])?;
            self.rewrite_text(rank, begun, line, &end.outcome)?;
        }
        self.name_artifacts(end)
    }

    /// Replaces the words of a call that is in the index.
    fn rewrite_text(
        &mut self,
        rank: i64,
        begun: LineLocation,
        end: &[u8],
        outcome: &str,
    ) -> rusqlite::Result<()> {
        // If its beginning cannot be read, `verify` reports that, and the words of the beginning stay.
        let Ok(begun) = self.journal.read(begun) else { return Ok(()) };
        self.text.clear();
        search_text::collect(&begun, &mut self.text);
        search_text::collect(end, &mut self.text);
        search_text::collect_outcome(Some(outcome), &mut self.text);
        let delete = "DELETE FROM calls_text WHERE rowid = ?1";
        self.change.prepare_cached(delete)?.execute([rank])?;
        self.insert_text.execute(params![rank, self.text]).map(|_| ())
    }

    fn mark_unknown(&mut self, id: CallId) -> rusqlite::Result<()> {
        if let Some(call) = self.running.get_mut(&id) {
            call.is_unknown = true;
            return Ok(());
        }
        const UNKNOWN: &str = "outcome_unknown";
        let id = IdText::of(id);
        let mut row = self.change.prepare_cached(&format!(
            "SELECT {COUNTED}, rank, begun, length FROM calls WHERE id = ?1 AND outcome IS NULL"
        ))?;
        let rollups = &mut self.rollups;
        let found = row.query_row([id.as_str()], |row| {
            let call = CountedCall::of(row)?;
            rollups.remove(&call);
            rollups.add(&CountedCall { outcome: Some(UNKNOWN), ..call });
            let (segment, offset) = apart(row.get(8)?);
            Ok((row.get::<_, i64>(7)?, (segment, offset, row.get(9)?)))
        });
        if let Some((rank, begun)) = found.optional()? {
            self.rewrite_text(rank, begun, b"", UNKNOWN)?;
            let mut row = self.change.prepare_cached(
                "UPDATE calls SET outcome = ?2 WHERE id = ?1 AND outcome IS NULL",
            )?;
            row.execute([id.as_str(), UNKNOWN])?;
        }
        Ok(())
    }

    fn name_artifacts(&self, ended: &IndexedEnd<'_>) -> rusqlite::Result<()> {
        for artifact in &ended.artifacts {
            let mut row = self
                .change
                .prepare_cached("INSERT OR IGNORE INTO artifacts VALUES (?1, ?2, ?3)")?;
            row.execute(params![artifact.id, self.segment, IdText::of(ended.id).as_str()])?;
        }
        Ok(())
    }
}

/// Returns a statement that writes so many rows.
fn insert(rows: usize) -> String {
    let row = format!("({})", ["?"; COLUMNS].join(", "));
    format!("INSERT OR IGNORE INTO calls VALUES {}", vec![row; rows].join(", "))
}

impl CallRow<'_> {
    /// Binds the columns of its row to the parameters after `before`.
    fn bind(&self, rank: i64, to: &mut Statement<'_>, before: usize) -> rusqlite::Result<()> {
        let Self { begun, place, ended, is_unknown, .. } = self;
        let ended_at = ended.as_ref().map(|ended| ended.place);
        let ended = ended.as_ref().map(|ended| &ended.end);
        let found = ended.and_then(|ended| ended.found.as_deref());
        let unknown = is_unknown.then_some("outcome_unknown");
        to.raw_bind_parameter(before + 1, rank)?;
        to.raw_bind_parameter(before + 2, IdText::of(begun.id).as_str())?;
        to.raw_bind_parameter(before + 3, begun.started)?;
        to.raw_bind_parameter(before + 4, found.unwrap_or(&begun.tool))?;
        to.raw_bind_parameter(before + 5, ended.and_then(|ended| ended.server.as_deref()))?;
        to.raw_bind_parameter(before + 6, begun.caller.as_deref())?;
        to.raw_bind_parameter(before + 7, begun.client.as_deref())?;
        to.raw_bind_parameter(before + 8, begun.conversation.as_deref())?;
        to.raw_bind_parameter(before + 9, ended.map(|ended| &*ended.outcome).or(unknown))?;
        to.raw_bind_parameter(before + 10, ended.map(|ended| ended.duration_ns))?;
        to.raw_bind_parameter(before + 11, ended.map(|ended| ended.bytes))?;
        let reused = ended.and_then(|ended| ended.reused).map(|reused| reused.code());
        to.raw_bind_parameter(before + 12, reused)?;
        to.raw_bind_parameter(before + 13, place.0)?;
        to.raw_bind_parameter(before + 14, place.1)?;
        to.raw_bind_parameter(before + 15, ended_at.map(|place| place.0))?;
        to.raw_bind_parameter(before + 16, ended_at.map(|place| place.1))?;
        to.raw_bind_parameter(before + 17, begun.arguments.as_deref())?;
        to.raw_bind_parameter(before + 18, begun.head.as_deref())?;
        to.raw_bind_parameter(before + 19, begun.shown_as.as_deref())?;
        to.raw_bind_parameter(before + 20, begun.profile.as_deref())?;
        let run = begun.run.map(|turn| IdText::of(turn.run));
        to.raw_bind_parameter(before + 21, run.as_ref().map(IdText::as_str))?;
        to.raw_bind_parameter(before + COLUMNS, begun.run.map(|turn| turn.turn))
    }

    /// Returns it without the text it was read from, for a call that has not ended there.
    fn into_running(self) -> CallRow<'static> {
        let Self { begun, place, line, is_unknown, .. } = self;
        let line = Cow::Owned(line.into_owned());
        CallRow { begun: begun.into_owned(), place, line, ended: None, is_unknown }
    }

    /// Returns what rollups keep of it.
    fn counted(&self) -> CountedCall<'_> {
        let end = self.ended.as_ref().map(|ended| &ended.end);
        let unknown = self.is_unknown.then_some("outcome_unknown");
        CountedCall {
            tool: end.and_then(|end| end.found.as_deref()).unwrap_or(&self.begun.tool),
            server: end.and_then(|end| end.server.as_deref()),
            caller: self.begun.caller.as_deref(),
            outcome: end.map(|end| &*end.outcome).or(unknown),
            started: self.begun.started,
            duration: end.map(|end| end.duration_ns),
            bytes: end.map(|end| end.bytes),
        }
    }
}

/// Calls in start order, which is the order of their rows.
#[derive(Default)]
struct OrderedParams<'a> {
    calls: Vec<CallRow<'a>>,
    by_id: HashMap<CallId, usize>,
}

impl<'a> OrderedParams<'a> {
    fn add(&mut self, begun: IndexedOpen<'a>, place: LineSpan, line: &'a [u8]) {
        if let Entry::Vacant(entry) = self.by_id.entry(begun.id) {
            entry.insert(self.calls.len());
            let line = Cow::Borrowed(line);
            self.calls.push(CallRow { begun, place, line, ended: None, is_unknown: false });
        }
    }

    fn find(&mut self, id: CallId) -> Option<&mut CallRow<'a>> {
        self.calls.get_mut(*self.by_id.get(&id)?)
    }
}

/// Formats an id without allocating.
struct IdText([u8; 26]);

impl IdText {
    fn of(id: CallId) -> Self {
        let mut text = [0; 26];
        // An id has exactly so many characters.
        _ = write!(&mut text[..], "{id}");
        Self(text)
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rusqlite::Connection;

    use super::*;
    use crate::index::schema;

    /// Feeds lines that open calls, all with the same tick, and returns how many rows there are.
    fn check(segments: &[(u64, Vec<CallId>)]) -> usize {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&connection, Path::new("memory")).unwrap();
        let layout = Layout::new(Path::new("none"));
        let change = connection.transaction().unwrap();
        for (segment, ids) in segments {
            let line = |id| {
                let at = "2026-07-28T10:00:00Z";
                format!(
                    "{{\"open\":\"{id}\",\"at\":\"{at}\",\"tool\":\"t\",\"arguments\":{{}},\"tick\":7}}"
                )
            };
            let lines: Vec<_> = ids.iter().map(line).collect();
            let mut calls = CallRows::new(&change, &layout, *segment).unwrap();
            let count = calls.take(0, lines.iter().map(|line| (0, line.as_bytes()))).unwrap();
            assert_eq!(count, ids.len() as u64);
            calls.finish().unwrap();
        }
        change.query_row("SELECT count(*) FROM calls", [], |row| row.get(0)).unwrap()
    }

    fn ids(count: usize) -> Vec<CallId> {
        (0..count).map(|_| CallId::generate()).collect()
    }

    #[test]
    fn calls_of_one_moment_all_have_a_row() {
        assert_eq!(check(&[(1, ids(1)), (2, ids(1))]), 2);
        // These want the same rank.
        assert_eq!(check(&[(1, ids(1)), (1025, ids(1))]), 2);
        assert_eq!(check(&[(1, ids(40))]), 40);
        assert_eq!(check(&[(1, ids(TOGETHER)), (1025, ids(TOGETHER * 3))]), TOGETHER * 4);
    }

    #[test]
    fn a_call_has_one_row_however_often_it_is_fed() {
        let ids = ids(TOGETHER + 1);
        assert_eq!(check(&[(1, ids.clone()), (1, ids.clone()), (2, ids)]), TOGETHER + 1);
    }
}
