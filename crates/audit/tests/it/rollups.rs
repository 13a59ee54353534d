//! Figures of many calls: from rollups, beside those of every call.

use serde_json::json;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use switchboard_audit::{FigureWindow, Filter, GroupBy, Reader, ToolStats};
use switchboard_runtime::Recorder;

use crate::support::{Folder, call, cancelled, executor, open, start};

/// More calls than are counted one by one.
const MANY: usize = 10_500;

// RC-2
#[tokio::test]
async fn figures_of_many_calls_are_those_of_each() {
    let folder = Folder::new();
    let store = folder.store();
    for number in 0..MANY {
        let start = start(&format!("tool_{}", number % 3), "{}".to_owned());
        open(&store, &start).await;
        let mut end = cancelled(&start);
        end.duration = Duration::from_micros(number as u64 + 1);
        end.error_kind = end.error_kind.filter(|_| number % 5 == 0);
        store.close(end);
    }
    drop(store);
    let mut reader = Reader::open(folder.path()).unwrap();
    let records = reader.list(&Filter::default()).unwrap();
    let (rolled, exact) = (reader.stats(&Filter::default()).unwrap(), ToolStats::of(&records));
    assert_eq!(rolled.len(), 3);
    for (rolled, exact) in rolled.iter().zip(&exact) {
        assert_eq!(
            (&rolled.tool, rolled.calls, rolled.failures),
            (&exact.tool, exact.calls, exact.failures)
        );
        for (rolled, exact) in [
            (rolled.p50_ms, exact.p50_ms),
            (rolled.p95_ms, exact.p95_ms),
            (rolled.p99_ms, exact.p99_ms),
        ] {
            assert!((rolled - exact).abs() <= exact * 0.01, "{rolled} for {exact}");
        }
    }
    let hour = Duration::from_secs(3600);
    let hours = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 3600;
    let from = UNIX_EPOCH + hour * u32::try_from(hours - 1).unwrap();
    let window =
        FigureWindow { from, step: Duration::from_secs(60), steps: 180, by: GroupBy::Tool };
    let figures = reader.figures(&Filter::default(), window).unwrap();
    assert_eq!((figures.total.calls, figures.is_partial), (MANY as u64, false));
    assert_eq!(figures.steps.iter().map(|step| step.calls).sum::<u64>(), MANY as u64);
    assert_eq!(figures.kinds.into_iter().collect::<Vec<_>>(), [("cancelled".to_owned(), 2100)]);
    assert_eq!(figures.groups.len(), 3);
    let activity = reader.activity(&Filter::default(), 24).unwrap().unwrap();
    assert!(activity.from <= activity.until && activity.until <= SystemTime::now());
    assert_eq!(activity.calls.values().flatten().sum::<u64>(), MANY as u64);
    let one = Filter { tool: Some("tool_1".to_owned()), ..Filter::default() };
    assert_eq!(
        reader.stats(&one).unwrap(),
        rolled.iter().filter(|stats| stats.tool == "tool_1").cloned().collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn an_index_without_rollups_gets_them() {
    let folder = Folder::new();
    folder.write(2).await;
    assert_eq!(folder.records().len(), 2);
    let index = rusqlite::Connection::open(folder.path().join("index.db")).unwrap();
    index.execute_batch("DROP TABLE rollups; DROP TABLE rollup_keys; DROP TABLE calls_text; PRAGMA user_version = 5").unwrap();
    drop(index);
    call(&executor(folder.store()), "fail", json!({"with": "no"})).await;
    assert_eq!(folder.records().len(), 3);
    let index = rusqlite::Connection::open(folder.path().join("index.db")).unwrap();
    let sum = "SELECT sum(calls) FROM rollups WHERE seconds = 60";
    assert_eq!(index.query_row(sum, [], |row| row.get::<_, u64>(0)).unwrap(), 3);
}
