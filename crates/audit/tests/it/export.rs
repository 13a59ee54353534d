//! What others are told of the journal.

use std::{fs, io::Write, process::Stdio};

use serde_json::{Value, json};
use switchboard_audit::{CallStage, CallUpdate, ExportTarget, JournalExport, Reader};
use switchboard_toolcall::CallId;

use crate::support::{Folder, call, executor, load};

fn open(folder: &Folder) -> JournalExport {
    JournalExport::open(folder.path(), ExportTarget::Cluster)
        .unwrap()
        .expect("nobody else tells of it")
}

/// Everything that is to be told, in steps.
fn all(export: &mut JournalExport, step: usize) -> Vec<CallUpdate> {
    let mut all = Vec::new();
    loop {
        let told = export.next(step).unwrap();
        assert!(told.len() <= step);
        if told.is_empty() {
            return all;
        }
        all.extend(told);
    }
}

fn stages(told: &[CallUpdate]) -> Vec<(CallId, CallStage)> {
    told.iter().map(|told| (told.id, told.stage)).collect()
}

// RC-1
#[tokio::test]
async fn every_line_is_told_once_and_again_only_where_that_was_not_noted() {
    let folder = Folder::new();
    assert!(JournalExport::open(folder.path(), ExportTarget::Cluster).unwrap().is_none());
    assert!(!folder.path().exists(), "who only looks leaves nothing");
    let ids = folder.write(20).await;
    let both = |id: &CallId| [(*id, CallStage::Started), (*id, CallStage::Ended)];
    let expected: Vec<_> = ids.iter().flat_map(both).collect();
    let node = open(&folder).node().clone();
    for step in [1, 7, 1000] {
        assert_eq!(stages(&all(&mut open(&folder), step)), expected, "{step}");
    }
    let mut export = open(&folder);
    assert!(export.lag_bytes().unwrap() > 0);
    assert_eq!(stages(&export.next(13).unwrap()), expected[..13]);
    export.commit().unwrap();
    export.next(5).unwrap();
    // Nobody else tells of it meanwhile.
    assert!(JournalExport::open(folder.path(), ExportTarget::Cluster).unwrap().is_none());
    drop(export);
    let mut export = open(&folder);
    assert_eq!(stages(&all(&mut export, 10)), expected[13..]);
    export.commit().unwrap();
    assert_eq!((export.lag_bytes().unwrap(), export.node()), (0, &node));
    let more = folder.write(1).await;
    assert_eq!(stages(&all(&mut export, 10)), both(&more[0]));
}

// RC-2
#[tokio::test]
async fn what_is_told_is_what_the_store_says() {
    let folder = Folder::new();
    let executor = executor(folder.store());
    let long = "x".repeat(100_000);
    for (tool, args) in [
        ("answer", json!({"with": {"a": [1, 2.50]}})),
        ("fail", json!({"with": "broken"})),
        ("nobody", json!({})),
        ("answer", json!({"with": long})),
    ] {
        call(&executor, tool, args).await;
    }
    let told = all(&mut open(&folder), 100);
    let mut reader = Reader::open(folder.path()).unwrap();
    for told in told.iter().filter(|told| told.stage == CallStage::Ended) {
        let told: CallUpdate = serde_json::from_slice(&told.to_json(usize::MAX)).unwrap();
        let mut theirs = serde_json::to_value(told.detail().unwrap()).unwrap();
        assert_eq!(theirs.as_object_mut().unwrap().remove("node"), Some(json!(told.node)));
        let mut ours = serde_json::to_value(reader.show(told.id).unwrap().unwrap()).unwrap();
        // What is longer than a record stays with the node.
        for detail in [&mut ours, &mut theirs] {
            if let Some(Value::String(text)) = detail.get_mut("result") {
                text.truncate(1000);
            }
        }
        assert_eq!(theirs, ours);
        // What is too long for a message says so.
        let short = told.to_json(2000);
        assert!(short.len() < 10_000, "{}", short.len());
        let short = serde_json::from_slice::<CallUpdate>(&short).unwrap().detail().unwrap();
        assert_eq!(short.record.outcome, told.detail().unwrap().record.outcome);
        assert_eq!(short.record.arguments.contains("only the node's own journal"), {
            told.detail().unwrap().record.arguments.len() > 100_000
        });
    }
}

// RC-1
#[test]
fn what_a_dead_process_left_is_told_as_unknown_and_its_torn_line_never() {
    let folder = Folder::new();
    let witness = folder.0.path().join("witness");
    let arguments = [folder.path().into_os_string(), witness.into_os_string()];
    let mut child = load().args(arguments).args(["8", "0"]).stdout(Stdio::null()).spawn().unwrap();
    let mut export = loop {
        if let Some(export) = JournalExport::open(folder.path(), ExportTarget::Cluster).unwrap() {
            break export;
        }
    };
    let mut told = Vec::new();
    while told.len() < 200 {
        told.extend(export.next(50).unwrap());
        export.commit().unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(folder.segment(1)).unwrap();
    file.write_all(b"{\"open\":\"01J00000000000000000000000\",\"tool\":\"torn\"}\n").unwrap();
    told.extend(all(&mut export, 50));
    export.repair().unwrap();
    told.extend(all(&mut export, 50));
    let mut ended: Vec<_> = told.iter().filter(|told| told.stage != CallStage::Started).collect();
    ended.sort_by_key(|told| std::cmp::Reverse(told.id));
    let ended = ended.iter().map(|told| (told.id, told.detail().unwrap().record.outcome.code()));
    let mut own = folder.outcomes();
    own.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
    assert_eq!(ended.collect::<Vec<_>>(), own);
    assert!(own.iter().any(|(_, outcome)| *outcome == "outcome_unknown"));
}
