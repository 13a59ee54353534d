//! Old records give way, and the rest can still be checked.

use std::{
    fs::{self, File},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, SystemTime},
};

use serde_json::json;
use switchboard_audit::{Config, Reader, Store, gc, retention::preview};
use switchboard_runtime::{
    ArtifactSource, ArtifactStore, IdempotencyStore, RecordOpen, Recorder, RunArtifacts,
    artifacts::ArtifactContent,
};
use switchboard_toolcall::{CallId, HumanDuration, HumanSize};

use crate::support::{Folder, call, cancelled, executor, open, start, uncompressed};

/// Writes calls with so many megabytes of arguments, which fill segments of 16 MiB.
async fn fill(store: &Store, megabytes: usize) {
    let arguments = json!({"text": "x".repeat(1_000_000)}).to_string();
    for _ in 0..megabytes {
        let start = start("large", arguments.clone());
        open(store, &start).await;
        store.close(cancelled(&start));
    }
}

// RC-1
#[tokio::test]
async fn what_is_too_much_gives_way_from_the_oldest() {
    let folder = Folder::new();
    fill(&folder.store(), 60).await;
    let segments = || fs::read_dir(folder.path().join("journal")).unwrap().count();
    assert_eq!(segments(), 4);
    assert_eq!(folder.records().len(), 60);
    let newest = folder.records()[0].id;
    let config = uncompressed(40_000_000);
    let collected = gc(&folder.path(), &config).unwrap();
    assert_eq!(collected.segments, 2);
    assert!(collected.left <= 40_000_000 && collected.bytes > 30_000_000, "{collected:?}");
    assert_eq!(segments(), 2);
    let left = folder.records();
    assert!(left.len() < 40 && left[0].id == newest);
    let report = switchboard_audit::verify(folder.path()).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.dropped, report.segments, report.calls), (2, 2, left.len() as u64));
    // The index forgets with it, and a new one agrees.
    fs::remove_file(folder.path().join("index.db")).unwrap();
    assert_eq!(folder.records().len(), left.len());
    fill(&folder.store(), 1).await;
    assert_eq!(folder.damage(), []);
}

#[tokio::test]
async fn what_is_too_old_gives_way_once_it_is_sealed() {
    let folder = Folder::new();
    fill(&folder.store(), 20).await;
    let config = Config { max_age: HumanDuration(Duration::ZERO), ..Config::default() };
    let collected = gc(&folder.path(), &config).unwrap();
    assert_eq!(collected.segments, 1);
    assert!(folder.records().len() < 20);
    assert_eq!(folder.damage(), []);
}

// RS-5: artifacts go with their records.
#[tokio::test]
async fn artifacts_that_no_record_names_are_collected() {
    let folder = Folder::new();
    let store = folder.store();
    let stored = |text: &'static str| ArtifactContent {
        media_type: "text/plain".to_owned(),
        bytes: text.into(),
    };
    let source = ArtifactSource { tool: "answer".into(), caller: None };
    let stray = store.put(stored("nobody names me"), source.clone()).await.unwrap();
    let young = store.put(stored("not yet"), source).await.unwrap();
    let named = {
        let executor = executor(store.clone());
        let result = call(&executor, "answer", json!({"with": "long ".repeat(20_000)})).await;
        result.artifacts[0].id.clone()
    };
    let age = |id: &str| {
        let path = folder.path().join("artifacts").join(&id[..2]).join(id);
        let file = fs::File::options().append(true).open(path).unwrap();
        file.set_modified(std::time::SystemTime::now() - Duration::from_secs(7200)).unwrap();
    };
    age(&stray);
    age(&named);
    let collected = gc(&folder.path(), &Config::default()).unwrap();
    assert_eq!((collected.artifacts, collected.segments), (1, 0));
    assert!(store.get(&stray).await.unwrap().is_none());
    assert!(store.get(&young).await.unwrap().is_some());
    assert!(store.get(&named).await.unwrap().is_some());
}

/// Sets the time of every file in a folder back by two hours.
fn age_all(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            age_all(&path);
            continue;
        }
        let file = File::options().append(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(7200)).unwrap();
    }
}

// RN-3: what runs need stays, and who may read it is known after a restart, until the runs are forgotten.
#[tokio::test]
async fn artifacts_that_runs_need_stay() {
    let folder = Folder::new();
    let markers = RunArtifacts::within(&folder.path());
    let source = ArtifactSource { tool: "page".into(), caller: Some("bob".into()) };
    let content = ArtifactContent { media_type: "text/plain".to_owned(), bytes: "a result".into() };
    let id = {
        let store = folder.store();
        call(&executor(store.clone()), "answer", json!({})).await;
        let id = store.put(content.clone(), source.clone()).await.unwrap();
        markers.note(&id, CallId::generate(), &source, 8).unwrap();
        id
    };
    age_all(&folder.path());
    let store = folder.store();
    assert_eq!(preview(&folder.path(), &Config::default()).unwrap().artifacts, 0);
    assert_eq!(gc(&folder.path(), &Config::default()).unwrap().artifacts, 0);
    assert_eq!(store.get(&id).await.unwrap(), Some(content));
    assert_eq!(store.sources(&id).await.unwrap(), std::slice::from_ref(&source));
    markers.forget(|_| false).unwrap();
    assert_eq!(preview(&folder.path(), &Config::default()).unwrap().artifacts, 1);
    assert_eq!(gc(&folder.path(), &Config::default()).unwrap().artifacts, 1);
    assert_eq!(store.get(&id).await.unwrap(), None);
    assert_eq!(store.sources(&id).await.unwrap(), []);
}

#[tokio::test]
async fn an_artifact_may_not_push_out_everything_else() {
    let folder = Folder::new();
    let config = Config { max_size: HumanSize(4000), ..Config::default() };
    let store = Store::open(config, folder.path());
    let stored =
        ArtifactContent { media_type: "text/plain".to_owned(), bytes: vec![b'x'; 1001].into() };
    let source = ArtifactSource { tool: "answer".into(), caller: None };
    let error = store.put(stored, source).await.unwrap_err().to_string();
    assert_eq!(error, "1001 bytes are more than the 1000 that one artifact may have");
}

#[tokio::test]
async fn a_full_segment_is_sealed_and_its_open_calls_go_on() {
    let folder = Folder::new();
    let store = folder.store();
    let executor = executor(store.clone());
    let hanging = tokio::spawn({
        let executor = executor.clone();
        async move { call(&executor, "hang", json!({})).await }
    });
    tokio::task::yield_now().await;
    fill(&store, 20).await;
    let outcome = || folder.outcomes().last().unwrap().1;
    assert_eq!(outcome(), "running");
    let header = fs::read_to_string(folder.segment(2)).unwrap();
    assert!(header.lines().next().unwrap().contains("\"carried\":[\""));
    hanging.abort();
    _ = hanging.await;
    assert_eq!(outcome(), "cancelled");
    assert_eq!(folder.damage(), []);
    let mut reader = Reader::open(folder.path()).unwrap();
    let id = folder.outcomes().last().unwrap().0;
    let lines = reader.show(id).unwrap().unwrap().lines;
    assert_eq!((lines[0].segment, lines[1].segment), (1, 2));
}

#[tokio::test]
async fn what_a_dying_process_left_of_a_dropped_segment_goes_too() {
    let folder = Folder::new();
    fill(&folder.store(), 20).await;
    let copy = fs::read(folder.segment(1)).unwrap();
    let config = Config { max_age: HumanDuration(Duration::ZERO), ..Config::default() };
    gc(&folder.path(), &config).unwrap();
    let left = folder.records().len();
    // As if it had died after the manifest's line and before the file was removed.
    fs::write(folder.segment(1), copy).unwrap();
    gc(&folder.path(), &Config::default()).unwrap();
    assert!(!folder.segment(1).exists());
    assert_eq!(folder.records().len(), left);
    assert_eq!(folder.damage(), []);
}

#[tokio::test]
async fn claims_whose_time_is_over_are_collected() {
    use switchboard_runtime::record::Claim;
    let folder = Folder::new();
    let store = folder.store();
    fill(&store, 1).await;
    for (key, within) in [("short", Duration::ZERO), ("long", Duration::from_secs(3600))] {
        let id = start("pay", String::new()).id;
        let claim = Claim { id, caller: None, key: key.into(), fingerprint: [1; 32], within };
        store.claim(&claim).await.unwrap();
    }
    let claims = || fs::read_dir(folder.path().join("claims")).unwrap().count();
    assert_eq!(claims(), 2);
    gc(&folder.path(), &Config::default()).unwrap();
    assert_eq!(claims(), 1);
}

// RC-1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retention_never_stops_callers() {
    let folder = Folder::new();
    let store = folder.store();
    let arguments = json!({"text": "x".repeat(1_000_000)}).to_string();
    let calls = async || {
        let start = start("large", arguments.clone());
        let opened = match store.open(start.clone()) {
            RecordOpen::Done(opened) => opened,
            RecordOpen::Batched(opened) | RecordOpen::Pending(opened) => opened.await,
        };
        opened.unwrap();
        store.close(cancelled(&start));
    };
    calls().await;
    // Who drops segments holds the lock: calls are recorded meanwhile.
    let lock = File::options().write(true).open(folder.path().join("lock")).unwrap();
    lock.lock().unwrap();
    calls().await;
    drop(lock);
    // And segments are sealed and begun while others are dropped.
    let (path, dropped) = (folder.path(), Arc::new(AtomicU64::new(0)));
    let counted = dropped.clone();
    let collects = thread::spawn(move || {
        let config = uncompressed(20_000_000);
        while counted.load(Ordering::Relaxed) < 3 {
            counted.fetch_add(gc(&path, &config).unwrap().segments, Ordering::Relaxed);
        }
    });
    let mut number = 2;
    while dropped.load(Ordering::Relaxed) < 3 {
        calls().await;
        number += 1;
    }
    collects.join().unwrap();
    let left = folder.records().len();
    assert!((1..number).contains(&left), "{left} of {number}");
    assert_eq!(folder.damage(), []);
}
