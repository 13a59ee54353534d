//! The index can go, be old or be broken: the journal is the truth.

use std::fs;

use rusqlite::Connection;
use serde_json::json;
use switchboard_audit::{Error, Reader};

use crate::support::{Folder, call, executor};

#[tokio::test]
async fn an_index_that_does_not_fit_is_made_anew() {
    let cases: [fn(&Folder); 4] = [
        |folder| fs::remove_file(folder.path().join("index.db")).unwrap(),
        |folder| {
            fs::write(folder.path().join("index.db"), "no database at all, but long enough to look")
                .unwrap()
        },
        |folder| {
            let old = Connection::open(folder.path().join("index.db")).unwrap();
            old.execute_batch("DROP VIEW records; DROP TABLE calls; CREATE TABLE calls (old TEXT); PRAGMA user_version = 1").unwrap();
        },
        |folder| {
            let path = folder.path().join("index.db");
            fs::remove_file(&path).unwrap();
            Connection::open(path)
                .unwrap()
                .execute_batch("CREATE TABLE older (x); CREATE VIEW v AS SELECT x FROM older")
                .unwrap();
        },
    ];
    for break_it in cases {
        let folder = Folder::new();
        let ids = folder.write(3).await;
        let before = folder.outcomes();
        assert_eq!(before.len(), 3);
        break_it(&folder);
        assert_eq!(folder.outcomes(), before);
        assert!(Reader::open(folder.path()).unwrap().show(ids[0]).unwrap().is_some());
    }
}

#[tokio::test]
async fn an_index_of_a_newer_version_is_refused() {
    let folder = Folder::new();
    folder.write(1).await;
    folder.records();
    let index = Connection::open(folder.path().join("index.db")).unwrap();
    index.pragma_update(None, "user_version", 99).unwrap();
    let Err(error) = Reader::open(folder.path()) else { panic!("it was read") };
    assert!(matches!(error, Error::NewerIndex { found: 99, .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("schema 99") && text.contains("delete the file"), "{text}");
    // Recording does not depend on it.
    folder.write(1).await;
}

/// The rows of the index, and how far it has read.
fn rows(folder: &Folder) -> Vec<String> {
    let index = Connection::open(folder.path().join("index.db")).unwrap();
    let question = "SELECT json_array(rank, id, started, tool, server, caller, conversation, outcome, duration, bytes, reused,
             begun, length, ended, end_length) FROM calls
         UNION ALL SELECT json_array(artifact, segment, call) FROM artifacts
         UNION ALL SELECT json_array(number, read, last) FROM segments ORDER BY 1";
    let mut rows = index.prepare(question).unwrap();
    rows.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

// RC-1
#[tokio::test]
async fn an_index_that_was_fed_bit_by_bit_is_the_one_that_is_made_at_once() {
    let folder = Folder::new();
    let tools = executor(folder.store());
    let mut reader = None;
    for round in 0..6 {
        let calls = (0..24).map(|number| {
            let tools = tools.clone();
            tokio::spawn(async move {
                let long = if number == 7 { 300_000 } else { 20_000 };
                let long = format!("\"ü\\\n{}", "x".repeat(long));
                match (round + number) % 5 {
                    0 => call(&tools, "fail", json!({"with": long})).await,
                    1 => call(&tools, "no\"body", json!({"outcome": "}", "tick": 1})).await,
                    _ => call(&tools, "answer", json!({"with": long})).await,
                }
            })
        });
        let calls: Vec<_> = calls.collect();
        let hangs = tokio::spawn({
            let tools = tools.clone();
            async move { call(&tools, "hang", json!({})).await }
        });
        for call in calls {
            call.await.unwrap();
        }
        // Some have not ended when they are seen first.
        let reader = reader.get_or_insert_with(|| Reader::open(folder.path()).unwrap());
        assert_eq!(reader.count(&Default::default()).unwrap(), 25 * (round + 1));
        hangs.abort();
        _ = hangs.await;
    }
    drop((reader, tools));
    let length = fs::metadata(folder.segment(1)).unwrap().len();
    assert!(length > 5 << 20, "more than one change: {length}");
    let listed = folder.records();
    let fed = rows(&folder);
    for end in ["", "-wal", "-shm"] {
        _ = fs::remove_file(folder.path().join(format!("index.db{end}")));
    }
    assert_eq!(format!("{:?}", folder.records()), format!("{listed:?}"));
    assert_eq!(rows(&folder), fed);
    assert!(fed.len() > 150);
    assert!(
        listed.iter().all(|record| record.arguments.starts_with('{')),
        "as the journal has them"
    );
}
