//! Full-text search over names, arguments, results and errors.

use std::time::Duration;

use serde_json::json;
use switchboard_audit::{Filter, Reader, gc};
use switchboard_runtime::Recorder;

use crate::support::{Folder, call, cancelled, executor, open, start, uncompressed};

fn found(reader: &mut Reader, search: &str) -> usize {
    let filter = Filter { search: Some(search.to_owned()), ..Filter::default() };
    let found = reader.list(&filter).unwrap().len();
    assert_eq!(reader.count(&filter).unwrap(), found as u64);
    assert_eq!(
        reader.stats(&filter).unwrap().iter().map(|tool| tool.calls).sum::<u64>(),
        found as u64
    );
    found
}

// RC-2
#[tokio::test]
async fn words_are_found_wherever_they_stand() {
    let folder = Folder::new();
    let tools = executor(folder.store());
    call(&tools, "answer", json!({"with": {"room": "Küche", "lamp": "order-17"}})).await;
    call(&tools, "answer", json!({"with": "one\ntwo \"three\" four"})).await;
    call(&tools, "fail", json!({"with": "the bulb is broken"})).await;
    let mut reader = Reader::open(folder.path()).unwrap();
    let cases = [
        ("answer", 2),
        ("kuche", 1),
        ("KÜCHE lamp", 1),
        ("küche two", 0),
        ("order-17", 1),
        ("17 order", 1),
        ("\"17 order\"", 0),
        ("\"bulb is\"", 1),
        ("bul", 0),
        ("bul*", 1),
        ("BUL* brok*", 1),
        ("ku* LAM* answer", 1),
        ("ku* two", 0),
        ("t*", 3),
        ("zz* bulb", 0),
        ("order-1*", 1),
        ("two", 1),
        ("ntwo", 0),
        ("test", 3),
        ("\"", 0),
        ("--", 0),
        ("(a OR b) NOT {", 0),
        ("*", 0),
        ("bulb\0broken", 0),
        ("\"the\0bulb\"", 1),
        (&"bulb ".repeat(1000), 1),
        ("", 3),
    ];
    for (search, count) in cases {
        assert_eq!(found(&mut reader, search), count, "{search}");
    }
    let filter =
        Filter { search: Some("test".into()), failed: true, limit: Some(5), ..Filter::default() };
    assert_eq!(reader.list(&filter).unwrap().len(), 1);
    let all = Filter { search: Some("test".into()), ..Filter::default() };
    let all = reader.list(&all).unwrap();
    assert!(all.windows(2).all(|pair| pair[0].started >= pair[1].started), "newest first");
    let next = Filter { search: Some("test".into()), after: Some(all[0].id), ..Filter::default() };
    assert_eq!(reader.list(&next).unwrap().len(), 2);
    let (since, until) = (Some(all[1].started), Some(all[0].started));
    let between = Filter { search: Some("test".into()), since, until, ..Filter::default() };
    assert!(reader.list(&between).unwrap().iter().all(|call| call.id != all[2].id));
    let never = Filter { since: until.map(|last| last + Duration::from_secs(9)), ..between };
    assert!(reader.list(&never).unwrap().is_empty());
}

#[tokio::test]
async fn a_call_that_ends_later_is_found_by_both_ends() {
    let folder = Folder::new();
    let store = folder.store();
    let start = start("slow", json!({"text": "x ".repeat(5000), "last": "zebra"}).to_string());
    open(&store, &start).await;
    let mut reader = Reader::open(folder.path()).unwrap();
    assert_eq!(found(&mut reader, "zebra slow"), 1);
    let failed = Filter { search: Some("zebra".into()), failed: true, ..Filter::default() };
    assert!(reader.list(&failed).unwrap().is_empty(), "it runs");
    let mut end = cancelled(&start);
    let server = "meadow".into();
    end.server = Some(&server);
    store.close(end);
    assert_eq!(found(&mut reader, "zebra meadow"), 1);
    assert_eq!(found(&mut reader, "zebra"), 1, "once");
    assert_eq!(reader.list(&failed).unwrap().len(), 1);
    // The word for that is found by nobody who searches.
    assert_eq!(found(&mut reader, "failed"), 0);
    assert_eq!(found(&mut reader, "fail*"), 0);
}

// RC-1
#[tokio::test]
async fn what_retention_drops_is_not_found() {
    let folder = Folder::new();
    let store = folder.store();
    let arguments = json!({"text": "y".repeat(1_000_000), "word": "zebra"}).to_string();
    for _ in 0..40 {
        let start = start("zebra", arguments.clone());
        open(&store, &start).await;
        store.close(cancelled(&start));
    }
    drop(store);
    let config = uncompressed(30_000_000);
    assert!(gc(&folder.path(), &config).unwrap().segments > 0);
    let left = folder.records().len();
    assert!(left < 40);
    assert_eq!(found(&mut Reader::open(folder.path()).unwrap(), "zebra"), left);
}
