//! Calls on their way into the index: beginning and end are written as one row where they come soon after each other.

use std::{
    collections::{HashMap, hash_map::Entry},
    io::Write,
};

use rusqlite::{CachedStatement, Transaction, params};
use switchboard_toolcall::CallId;

use super::place::{TRIES, place, rank};
use crate::line::{Begun, Brief, Clock, Ended};

const INSERT: &str = "INSERT OR IGNORE INTO calls
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";

/// An end that was written is truer than the guess that there is none.
const UPDATE: &str =
    "UPDATE calls SET outcome = ?2, duration = ?3, server = ?4, bytes = ?5, reused = ?6,
     tool = coalesce(?7, tool), ended = ?8, end_length = ?9
     WHERE id = ?1 AND (outcome IS NULL OR outcome = 'outcome_unknown')";

/// The calls of a segment.
pub(super) struct Calls<'a> {
    change: &'a Transaction<'a>,
    segment: u64,
    insert: CachedStatement<'a>,
    update: CachedStatement<'a>,
    /// Those that began in what was taken before, and have not ended yet.
    running: HashMap<CallId, Call<'static>>,
    clock: Clock,
}

/// A line's place and its length.
type Place = (i64, usize);

struct Call<'a> {
    begun: Begun<'a>,
    place: Place,
    ended: Option<(Ended<'a>, Place)>,
    is_unknown: bool,
}

impl<'a> Calls<'a> {
    pub(super) fn new(change: &'a Transaction<'a>, segment: u64) -> rusqlite::Result<Self> {
        Ok(Self {
            change,
            segment,
            insert: change.prepare_cached(INSERT)?,
            update: change.prepare_cached(UPDATE)?,
            running: HashMap::new(),
            clock: Clock::default(),
        })
    }

    /// Takes lines, each with where it begins behind `from`; returns how many there were.
    pub(super) fn take<'t>(
        &mut self,
        from: u64,
        lines: impl Iterator<Item = (u64, &'t [u8])>,
    ) -> rusqlite::Result<u64> {
        let mut begun = InOrder::default();
        let mut count = 0;
        for (at, line) in lines {
            count += 1;
            let place = (place(self.segment, from + at), line.len());
            match Brief::read(line, &mut self.clock) {
                Brief::Open(call) => begun.add(call, place),
                Brief::End(ended) => match begun.find(ended.id) {
                    Some(call) => _ = call.ended.get_or_insert((ended, place)),
                    None => self.end(ended, place)?,
                },
                Brief::Unknown(id) => match begun.find(id) {
                    Some(call) => call.is_unknown = true,
                    None => self.mark_unknown(id)?,
                },
                // What cannot be read is `verify`'s to report.
                Brief::Other => {}
            }
        }
        for call in begun.calls {
            match call.ended.is_some() || call.is_unknown {
                true => self.write(&call)?,
                false => _ = self.running.insert(call.begun.id, call.into_running()),
            }
        }
        Ok(count)
    }

    /// Writes those that have not ended, too.
    pub(super) fn finish(mut self) -> rusqlite::Result<()> {
        let mut running: Vec<_> = std::mem::take(&mut self.running).into_values().collect();
        running.sort_unstable_by_key(|call| call.begun.tick);
        running.iter().try_for_each(|call| self.write(call))
    }

    /// The end of a call that began before.
    fn end(&mut self, ended: Ended<'_>, place: Place) -> rusqlite::Result<()> {
        match self.running.remove(&ended.id) {
            Some(Call { begun, place: began, .. }) => {
                let ended = Some((ended, place));
                self.write(&Call { begun, place: began, ended, is_unknown: false })
            }
            None => self.update(&ended, place),
        }
    }

    fn write(&mut self, call: &Call<'_>) -> rusqlite::Result<()> {
        let rank = rank(call.begun.tick, self.segment);
        if self.insert(call, rank)? == 0 {
            self.insert_beside(call, rank)?;
        }
        match &call.ended {
            Some((ended, _)) => self.name_artifacts(ended),
            None => Ok(()),
        }
    }

    fn insert(&mut self, call: &Call<'_>, rank: i64) -> rusqlite::Result<usize> {
        let Call { begun, place, ended, is_unknown } = call;
        let ended_at = ended.as_ref().map(|(_, place)| *place);
        let ended = ended.as_ref().map(|(ended, _)| ended);
        let found = ended.and_then(|ended| ended.found.as_deref());
        let unknown = is_unknown.then_some("outcome_unknown");
        self.insert.execute(params![
            rank,
            IdText::of(begun.id).as_str(),
            begun.started,
            found.unwrap_or(&begun.tool),
            ended.and_then(|ended| ended.server.as_deref()),
            begun.caller.as_deref(),
            begun.conversation.as_deref(),
            ended.map(|ended| &*ended.outcome).or(unknown),
            ended.map(|ended| ended.duration_ns),
            ended.map(|ended| ended.bytes),
            ended.and_then(|ended| ended.reused).map(|reused| reused.code()),
            place.0,
            place.1,
            ended_at.map(|place| place.0),
            ended_at.map(|place| place.1),
        ])
    }

    /// Writes a call whose rank is taken, unless it is there already.
    fn insert_beside(&mut self, call: &Call<'_>, rank: i64) -> rusqlite::Result<()> {
        let mut same = self.change.prepare_cached("SELECT 1 FROM calls WHERE id = ?1")?;
        if same.exists([IdText::of(call.begun.id).as_str()])? {
            return Ok(());
        }
        for next in (rank..rank.saturating_add(TRIES)).skip(1) {
            if self.insert(call, next)? > 0 {
                break;
            }
        }
        Ok(())
    }

    fn update(&mut self, ended: &Ended<'_>, place: Place) -> rusqlite::Result<()> {
        self.update.execute(params![
            IdText::of(ended.id).as_str(),
            &*ended.outcome,
            ended.duration_ns,
            ended.server.as_deref(),
            ended.bytes,
            ended.reused.map(|reused| reused.code()),
            ended.found.as_deref(),
            place.0,
            place.1,
        ])?;
        self.name_artifacts(ended)
    }

    fn mark_unknown(&mut self, id: CallId) -> rusqlite::Result<()> {
        if let Some(call) = self.running.get_mut(&id) {
            call.is_unknown = true;
            return Ok(());
        }
        let mut row = self.change.prepare_cached(
            "UPDATE calls SET outcome = 'outcome_unknown' WHERE id = ?1 AND outcome IS NULL",
        )?;
        row.execute([IdText::of(id).as_str()]).map(|_| ())
    }

    fn name_artifacts(&self, ended: &Ended<'_>) -> rusqlite::Result<()> {
        for artifact in &ended.artifacts {
            let mut row = self
                .change
                .prepare_cached("INSERT OR IGNORE INTO artifacts VALUES (?1, ?2, ?3)")?;
            row.execute(params![artifact.id, self.segment, IdText::of(ended.id).as_str()])?;
        }
        Ok(())
    }
}

impl Call<'_> {
    /// The same without the text that it was read from, for a call that has not ended in it.
    fn into_running(self) -> Call<'static> {
        let Self { begun, place, is_unknown, .. } = self;
        Call { begun: begun.into_owned(), place, ended: None, is_unknown }
    }
}

/// Calls in the order in which they began, which is that of their rows.
#[derive(Default)]
struct InOrder<'a> {
    calls: Vec<Call<'a>>,
    by_id: HashMap<CallId, usize>,
}

impl<'a> InOrder<'a> {
    fn add(&mut self, begun: Begun<'a>, place: Place) {
        if let Entry::Vacant(entry) = self.by_id.entry(begun.id) {
            entry.insert(self.calls.len());
            self.calls.push(Call { begun, place, ended: None, is_unknown: false });
        }
    }

    fn find(&mut self, id: CallId) -> Option<&mut Call<'a>> {
        self.calls.get_mut(*self.by_id.get(&id)?)
    }
}

/// An id as text, without finding room for it.
struct IdText([u8; 26]);

impl IdText {
    fn of(id: CallId) -> Self {
        let mut text = [0; 26];
        // An id has just so many letters.
        _ = write!(&mut text[..], "{id}");
        Self(text)
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}
