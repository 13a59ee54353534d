//! Questions beside the list: ids by their beginning, activity over time, a preview of retention, filters without an index.

use std::{
    fs,
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde_json::json;
use switchboard_audit::{Filter, Reader, gc, retention::preview};
use switchboard_runtime::{CallHistory, CallStart, Recorder};

use crate::support::{Folder, call, cancelled, executor, open, start, uncompressed};

#[tokio::test]
async fn an_id_is_found_by_its_beginning() {
    let folder = Folder::new();
    let ids = folder.write(3).await;
    let mut reader = Reader::open(folder.path()).unwrap();
    let mut begins = |text: &str| reader.beginning_with(text, 2).unwrap();
    let whole = ids[1].to_string();
    assert_eq!(begins(&whole), [ids[1]]);
    assert_eq!(begins(&whole.to_lowercase()), [ids[1]]);
    assert_eq!(begins("0").len(), 2, "no more than asked for");
    assert_eq!(begins("Z"), []);
    assert_eq!(begins("%"), []);
    let nothing = Folder::new();
    assert_eq!(Reader::open(nothing.path()).unwrap().beginning_with("0", 2).unwrap(), []);
}

#[tokio::test]
async fn activity_counts_every_call_once() {
    let folder = Folder::new();
    let mut reader = Reader::open(folder.path()).unwrap();
    assert_eq!(reader.activity(&Filter::default(), 8).unwrap(), None);
    folder.write(5).await;
    let fails = executor(folder.store());
    call(&fails, "fail", json!({"with": "no"})).await;
    let activity = reader.activity(&Filter::default(), 8).unwrap().unwrap();
    assert!(activity.from <= activity.until && activity.until <= SystemTime::now());
    let sums: Vec<_> = activity
        .calls
        .iter()
        .map(|(tool, parts)| (tool.as_str(), parts.len(), parts.iter().sum::<u64>()))
        .collect();
    assert_eq!(sums, [("answer", 8, 5), ("fail", 8, 1)]);
    let failed = Filter { failed: true, ..Filter::default() };
    let activity = reader.activity(&failed, 3).unwrap().unwrap();
    assert_eq!(activity.calls.keys().collect::<Vec<_>>(), ["fail"]);
}

// FT-1: the tools that a caller called are known without reading its records, or others'.
#[tokio::test]
async fn the_tools_that_a_caller_called_are_named() {
    let folder = Folder::new();
    let mut reader = Reader::open(folder.path()).unwrap();
    assert!(reader.tools_called_by(None).unwrap().is_empty());
    let store = folder.store();
    let calls =
        [("read", None), ("read", Some("ada")), ("write", Some("ada")), ("read", Some("ada"))];
    for (tool, caller) in calls {
        let mut begun = CallStart::clone(&start(tool, "{}".to_owned()));
        begun.caller = caller.map(Into::into);
        let begun = Arc::new(begun);
        open(&store, &begun).await;
        store.close(cancelled(&begun));
    }
    for (caller, tools) in
        [(None, &["read"][..]), (Some("ada"), &["read", "write"]), (Some("eve"), &[])]
    {
        assert_eq!(reader.tools_called_by(caller).unwrap(), tools, "{caller:?}");
        let told = store.called_by(caller.map(Into::into)).await.unwrap();
        assert_eq!(told.iter().map(|tool| &**tool).collect::<Vec<_>>(), tools, "{caller:?}");
    }
}

// RC-1
#[tokio::test]
async fn a_preview_says_what_would_go_and_keeps_it() {
    let folder = Folder::new();
    let store = folder.store();
    let arguments = json!({"text": "x".repeat(1_000_000)}).to_string();
    for _ in 0..40 {
        let start = start("large", arguments.clone());
        open(&store, &start).await;
        store.close(cancelled(&start));
    }
    drop(store);
    let config = uncompressed(30_000_000);
    let expected = preview(&folder.path(), &config).unwrap();
    assert!(expected.segments > 0 && expected.bytes > 10_000_000, "{expected:?}");
    assert_eq!(folder.records().len(), 40, "nothing went");
    assert_eq!(fs::read_dir(folder.path().join("journal")).unwrap().count(), 3);
    let went = gc(&folder.path(), &config).unwrap();
    assert_eq!(
        (went.segments, went.artifacts, went.bytes),
        (expected.segments, expected.artifacts, expected.bytes)
    );
    assert_eq!(preview(&Folder::new().path(), &config).unwrap().segments, 0);
}

#[tokio::test]
async fn a_filter_says_the_same_with_and_without_an_index() {
    let folder = Folder::new();
    folder.write(2).await;
    let tools = executor(folder.store());
    call(&tools, "fail", json!({"with": "no"})).await;
    call(&tools, "nobody", json!({})).await;
    let all = folder.records();
    let hour = Duration::from_secs(3600);
    let now = SystemTime::now();
    let filters = [
        Filter::default(),
        Filter { tool: Some("f*".to_owned()), ..Filter::default() },
        Filter { tool: Some("answer".to_owned()), ..Filter::default() },
        Filter { server: Some("s".to_owned()), ..Filter::default() },
        Filter { caller: Some("test".to_owned()), ..Filter::default() },
        Filter { conversation: Some("c".to_owned()), ..Filter::default() },
        Filter { failed: true, ..Filter::default() },
        Filter { unknown: true, ..Filter::default() },
        Filter { slower_than: Some(Duration::ZERO), ..Filter::default() },
        Filter { slower_than: Some(hour), ..Filter::default() },
        Filter { since: Some(now - hour), ..Filter::default() },
        Filter { since: Some(now + hour), ..Filter::default() },
        Filter { until: Some(now - hour), ..Filter::default() },
    ];
    let mut reader = Reader::open(folder.path()).unwrap();
    for filter in filters {
        let listed: Vec<_> = reader.list(&filter).unwrap().iter().map(|record| record.id).collect();
        let matches = filter.matcher().unwrap();
        let matched: Vec<_> =
            all.iter().filter(|record| matches(record)).map(|record| record.id).collect();
        assert_eq!(listed, matched, "{filter:?}");
    }
    assert!(Filter { tool: Some("a[".to_owned()), ..Filter::default() }.matcher().is_err());
}

// RC-2
#[tokio::test]
async fn each_call_is_handed_over_oldest_first_however_many_there_are() {
    let folder = Folder::new();
    let mut reader = Reader::open(folder.path()).unwrap();
    let found = |reader: &mut Reader, filter: &Filter, most: usize| {
        let mut found = Vec::new();
        let taken = reader.for_each_call(filter, |detail| {
            assert_eq!(detail.lines.len(), 2);
            found.push(detail.record.id);
            if found.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        taken.unwrap();
        found
    };
    assert_eq!(found(&mut reader, &Filter::default(), 9), []);
    // More than are read at once.
    let ids = folder.write(1203).await;
    let all = Filter::default();
    assert_eq!(found(&mut reader, &all, usize::MAX), ids);
    assert_eq!(found(&mut reader, &all, 700), ids[..700]);
    for limit in [0, 1, 600, 9999] {
        let newest = Filter { limit: Some(limit), ..Filter::default() };
        assert_eq!(found(&mut reader, &newest, usize::MAX), ids[1203 - limit.min(1203)..]);
    }
    let words = Filter { search: Some("answer 7".to_owned()), ..Filter::default() };
    assert_eq!(found(&mut reader, &words, usize::MAX), [ids[7]]);
    assert_eq!(found(&mut reader, &Filter { failed: true, ..all.clone() }, 9), []);
    // A file that is missing is told.
    fs::remove_dir_all(folder.path().join("journal")).unwrap();
    let taken = reader.for_each_call(&all, |_| panic!("there is nothing to read"));
    assert!(taken.is_err(), "not passed over like what retention deletes");
}

// RC-2
#[tokio::test]
async fn long_arguments_are_listed_without_reading_them() {
    let folder = Folder::new();
    let tools = executor(folder.store());
    call(&tools, "answer", json!({"with": "é".repeat(50_000)})).await;
    call(&tools, "answer", json!({"with": 7})).await;
    drop(tools);
    let mut reader = Reader::open(folder.path()).unwrap();
    assert!(reader.list(&Filter::default()).unwrap()[1].arguments.len() > 100_000);
    fs::rename(folder.path().join("journal"), folder.path().join("away")).unwrap();
    let listed = reader.list_beginnings(&Filter::default()).unwrap();
    assert_eq!(listed[0].arguments, "{\"with\":7}");
    let long = &listed[1].arguments;
    assert!(long.starts_with("{\"with\":\"éé") && long.len() < 4096, "{}", long.len());
}
