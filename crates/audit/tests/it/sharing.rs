//! Several processes and one store.

use std::{fs, process::Stdio};

use serde_json::json;
use switchboard_audit::{Config, Durability, Reader, Store};

use crate::support::{Folder, call, executor, load, until};

// RC-1: a `call` beside a running `serve`.
#[test]
fn processes_write_at_the_same_time() {
    let folder = Folder::new();
    let witness = folder.0.path().join("witness");
    let start = || {
        load()
            .args([folder.path().as_os_str(), witness.as_os_str()])
            .args(["4", "50"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..4).map(|_| start()).collect();
    for mut child in children {
        // Asking meanwhile disturbs nobody.
        assert_eq!(switchboard_audit::verify(folder.path()).unwrap().damage, []);
        folder.records();
        assert!(child.wait().unwrap().success());
    }
    let records = folder.outcomes();
    assert_eq!(records.len(), 4 * 4 * 50);
    assert!(records.iter().all(|(_, outcome)| *outcome == "ok"));
    assert_eq!(folder.damage(), []);
    assert!(fs::read_dir(folder.path().join("journal")).unwrap().count() <= 4);
}

// RC-1: what a running process holds is not unknown.
#[tokio::test]
async fn a_call_that_somebody_holds_is_running() {
    let folder = Folder::new();
    let holder = executor(folder.store());
    let hanging = tokio::spawn({
        let holder = holder.clone();
        async move { call(&holder, "hang", json!({})).await }
    });
    until(async || !folder.records().is_empty()).await;
    // Others come and go.
    folder.write(1).await;
    folder.write(1).await;
    let outcomes: Vec<_> = folder.outcomes().into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(outcomes, ["ok", "ok", "running"]);
    hanging.abort();
    _ = hanging.await;
    assert_eq!(folder.outcomes()[2].1, "cancelled");
}

#[tokio::test]
async fn processes_one_after_another_go_on_with_one_segment() {
    let folder = Folder::new();
    for _ in 0..5 {
        folder.write(1).await;
    }
    assert_eq!(fs::read_dir(folder.path().join("journal")).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(folder.path().join("manifest.log")).unwrap().lines().count(), 1);
    assert_eq!(folder.damage(), []);
}

// RC-1: `durability = "disk"`
#[tokio::test(flavor = "multi_thread")]
async fn records_reach_the_disk_before_the_call_runs() {
    let folder = Folder::new();
    let config = Config { durability: Durability::Disk, ..Config::default() };
    let executor = executor(Store::open(config, folder.path()));
    let calls = (0..32).map(|number| {
        let executor = executor.clone();
        tokio::spawn(async move { call(&executor, "answer", json!({"with": number})).await })
    });
    for result in calls.collect::<Vec<_>>() {
        let result = result.await.unwrap();
        assert_eq!(result.outcome_code(), "ok", "{result:?}");
    }
    assert_eq!(folder.records().len(), 32);
    assert_eq!(folder.damage(), []);
}

#[tokio::test]
async fn a_process_that_runs_on_keeps_its_index_fed() {
    let folder = Folder::new();
    let store = folder.store();
    store.start_upkeep().unwrap();
    let executor = executor(store);
    call(&executor, "answer", json!({"with": 1})).await;
    let index = || rusqlite::Connection::open(folder.path().join("index.db")).unwrap();
    let count = || {
        index().query_row("SELECT count(*) FROM records WHERE outcome = 'ok'", [], |row| row.get(0))
    };
    // Looked at from outside: no reader of ours feeds it here.
    until(async || folder.path().join("index.db").exists() && count() == Ok(1)).await;
    assert_eq!(
        Reader::open(folder.path()).unwrap().count(&switchboard_audit::Filter::default()).unwrap(),
        1
    );
}
