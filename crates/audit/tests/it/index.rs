//! The index can go, be old or be broken: the journal is the truth.

use std::fs;

use rusqlite::Connection;
use switchboard_audit::{Error, Reader};

use crate::support::Folder;

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
