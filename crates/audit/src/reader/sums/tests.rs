use std::time::{Duration, UNIX_EPOCH};

use proptest::prelude::*;
use switchboard_toolcall::{CallId, ErrorKind};

use super::*;

fn record(tool: &str, second: u64, nanoseconds: u64, outcome: CallOutcome) -> Record {
    Record {
        id: CallId::generate(),
        tool: tool.to_owned(),
        server: None,
        caller: second.is_multiple_of(2).then(|| "ada".to_owned()),
        client: None,
        conversation: None,
        run: None,
        profile: None,
        shown_as: None,
        arguments: "{}".to_owned(),
        outcome,
        duration: Some(Duration::from_nanos(nanoseconds)),
        started: UNIX_EPOCH + Duration::from_secs(second),
        bytes: Some(1),
        reused: None,
        node: None,
    }
}

fn sums(query: &FigureQuery, records: &[Record]) -> FigureSums {
    let mut sums = query.sums();
    records.iter().for_each(|record| sums.add(record));
    sums
}

/// Ten steps of ten seconds.
fn query(by: GroupBy) -> FigureQuery {
    let window = FigureWindow { from: UNIX_EPOCH, step: Duration::from_secs(10), steps: 10, by };
    FigureQuery { filter: Filter::default(), window: Some(window) }
}

#[test]
fn many_calls_are_summed_in_little_memory() {
    let query = FigureQuery::default();
    let mut sums = query.sums();
    let many = 50_000;
    for milliseconds in 1..=many {
        sums.add(&record("echo", 0, milliseconds * 1_000_000, CallOutcome::Ok));
    }
    let stats = sums.stats();
    assert_eq!((stats[0].calls, stats[0].bytes), (many, many));
    let half = many as f64 / 2.0;
    assert!((stats[0].p50_ms - half).abs() < half / 100.0, "{}", stats[0].p50_ms);
    let few = [2, 4, 9].map(|ms| record("echo", 0, ms * 1_000_000, CallOutcome::Ok));
    let few = ToolStats::of(&few);
    assert_eq!((few[0].p50_ms, few[0].p99_ms), (4.0, 9.0));
}

fn call() -> impl Strategy<Value = Record> {
    let outcome = prop_oneof![Just(CallOutcome::Ok), Just(CallOutcome::Failed(ErrorKind::Timeout))];
    ("[a-c]", 0_u64..120, 1_u64..1_000_000_000, outcome)
        .prop_map(|(tool, second, took, outcome)| record(&tool, second, took, outcome))
}

fn near(one: Option<f64>, other: Option<f64>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => (one - other).abs() <= other * 0.02,
        (one, other) => one == other,
    }
}

proptest! {
    // RC-2: sums of two stores, sent as JSON, are those of all their calls.
    #[test]
    fn sums_of_two_stores_are_those_of_all_calls(
        one in prop::collection::vec(call(), 0..40),
        other in prop::collection::vec(call(), 0..40),
        by in prop_oneof![Just(GroupBy::Tool), Just(GroupBy::Caller), Just(GroupBy::Server)],
    ) {
        let query = query(by);
        let mut merged = query.sums();
        for records in [&one, &other] {
            let sent = serde_json::to_vec(&sums(&query, records)).unwrap();
            prop_assert!(merged.merge(serde_json::from_slice(&sent).unwrap()));
        }
        let (merged, whole) =
            (merged.figures(), sums(&query, &[one, other].concat()).figures());
        prop_assert_eq!(&merged.kinds, &whole.kinds);
        let ours = merged.steps.iter().chain([&merged.total]);
        for (ours, theirs) in ours.zip(whole.steps.iter().chain([&whole.total])) {
            prop_assert_eq!((ours.calls, ours.failures), (theirs.calls, theirs.failures));
            prop_assert!(near(ours.p50_ms, theirs.p50_ms) && near(ours.p99_ms, theirs.p99_ms));
        }
        let names = |figures: &CallFigures| {
            let mut names: Vec<_> =
                figures.groups.iter().map(|(name, sums)| (name.clone(), sums.calls)).collect();
            names.sort();
            names
        };
        prop_assert_eq!(names(&merged), names(&whole));
    }
}

#[test]
fn what_cannot_be_sums_is_refused() {
    let query = query(GroupBy::Tool);
    let good = serde_json::to_value(sums(&query, &[record("a", 1, 5, CallOutcome::Ok)])).unwrap();
    let read = |json: serde_json::Value| serde_json::from_value::<FigureSums>(json);
    assert!(read(good.clone()).is_ok());
    // More failures, or more durations, than calls; so many calls that sums would overflow; no histogram.
    for total in [
        serde_json::json!({"calls": 1, "failures": 2}),
        serde_json::json!({"calls": 0, "durations": good["total"]["durations"]}),
        serde_json::json!({"calls": u64::MAX}),
        serde_json::json!({"calls": 1, "durations": "?"}),
    ] {
        let mut wrong = good.clone();
        wrong["total"] = total;
        assert!(read(wrong.clone()).is_err(), "{wrong}");
    }
    // Other steps than those that were asked for.
    let mut merged = query.sums();
    assert!(!merged.merge(FigureQuery::default().sums()));
    assert_eq!(merged.figures().total.calls, 0);
}
