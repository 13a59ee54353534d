//! Rollups: how many calls began in each minute, hour and day, their bytes and durations, by tool, server, caller and
//! outcome.
//!
//! They are the sums of the rows of `calls`: every change of those rows is added here, and written in the same transaction. Only
//! calls whose content retention removed have no row and still count (`removal.rs`).

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::Write,
};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::histogram::DurationHistogram;

/// The lengths of rollups in seconds, longest first.
pub(crate) const LENGTHS: [i64; 3] = [DAY, 3600, MINUTE];
const DAY: i64 = 86_400;
const MINUTE: i64 = 60;
/// Times in the index are microseconds.
pub(crate) const SECOND: i64 = 1_000_000;

/// The columns of a call that count, in the order of [`CountedCall::of`].
pub(super) const COUNTED: &str = "tool, server, caller, outcome, started, duration, bytes";

/// What rollups keep of a call.
pub(super) struct CountedCall<'a> {
    pub(super) tool: &'a str,
    pub(super) server: Option<&'a str>,
    pub(super) caller: Option<&'a str>,
    /// `None` while it runs.
    pub(super) outcome: Option<&'a str>,
    pub(super) started: i64,
    pub(super) duration: Option<u64>,
    pub(super) bytes: Option<u64>,
}

impl<'a> CountedCall<'a> {
    /// Reads a row of [`COUNTED`].
    pub(super) fn of(row: &'a Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            tool: row.get_ref(0)?.as_str()?,
            server: row.get_ref(1)?.as_str_or_null()?,
            caller: row.get_ref(2)?.as_str_or_null()?,
            outcome: row.get_ref(3)?.as_str_or_null()?,
            started: row.get(4)?,
            duration: row.get(5)?,
            bytes: row.get(6)?,
        })
    }
}

/// What calls are summed by.
#[derive(Clone)]
struct RollupKey {
    tool: String,
    server: Option<String>,
    caller: Option<String>,
    outcome: Option<String>,
}

/// The sums of some calls, or a change of them.
#[derive(Clone, Default, PartialEq)]
struct RollupSums {
    calls: i64,
    bytes: i64,
    durations: DurationHistogram,
}

/// Changes of rollups, until they are written.
#[derive(Default)]
pub(super) struct RollupChanges {
    keys: Vec<RollupKey>,
    numbers: HashMap<String, usize>,
    /// By minute and key.
    sums: HashMap<(i64, usize), RollupSums>,
    /// A buffer, reused.
    name: String,
}

impl RollupChanges {
    pub(super) fn add(&mut self, call: &CountedCall<'_>) {
        self.count(call, 1);
    }

    pub(super) fn remove(&mut self, call: &CountedCall<'_>) {
        self.count(call, -1);
    }

    fn count(&mut self, call: &CountedCall<'_>, times: i64) {
        let minute = call.started.div_euclid(MINUTE * SECOND);
        let key = self.key(call);
        let sums = self.sums.entry((minute, key)).or_default();
        sums.calls += times;
        sums.bytes += times * call.bytes.map_or(0, |bytes| i64::try_from(bytes).unwrap_or(0));
        if let Some(duration) = call.duration {
            sums.durations.add(duration, times);
        }
    }

    fn key(&mut self, call: &CountedCall<'_>) -> usize {
        let CountedCall { tool, server, caller, outcome, .. } = call;
        self.name.clear();
        // Lengths first, so that no name can look like several. Writing to a string cannot fail.
        let length = |text: &Option<&str>| text.map_or(-1, |text| text.len().cast_signed());
        _ = write!(self.name, "{} {} {} ", tool.len(), length(server), length(caller));
        for text in [Some(*tool), *server, *caller, *outcome].into_iter().flatten() {
            self.name.push_str(text);
        }
        // Calls that run have no outcome, and no call has an empty one.
        if let Some(number) = self.numbers.get(&self.name) {
            return *number;
        }
        let owned = |text: &Option<&str>| text.map(str::to_owned);
        self.keys.push(RollupKey {
            tool: (*tool).to_owned(),
            server: owned(server),
            caller: owned(caller),
            outcome: owned(outcome),
        });
        self.numbers.insert(self.name.clone(), self.keys.len() - 1);
        self.keys.len() - 1
    }

    /// Writes the changes to the rollups of each length.
    pub(super) fn write(self, change: &Connection) -> rusqlite::Result<()> {
        let ids = self.keys.iter().map(|key| key.id(change)).collect::<Result<Vec<_>, _>>()?;
        for length in LENGTHS {
            // In the order of the rows, so that pages are filled one after another.
            let mut sums = BTreeMap::<(i64, i64), RollupSums>::new();
            for ((minute, key), change) in &self.sums {
                let began = (minute * MINUTE).div_euclid(length) * length;
                sums.entry((began, ids[*key])).or_default().merge(change);
            }
            let unchanged = RollupSums::default();
            for ((began, key), sums) in sums.into_iter().filter(|(_, sums)| *sums != unchanged) {
                sums.write(change, length, began, key)?;
            }
        }
        // Names that no call is left with.
        let mut unused = change.prepare_cached(
            "DELETE FROM rollup_keys WHERE id = ?1
             AND NOT EXISTS (SELECT 1 FROM rollups WHERE seconds = 86400 AND key = ?1)",
        )?;
        let fewer = self.sums.iter().filter(|(_, sums)| sums.calls <= 0);
        let fewer: BTreeSet<i64> = fewer.map(|((_, key), _)| ids[*key]).collect();
        fewer.into_iter().try_for_each(|key| unused.execute([key]).map(|_| ()))
    }
}

impl RollupKey {
    /// Returns its number in the index; gives it one if it has none.
    fn id(&self, change: &Connection) -> rusqlite::Result<i64> {
        let Self { tool, server, caller, outcome } = self;
        let mut known = change.prepare_cached(
            "SELECT id FROM rollup_keys WHERE tool = ?1 AND server IS ?2 AND caller IS ?3 AND outcome IS ?4",
        )?;
        let names = params![tool, server, caller, outcome];
        if let Some(id) = known.query_row(names, |row| row.get(0)).optional()? {
            return Ok(id);
        }
        let mut new = change.prepare_cached(
            "INSERT INTO rollup_keys (tool, server, caller, outcome) VALUES (?1, ?2, ?3, ?4)",
        )?;
        new.insert(names)
    }
}

impl RollupSums {
    fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        self.bytes += other.bytes;
        self.durations.merge(&other.durations);
    }

    /// Adds it to a row; deletes one that no call is left in.
    fn write(
        mut self,
        change: &Connection,
        length: i64,
        began: i64,
        key: i64,
    ) -> rusqlite::Result<()> {
        let mut row = change.prepare_cached(
            "SELECT calls, bytes, durations FROM rollups WHERE seconds = ?1 AND began = ?2 AND key = ?3",
        )?;
        let before = row.query_row([length, began, key], |row| {
            let durations = DurationHistogram::decode(row.get_ref(2)?.as_blob()?);
            Ok(Self { calls: row.get(0)?, bytes: row.get(1)?, durations })
        });
        if let Some(before) = before.optional()? {
            self.merge(&before);
        }
        if self.calls > 0 {
            let Self { calls, bytes, durations } = self;
            let mut row = change
                .prepare_cached("INSERT OR REPLACE INTO rollups VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
            row.execute(params![length, began, key, calls, bytes, durations.encode()])?;
            return Ok(());
        }
        let mut row = change
            .prepare_cached("DELETE FROM rollups WHERE seconds = ?1 AND began = ?2 AND key = ?3")?;
        row.execute([length, began, key]).map(|_| ())
    }
}
