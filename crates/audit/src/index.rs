//! The index: an SQLite database for queries, built from the journal and discarded if it does not match.

mod schema;
mod feed;
mod calls;
mod rank;
mod rollups;
mod removal;
mod histogram;
pub(crate) mod search_text;
pub(crate) mod search_words;

pub(crate) use feed::segments;
pub(crate) use histogram::DurationHistogram;
pub(crate) use rank::{apart, first_rank, last_rank, place};
pub(crate) use removal::{EndedCall, remove_calls, removed_until};
pub(crate) use rollups::{LENGTHS, SECOND};

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode};
use switchboard_runtime::private_files;
use tracing::warn;

use crate::{error::Error, layout::Layout};
use rollups::{COUNTED, CountedCall, RollupChanges};

/// The open index.
pub(crate) struct CallIndex {
    layout: Layout,
    path: PathBuf,
    pub(crate) connection: Connection,
    /// Segments that are sealed and in the index as a whole: they need not be looked at any more.
    whole: RefCell<HashSet<u64>>,
}

/// How long another process's write is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// The page size of a new index.
const PAGE: u32 = 16 << 10;
/// How many bytes go to the write-ahead log before they go into the index.
const LOG: u32 = 4 << 20;

impl CallIndex {
    /// Opens the index; creates a new one if it cannot be read.
    pub(crate) fn open(layout: &Layout) -> Result<Self, Error> {
        let path = layout.index();
        let connection = match connect(&path) {
            Err(Error::Index { source, .. }) if is_broken(&source) => {
                warn!(file = %path.display(), cause = %source, "the index cannot be read and is made again");
                let _guard = layout.lock()?;
                _ = fs::remove_file(&path);
                for end in BESIDE {
                    _ = fs::remove_file(beside(&path, end));
                }
                connect(&path)?
            }
            connected => connected?,
        };
        Ok(Self { layout: layout.clone(), path, connection, whole: RefCell::default() })
    }

    /// Returns a function for `map_err` that says what was tried.
    pub(crate) fn tried(
        &self,
        tried: &'static str,
    ) -> impl FnOnce(rusqlite::Error) -> Error + use<> {
        let path = self.path.clone();
        move |source| Error::Index { tried, path, source }
    }

    /// Deletes the records of a dropped segment, whose last tick was `until`.
    pub(crate) fn forget(&mut self, segment: u64, until: u64) -> Result<(), Error> {
        let tried = self.tried("change");
        let mut forget = || {
            let change = self.connection.transaction()?;
            forget(&change, segment, until)?;
            change.execute("DELETE FROM segments WHERE number = ?1", [segment])?;
            change.commit()
        };
        forget().map_err(tried)
    }

    /// Feeds lines of a segment, as one change.
    #[cfg(test)]
    pub(crate) fn feed_lines(&mut self, segment: u64, lines: &[String]) {
        let change = self.connection.transaction().unwrap();
        let mut calls = calls::CallRows::new(&change, &self.layout, segment).unwrap();
        let bytes = lines.iter().map(String::as_bytes);
        // As `rank.rs` needs it, no two lines are at the same place.
        let from: u64 = change
            .query_row(
                "SELECT coalesce(max(read), 0) FROM segments WHERE number = ?1",
                [segment],
                |row| row.get(0),
            )
            .unwrap();
        let count = calls.take(from, (0..).zip(bytes)).unwrap();
        let lead = calls.finish().unwrap();
        let row = "INSERT INTO segments VALUES (?1, ?2, '', ?3)
             ON CONFLICT DO UPDATE SET read = ?2, lead = max(lead, ?3)";
        change.execute(row, (segment, from + count, lead)).unwrap();
        change.commit().unwrap();
    }

    /// Returns its size in bytes, without free pages.
    pub(crate) fn bytes(&self) -> Result<u64, Error> {
        let ask = |what| self.connection.pragma_query_value(None, what, |row| row.get::<_, u64>(0));
        let bytes = || Ok((ask("page_count")? - ask("freelist_count")?) * ask("page_size")?);
        bytes().map_err(self.tried("read"))
    }

    /// Returns free pages to the system.
    pub(crate) fn shrink(&self) -> Result<(), Error> {
        let shrink = self.connection.execute_batch("PRAGMA incremental_vacuum");
        shrink.map_err(self.tried("shrink"))
    }

    /// Returns how far each segment was read, and the hash of the line there.
    pub(crate) fn read_to(&self) -> Result<HashMap<u64, (u64, String)>, Error> {
        let read = || {
            let mut rows = self.connection.prepare("SELECT number, read, last FROM segments")?;
            rows.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?
                .collect::<Result<_, _>>()
        };
        read().map_err(self.tried("read"))
    }

    /// Returns whether any record names the artifact.
    pub(crate) fn has_artifact(&self, id: &str) -> Result<bool, Error> {
        let has = || {
            let mut rows = self
                .connection
                .prepare_cached("SELECT 1 FROM artifacts WHERE artifact = ?1 LIMIT 1")?;
            rows.exists([id])
        };
        has().map_err(self.tried("read"))
    }
}

/// Deletes what the index has of the calls of a segment, whose last tick was `until`.
pub(crate) fn forget(change: &Connection, segment: u64, until: u64) -> rusqlite::Result<()> {
    // The oldest are dropped first, so there are few ranks up to its last.
    let conditions = "rank <= ?3 AND begun >= ?1 AND begun < ?2";
    let places = [place(segment, 0), place(segment + 1, 0), last_rank(until)];
    let mut rollups = RollupChanges::default();
    let mut calls =
        change.prepare_cached(&format!("SELECT {COUNTED} FROM calls WHERE {conditions}"))?;
    let mut calls = calls.query(places)?;
    while let Some(call) = calls.next()? {
        rollups.remove(&CountedCall::of(call)?);
    }
    rollups.write(change)?;
    let texts = format!(
        "DELETE FROM calls_text WHERE rowid IN (SELECT rank FROM calls WHERE {conditions})"
    );
    change.execute(&texts, places)?;
    change.execute(&format!("DELETE FROM calls WHERE {conditions}"), places)?;
    change.execute("DELETE FROM removals WHERE segment = ?1", [segment])?;
    change.execute("DELETE FROM artifacts WHERE segment = ?1", [segment]).map(|_| ())
}

fn connect(path: &Path) -> Result<Connection, Error> {
    keep_private(path)?;
    let connection = Connection::open(path).map_err(Error::index("open", path))?;
    let prepare = || {
        connection.busy_timeout(PATIENCE)?;
        // Both take effect only before there are tables. Rows arrive in order, so few large pages are written for many
        // calls: a sixth less work than with pages of 4 KiB.
        connection.pragma_update(None, "page_size", PAGE)?;
        connection.pragma_update(None, "auto_vacuum", "incremental")?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "normal")?;
        // The statement journal: with pages of this size SQLite would write it to a file.
        connection.pragma_update(None, "temp_store", "memory")?;
        // Counted in pages, which are smaller in an older index.
        let page: u32 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        connection.pragma_update(None, "wal_autocheckpoint", LOG / page)?;
        connection.pragma_update(None, "cache_size", -1_000)?;
        connection.set_prepared_statement_cache_capacity(48);
        Ok(())
    };
    prepare().map_err(Error::index("open", path))?;
    schema::migrate(&connection, path)?;
    Ok(connection)
}

/// Creates the database with private permissions before SQLite does so with the umask, and tightens existing ones.
/// SQLite gives its other files the permissions of the database.
///
/// Never opens the database itself: closing it would release the locks that SQLite holds on it elsewhere in this
/// process.
fn keep_private(path: &Path) -> Result<(), Error> {
    if !path.exists() {
        let fresh = beside(path, &format!("-{}.new", std::process::id()));
        private_files::create(&fresh).map_err(Error::file("create", &fresh))?;
        // If another process was faster, the database exists.
        _ = fs::hard_link(&fresh, path);
        _ = fs::remove_file(&fresh);
    }
    private_files::tighten(path);
    BESIDE.iter().for_each(|end| private_files::tighten(&beside(path, end)));
    Ok(())
}

/// The suffixes of the files that SQLite creates beside a database.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut file = path.to_owned().into_os_string();
    file.push(end);
    file.into()
}

fn is_broken(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &Path, page: u32, checkpoint: u32) {
        let index = connect(path).unwrap();
        let ask = |what| index.pragma_query_value(None, what, |row| row.get::<_, u32>(0)).unwrap();
        assert_eq!((ask("page_size"), ask("wal_autocheckpoint")), (page, checkpoint));
    }

    #[test]
    fn an_index_keeps_its_pages_and_as_long_a_log() {
        let folder = tempfile::tempdir().unwrap();
        check(&folder.path().join("new.db"), 16384, 256);
        let old = folder.path().join("old.db");
        let made = Connection::open(&old).unwrap();
        made.execute_batch("PRAGMA page_size = 4096; CREATE TABLE calls (id TEXT)").unwrap();
        drop(made);
        check(&old, 4096, 1024);
        check(&old, 4096, 1024);
    }
}
