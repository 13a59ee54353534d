//! The index's tables and their version.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::Error;

/// The version of the tables below, kept in `user_version`.
pub(super) const VERSION: i64 = 9;

/// Times are microseconds since 1970, durations nanoseconds. `outcome` is null while a call runs, and `arguments` if
/// they are so long that only the journal has them; then `head` is their beginning. `read` and `last` say how far a
/// segment was read, and the hash of the line there; `lead` is by how many microseconds a tick of it was later than the
/// start of its call. `rank.rs` creates `rank` and the positions `begun` and `ended`. Rows arrive in the order of their
/// keys, so that tables are filled page by page; each further index costs every call. `rollups` are the sums of `calls`
/// for `seconds` from `began` (seconds since 1970), as `rollups.rs` writes them. `calls_text` has the words of a call
/// under its rank, and not the text; and a word of ours for calls that failed (`search_text.rs`). `removals` says until when calls
/// of a segment began whose content retention removed: they have no row, but are in `rollups` (`removal.rs`).
const TABLES: &str = "
    CREATE TABLE segments (
        number INTEGER PRIMARY KEY,
        read INTEGER NOT NULL,
        last TEXT NOT NULL,
        lead INTEGER NOT NULL
    );
    CREATE TABLE calls (
        rank INTEGER PRIMARY KEY,
        id TEXT NOT NULL,
        started INTEGER NOT NULL,
        tool TEXT NOT NULL,
        server TEXT,
        caller TEXT,
        client TEXT,
        conversation TEXT,
        outcome TEXT,
        duration INTEGER,
        bytes INTEGER,
        reused TEXT,
        begun INTEGER NOT NULL,
        length INTEGER NOT NULL,
        ended INTEGER,
        end_length INTEGER,
        arguments TEXT,
        head TEXT,
        shown_as TEXT,
        profile TEXT,
        run TEXT,
        turn INTEGER
    );
    CREATE UNIQUE INDEX calls_by_id ON calls (id);
    CREATE INDEX calls_by_tool ON calls (tool);
    CREATE INDEX calls_by_conversation ON calls (conversation) WHERE conversation IS NOT NULL;
    CREATE INDEX calls_not_ok ON calls (rank) WHERE outcome IS NOT 'ok';
    CREATE INDEX calls_slow ON calls (rank) WHERE duration > 100000000;
    CREATE TABLE artifacts (
        artifact TEXT NOT NULL,
        segment INTEGER NOT NULL,
        call TEXT NOT NULL,
        PRIMARY KEY (artifact, segment, call)
    ) WITHOUT ROWID;
    CREATE TABLE rollup_keys (id INTEGER PRIMARY KEY, tool TEXT NOT NULL, server TEXT, caller TEXT, outcome TEXT);
    CREATE INDEX rollup_keys_by_name ON rollup_keys (tool, caller, server, outcome);
    CREATE TABLE rollups (
        seconds INTEGER NOT NULL,
        began INTEGER NOT NULL,
        key INTEGER NOT NULL,
        calls INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        durations BLOB NOT NULL,
        PRIMARY KEY (seconds, began, key)
    ) WITHOUT ROWID;
    CREATE TABLE removals (segment INTEGER PRIMARY KEY, until INTEGER NOT NULL);
    CREATE INDEX rollups_of_days_by_key ON rollups (key) WHERE seconds = 86400;
    CREATE VIRTUAL TABLE calls_text USING fts5 (
        text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
    );
    CREATE VIEW records AS SELECT
        id, strftime('%Y-%m-%dT%H:%M:%fZ', started / 1e6, 'unixepoch') AS started, tool, server, caller, client,
        profile, shown_as, run, turn,
        coalesce(outcome, 'running') AS outcome, duration / 1e6 AS duration_ms, bytes, arguments,
        begun >> 40 AS segment, begun & 0xffffffffff AS offset
    FROM calls;
";

/// Creates the tables of this version. Older ones are dropped: the journal fills them again.
pub(super) fn migrate(connection: &Connection, path: &Path) -> Result<(), Error> {
    let tried = |tried| Error::index(tried, path);
    let found = version(connection).map_err(tried("open"))?;
    match found {
        VERSION => Ok(()),
        newer if newer > VERSION => {
            Err(Error::NewerIndex { path: path.to_owned(), found, known: VERSION })
        }
        _ => build(connection).map_err(tried("build")),
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

fn build(connection: &Connection) -> rusqlite::Result<()> {
    let change = rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    // Another process may have been quicker.
    if version(&change)? != VERSION {
        let old: Vec<(String, String)> = change
            .prepare(
                "SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'
                 ORDER BY sql LIKE 'CREATE VIRTUAL%' DESC",
            )?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        for (kind, name) in old {
            // A virtual table goes first, and takes the tables that it is made of with it.
            let name = name.replace('"', "\"\"");
            change.execute_batch(&format!("DROP {kind} IF EXISTS \"{name}\""))?;
        }
        change.execute_batch(TABLES)?;
        change.pragma_update(None, "user_version", VERSION)?;
    }
    change.commit()
}
