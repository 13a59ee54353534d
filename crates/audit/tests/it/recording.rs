//! What executors write can be read back.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_audit::{CallOutcome, Config, Filter, Reader, Results, Store};
use switchboard_runtime::{CallHistory, Recorder};
use switchboard_toolcall::{CallContext, ToolCall};

use crate::support::{Folder, call, executor, until};

// RC-1, RC-2, EX-2
#[tokio::test]
async fn every_ending_leaves_one_record() {
    let folder = Folder::new();
    let executor = executor(folder.store());
    let cases = [
        ("answer", json!({"with": 1}), "ok"),
        ("answer", json!({}), "invalid_parameters"),
        ("fail", json!({"with": "no luck"}), "tool_error"),
        ("nobody", json!({}), "not_found"),
        ("look", json!({}), "ok"),
    ];
    let mut expected = Vec::new();
    for (tool, args, outcome) in cases {
        let result = call(&executor, tool, args.clone()).await;
        let id = result.call_id.to_string();
        expected.insert(0, (id, tool.to_owned(), args.to_string(), outcome));
    }
    let records = folder.records();
    let found: Vec<_> = records
        .iter()
        .map(|record| {
            let (id, tool) = (record.id.to_string(), record.tool.clone());
            (id, tool, record.arguments.clone(), record.outcome.code())
        })
        .collect();
    assert_eq!(found, expected);
    assert!(records.iter().all(|record| record.duration.is_some()));
    assert!(records.iter().all(|record| record.caller.as_deref() == Some("test")));
    let recent = folder.store().recent(2).await.unwrap();
    assert_eq!(recent.len(), 2);
    assert_eq!(recent[0].start.id, records[0].id);
}

// RC-2
#[tokio::test]
async fn a_record_shows_as_the_contract_says() {
    let folder = Folder::new();
    folder.write(1).await;
    let record = serde_json::to_value(&folder.records()[0]).unwrap();
    let keys: Vec<_> = record.as_object().unwrap().keys().take(8).cloned().collect();
    let contract =
        ["id", "tool", "server", "arguments", "outcome", "error_kind", "duration_ms", "started"];
    assert_eq!(keys, contract);
    assert_eq!(record["arguments"], json!({"with": 0}));
    assert_eq!((&record["server"], &record["error_kind"]), (&Value::Null, &Value::Null));
    assert!(record["started"].as_str().unwrap().ends_with('Z'), "{record}");
}

// RC-2: `show`
#[tokio::test]
async fn everything_about_a_call_can_be_seen() {
    let folder = Folder::new();
    let executor = executor(folder.store());
    let good =
        call(&executor, "answer", json!({"with": {"a": 1.0, "big": 12345678901234567890123_u128}}))
            .await;
    let bad = call(&executor, "fail", json!({"with": "no luck"})).await;
    let mut reader = Reader::open(folder.path()).unwrap();
    let shown = reader.show(good.call_id).unwrap().unwrap();
    // RS-3: numbers keep their digits.
    assert_eq!(shown.result.as_deref(), Some(r#"{"a":1.0,"big":12345678901234567890123}"#));
    assert_eq!(shown.lines.len(), 2);
    let stages = shown.stages.unwrap();
    assert!(stages.open > Duration::ZERO && stages.run > Duration::ZERO, "{stages:?}");
    let shown = serde_json::to_value(reader.show(bad.call_id).unwrap().unwrap()).unwrap();
    assert_eq!((&shown["error"], &shown["error_kind"]), (&json!("no luck"), &json!("tool_error")));
    assert!(shown["stages_ms"]["run"].is_number() && shown["journal"][1]["hash"].is_string());
    assert!(reader.show(switchboard_toolcall::CallId::generate()).unwrap().is_none());
}

// RC-1: secrets
#[tokio::test]
async fn secrets_are_redacted_in_arguments_and_results() {
    let folder = Folder::new();
    let executor = executor(folder.store());
    let secret = json!({"with": {"password": "hunter2", "text": "Bearer abcdefghijkl"}});
    let good = call(&executor, "answer", secret).await;
    let bad = call(&executor, "fail", json!({"with": "sent Bearer abcdefghijkl"})).await;
    drop(executor);
    let journal = std::fs::read_to_string(folder.segment(1)).unwrap();
    assert!(!journal.contains("hunter2") && !journal.contains("abcdefghijkl"), "{journal}");
    let mut reader = Reader::open(folder.path()).unwrap();
    let shown = reader.show(good.call_id).unwrap().unwrap();
    assert_eq!(
        shown.result.as_deref(),
        Some(r#"{"password":"[redacted]","text":"Bearer [redacted]"}"#)
    );
    let shown = reader.show(bad.call_id).unwrap().unwrap();
    assert_eq!(shown.error.as_deref(), Some("sent Bearer [redacted]"));
}

#[tokio::test]
async fn results_can_be_left_out() {
    let folder = Folder::new();
    let config = Config { results: Results::None, ..Config::default() };
    let executor = executor(Store::open(config, folder.path()));
    let result = call(&executor, "answer", json!({"with": "unseen"})).await;
    let shown = Reader::open(folder.path()).unwrap().show(result.call_id).unwrap().unwrap();
    assert_eq!((shown.result, shown.record.bytes), (None, Some(8)));
}

// RS-5
#[tokio::test]
async fn long_results_are_kept_whole_beside_the_record() {
    let folder = Folder::new();
    let long = "äöü-".repeat(50_000);
    let artifact = {
        let executor = executor(folder.store());
        let result = call(&executor, "answer", json!({"with": long})).await;
        assert!(result.truncated);
        result.artifacts[0].id.clone()
    };
    // The arguments were long too: they are only in the journal.
    assert_eq!(folder.records()[0].arguments, json!({"with": long}).to_string());
    // The next process reads the rest.
    let executor = executor(folder.store());
    for service in switchboard_runtime::services::all(&executor) {
        executor.tools().add_shared(service).unwrap();
    }
    let whole = json!({"id": artifact, "limit": 1_000_000});
    let read = call(&executor, "read_result", whole).await;
    assert_eq!(read.text(), long);
    // That result was too long for its own record.
    let shown = Reader::open(folder.path()).unwrap().show(read.call_id).unwrap().unwrap();
    assert_eq!(shown.result.unwrap(), json!(long).to_string());
    let journal = std::fs::read_to_string(folder.segment(1)).unwrap();
    let ends = journal.lines().filter(|line| line.starts_with("{\"end\""));
    assert!(ends.map(str::len).max().unwrap() < 70_000);
}

// EX-4
#[tokio::test]
async fn who_walks_away_leaves_a_cancelled_record() {
    let folder = Folder::new();
    let executor = executor(folder.store());
    let hanging = tokio::spawn({
        let executor = executor.clone();
        async move { call(&executor, "hang", json!({})).await.call_id }
    });
    until(async || !folder.records().is_empty()).await;
    assert_eq!(folder.records()[0].outcome, CallOutcome::Running);
    hanging.abort();
    assert!(hanging.await.unwrap_err().is_cancelled());
    assert_eq!(folder.records()[0].outcome.code(), "cancelled");
}

#[tokio::test]
async fn filters_pick_and_pages_follow() {
    let folder = Folder::new();
    let store = folder.store();
    let executor = executor(store.clone());
    for number in 0..5 {
        call(&executor, "answer", json!({"with": number})).await;
        call(&executor, "fail", json!({"with": "no"})).await;
    }
    call(&executor, "look", json!({})).await;
    let cx = CallContext { caller: Some("other".into()), ..CallContext::default() };
    executor.execute(ToolCall::new("look", serde_json::Map::new()), &cx).await;
    let mut reader = Reader::open(folder.path()).unwrap();
    let mut check = |filter: Filter| reader.list(&filter).unwrap().len();
    let none = Filter::default;
    assert_eq!(check(none()), 12);
    assert_eq!(check(Filter { tool: Some("answer".into()), ..none() }), 5);
    assert_eq!(check(Filter { tool: Some("{fail,l*k}".into()), ..none() }), 7);
    assert_eq!(check(Filter { tool: Some("nobody*".into()), ..none() }), 0);
    assert_eq!(check(Filter { failed: true, ..none() }), 5);
    assert_eq!(check(Filter { unknown: true, ..none() }), 0);
    assert_eq!(check(Filter { caller: Some("other".into()), ..none() }), 1);
    assert_eq!(check(Filter { server: Some("zwave".into()), ..none() }), 0);
    assert_eq!(check(Filter { slower_than: Some(Duration::ZERO), ..none() }), 12);
    assert_eq!(check(Filter { slower_than: Some(Duration::from_secs(60)), ..none() }), 0);
    let start = crate::support::start("slow", "{}".to_owned());
    crate::support::open(&store, &start).await;
    let duration = Duration::from_millis(1500);
    store.close(switchboard_runtime::CallEnd { duration, ..crate::support::cancelled(&start) });
    assert_eq!(check(Filter { slower_than: Some(Duration::from_secs(1)), ..none() }), 1);
    assert_eq!(check(Filter { slower_than: Some(duration), ..none() }), 0);
    let now = std::time::SystemTime::now();
    let hour = Duration::from_secs(3600);
    assert_eq!(check(Filter { since: Some(now - hour), ..none() }), 13);
    assert_eq!(check(Filter { since: Some(now + hour), ..none() }), 0);
    assert_eq!(check(Filter { until: Some(now - hour), ..none() }), 0);
    let all = reader.list(&none()).unwrap();
    let page = Filter { after: Some(all[4].id), limit: Some(3), ..none() };
    let page: Vec<_> = reader.list(&page).unwrap().iter().map(|record| record.id).collect();
    assert_eq!(page, all[5..8].iter().map(|record| record.id).collect::<Vec<_>>());
    let error = reader.list(&Filter { tool: Some("a[".into()), ..none() }).unwrap_err();
    assert_eq!(error.to_string(), "`a[` is not a glob");
}

#[tokio::test]
async fn stats_count_per_tool() {
    let folder = Folder::new();
    let executor = executor(folder.store());
    for _ in 0..3 {
        call(&executor, "answer", json!({"with": "12345678"})).await;
    }
    call(&executor, "fail", json!({"with": "no"})).await;
    let stats = Reader::open(folder.path()).unwrap().stats(&Filter::default()).unwrap();
    let counts: Vec<_> =
        stats.iter().map(|tool| (&*tool.tool, tool.calls, tool.failures, tool.bytes)).collect();
    assert_eq!(counts, [("answer", 3, 0, 30), ("fail", 1, 1, 2)]);
    assert!(stats[0].p50_ms > 0.0 && stats[0].p50_ms <= stats[0].p99_ms);
}

#[tokio::test]
async fn who_follows_sees_each_end_once() {
    let folder = Folder::new();
    folder.write(3).await;
    let mut follow = Reader::open(folder.path()).unwrap().follow().unwrap();
    assert!(follow.poll().unwrap().is_empty());
    let mut ids = folder.write(2).await;
    ids.extend(folder.write(2).await);
    let mut seen = Vec::new();
    while seen.len() < ids.len() {
        seen.extend(follow.next().await.unwrap().iter().map(|record| record.id));
    }
    assert_eq!(seen, ids);
    assert!(follow.poll().unwrap().is_empty());
}

// RC-2: an empty store is no error, and asking makes nothing.
#[test]
fn a_store_that_is_not_there_is_empty() {
    let folder = Folder::new();
    assert!(folder.records().is_empty());
    let mut reader = Reader::open(folder.path()).unwrap();
    assert!(reader.stats(&Filter::default()).unwrap().is_empty());
    assert!(switchboard_audit::verify(folder.path()).unwrap().is_clean());
    assert_eq!(switchboard_audit::gc(&folder.path(), &Config::default()).unwrap().segments, 0);
    assert!(!folder.path().exists());
}

#[tokio::test]
async fn only_the_owner_can_read_the_store() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let executor = executor(folder.store());
    call(&executor, "answer", json!({"with": "x".repeat(60_000)})).await;
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.path()), 0o700);
    assert_eq!(mode(&folder.segment(1)), 0o600);
    assert_eq!(mode(&folder.path().join("manifest.log")), 0o600);
}
