//! Selects records.

mod matches;
mod search;

use std::time::{Duration, SystemTime};

use rusqlite::{Connection, types::Value};
use serde::{Deserialize, Serialize};
use switchboard_toolcall::{CallId, ToolPattern};

use crate::{
    error::Error,
    index::{first_rank, last_rank, search_words},
    line::microseconds,
};

/// Selects records; unset fields match everything.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// A pattern of the tool's name.
    pub tool: Option<String>,
    /// Only tools with exactly these names.
    pub tools: Option<Vec<String>>,
    /// The server that the tool belongs to.
    pub server: Option<String>,
    /// The caller.
    pub caller: Option<String>,
    /// The conversation.
    pub conversation: Option<String>,
    /// Only those that failed.
    pub failed: bool,
    /// Only those whose outcome is unknown.
    pub unknown: bool,
    /// Only those that took longer.
    pub slower_than: Option<Duration>,
    /// Only those that began at this time or later.
    pub since: Option<SystemTime>,
    /// Only those that began before.
    pub until: Option<SystemTime>,
    /// Only those whose names, arguments, result or error have all of these words: `"words in this order"`, `begin*`.
    pub search: Option<String>,
    /// Only those older than this record: the next page.
    pub after: Option<CallId>,
    /// How many at most.
    pub limit: Option<usize>,
}

/// A filter as SQL.
pub(crate) struct Clause {
    /// The tables.
    pub(crate) from: &'static str,
    /// What newer records have more of.
    pub(crate) order: &'static str,
    pub(crate) conditions: String,
    pub(crate) values: Vec<Value>,
}

impl Clause {
    fn and(&mut self, condition: &str, value: impl Into<Value>) {
        self.values.push(value.into());
        let number = self.values.len();
        self.conditions.push_str(" AND ");
        self.conditions.push_str(&condition.replace("??", &format!("?{number}")));
    }

    fn and_tools(&mut self, names: &[String]) {
        match names {
            // Phrased so that SQLite uses the index by tool and time.
            [one] => self.and("tool = ??", one.clone()),
            several => {
                let several = serde_json::json!(several).to_string();
                self.and("tool IN (SELECT value FROM json_each(??))", several);
            }
        }
    }
}

impl Filter {
    /// Returns the filter as conditions; patterns are matched with the existing names.
    pub(crate) fn clause(&self, connection: &Connection) -> Result<Clause, Error> {
        let mut clause =
            Clause { from: "calls", order: "rank", conditions: "1".to_owned(), values: Vec::new() };
        let complete =
            |beginning: &str| search_words::beginning(connection, beginning).map_err(unreadable);
        let words =
            self.search.as_deref().map(|search| self.words(search, complete)).transpose()?;
        if let Some(words) = words.filter(|words| !words.is_empty()) {
            // The words come first, so that newer calls are found before older ones are read.
            clause.from = FOUND;
            clause.order = "found";
            clause.values.push(words.into());
        }
        if let Some(glob) = &self.tool {
            clause.and_tools(&matching(connection, glob)?);
        }
        if let Some(names) = &self.tools {
            clause.and_tools(names);
        }
        let texts = [
            ("server = ??", &self.server),
            ("caller = ??", &self.caller),
            ("conversation = ??", &self.conversation),
        ];
        for (condition, value) in texts {
            if let Some(value) = value {
                clause.and(condition, value.clone());
            }
        }
        if self.failed {
            clause.conditions.push_str(" AND outcome IS NOT 'ok' AND outcome IS NOT NULL");
        }
        if self.unknown {
            clause.conditions.push_str(" AND outcome IS NOT 'ok' AND outcome = 'outcome_unknown'");
        }
        if let Some(limit) = self.slower_than {
            clause.and("duration > ??", i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX));
            // Phrased like the index of slow calls, so that SQLite uses it.
            if limit >= Duration::from_millis(100) {
                clause.conditions.push_str(" AND duration > 100000000");
            }
        }
        if let Some(since) = self.since {
            // A tick is never before its time, so it narrows the search even if the clock went back.
            let first = first_rank(microseconds(since));
            clause.and(&format!("{} >= ??", clause.order), first);
            clause.and("started >= ??", signed(since));
        }
        if let Some(until) = self.until {
            clause.and("started < ??", signed(until));
            // No tick is later than its time by more than that.
            let lead = lead(connection).map_err(unreadable)?;
            let last = signed(until).saturating_add(lead).max(0).unsigned_abs();
            clause.and(&format!("{} <= ??", clause.order), last_rank(last));
        }
        if let Some(after) = self.after {
            let older = format!("{} < (SELECT rank FROM calls WHERE id = ??)", clause.order);
            clause.and(&older, after.to_string());
        }
        Ok(clause)
    }
}

/// The calls that have the words of the first parameter.
const FOUND: &str = "(SELECT rowid AS found FROM calls_text WHERE calls_text MATCH ?1)
     CROSS JOIN calls ON calls.rank = found";

fn unreadable(source: rusqlite::Error) -> Error {
    Error::Index { tried: "read", path: "index.db".into(), source }
}

/// Returns by how many microseconds a tick is later than the start of its call, at most.
fn lead(connection: &Connection) -> rusqlite::Result<i64> {
    let mut lead = connection.prepare_cached("SELECT coalesce(max(lead), 0) FROM segments")?;
    lead.query_row([], |row| row.get(0))
}

fn signed(time: SystemTime) -> i64 {
    i64::try_from(microseconds(time)).unwrap_or(i64::MAX)
}

/// Returns the names of tools that the pattern matches.
fn matching(connection: &Connection, glob: &str) -> Result<Vec<String>, Error> {
    if !glob.contains(['*', '?', '[', '{', '\\']) {
        return Ok(vec![glob.to_owned()]);
    }
    let bad = |source| Error::Glob { glob: glob.to_owned(), source };
    let pattern: ToolPattern = glob.parse().map_err(bad)?;
    let names = tools(connection).map_err(unreadable)?;
    Ok(names.into_iter().filter(|name| pattern.matches(name)).collect())
}

/// Returns every tool that has a record, found by hopping from name to name.
pub(crate) fn tools(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut rows = connection.prepare_cached(
        "WITH RECURSIVE names (name) AS (
             SELECT min(tool) FROM calls
             UNION ALL SELECT (SELECT min(tool) FROM calls WHERE tool > name) FROM names WHERE name IS NOT NULL
         ) SELECT name FROM names WHERE name IS NOT NULL",
    )?;
    rows.query_map([], |row| row.get(0))?.collect()
}
