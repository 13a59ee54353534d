//! Every call ends once, truthfully, and leaves one record.

use std::{future::pending, sync::Arc, time::Duration};

use serde_json::{Map, json};
use switchboard_runtime::{
    CallEnd, CallStart, RecordClose, RecordOpen, Recorder, ToolExecutor,
    toolcall::{CallContext, ErrorKind, ToolCall, ToolError, ToolOutput, Visibility},
};
use switchboard_testkit::{Fake, Witness};

use super::{envelope, executor, object, recorded};

/// Calls one of many tools, and returns the kind of failure and what the records say.
async fn check(name: &str, args: serde_json::Value) -> (Option<ErrorKind>, Vec<Option<ErrorKind>>) {
    let witness = Witness::default();
    let executor = executor([
        Fake::waits("wait", &witness),
        Fake::fails("fail", "no luck"),
        Fake::new("panic", |_, _| async { panic!("boom") }),
        Fake::echoes("strict").parameters(json!({"type": "object", "required": ["a"]})),
    ]);
    let result = executor.call(name, args).await;
    (result.error_kind(), recorded(&executor).await)
}

// EX-1, EX-2
#[tokio::test(start_paused = true)]
async fn every_ending_leaves_one_record() {
    let cases = [
        ("wait", json!({"secs": 1}), None),
        ("wait", json!({"secs": 99}), Some(ErrorKind::Timeout)),
        ("fail", json!({}), Some(ErrorKind::ToolError)),
        ("panic", json!({}), Some(ErrorKind::Internal)),
        ("strict", json!({}), Some(ErrorKind::InvalidParameters)),
        ("strict", json!([]), Some(ErrorKind::InvalidParameters)),
        ("nobody", json!({}), Some(ErrorKind::NotFound)),
        ("no__body", json!({}), Some(ErrorKind::UnknownServer)),
    ];
    for (name, args, expected) in cases {
        assert_eq!(check(name, args).await, (expected, vec![expected]), "{name}");
    }
}

// EX-3
#[tokio::test(start_paused = true)]
async fn the_deadline_drops_and_tells_the_tool() {
    let witness = Witness::default();
    let executor = executor([Fake::waits("wait", &witness)]);
    let result = executor.call("wait", json!({"secs": 99})).await;
    assert_eq!(result.text(), "Tool 'wait' timed out after 30s; side effects may have happened");
    assert_eq!(result.execution_time_ms(), 30_000.0);
    witness.saw("dropped and told").await;
    assert_eq!(witness.seen(), ["begun", "dropped and told"]);
}

// EX-3
#[tokio::test(start_paused = true)]
async fn the_narrowest_time_limit_wins() {
    let tool = |name: &str, timeout: Option<u64>| {
        let limit = timeout.map(Duration::from_millis);
        Fake::waits(name, &Witness::default())
            .read_only()
            .with(|spec| spec.settings.timeout = limit)
    };
    let executor = executor([tool("global", None), tool("own", Some(500))]);
    let cases = [
        ("global", None, "Tool 'global' timed out after 30s"),
        ("own", None, "Tool 'own' timed out after 0.5s"),
        ("own", Some(90), "Tool 'own' timed out after 90s"),
        ("global", Some(0), "Tool 'global' timed out after 0s"),
    ];
    for (name, timeout, expected) in cases {
        let cx = CallContext { timeout: timeout.map(Duration::from_secs), ..Default::default() };
        let call = ToolCall::new(name, object(json!({"secs": 1000})));
        assert_eq!(executor.execute(call, &cx).await.text(), expected);
    }
}

// EX-3: a limit beyond the clock's reach is as good as none.
#[tokio::test(start_paused = true)]
async fn an_endless_limit_is_no_trouble() {
    let executor = executor([Fake::waits("wait", &Witness::default())]);
    let cx = CallContext::default().with_timeout(Duration::MAX);
    let call = ToolCall::new("wait", object(json!({"secs": 86_400})));
    assert_eq!(executor.execute(call, &cx).await.text(), "done");
}

// EX-4
#[tokio::test(start_paused = true)]
async fn the_caller_can_cancel() {
    let witness = Witness::default();
    let executor = executor([Fake::waits("wait", &witness)]);
    let cx = CallContext::default();
    let call = ToolCall::new("wait", object(json!({"secs": 10})));
    let cancel = async {
        witness.saw("begun").await;
        cx.cancel.cancel();
    };
    let (result, ()) = tokio::join!(executor.execute(call, &cx), cancel);
    assert_eq!(result.text(), "Tool 'wait' was cancelled; side effects may have happened");
    assert_eq!(recorded(&executor).await, [Some(ErrorKind::Cancelled)]);
    witness.saw("dropped and told").await;
}

// EX-2, EX-4: walking away is cancelling.
#[tokio::test(start_paused = true)]
async fn a_caller_that_walks_away_leaves_a_record() {
    let witness = Witness::default();
    let executor = executor([Fake::waits("wait", &witness)]);
    let cx = CallContext::default();
    let call = ToolCall::new("wait", object(json!({"secs": 10})));
    tokio::select! {
        _ = executor.execute(call, &cx) => unreachable!("it waits"),
        () = witness.saw("begun") => {}
    }
    assert_eq!(recorded(&executor).await, [Some(ErrorKind::Cancelled)]);
    witness.saw("dropped and told").await;
}

// EX-7
#[tokio::test(start_paused = true)]
async fn the_time_is_in_every_result() {
    let executor = executor([Fake::waits("wait", &Witness::default())]);
    let result = executor.call("wait", json!({"secs": 1.5})).await;
    assert_eq!(envelope(&result)["execution_time_ms"].to_string(), "1500.0");
    let result = executor.call("nobody", json!({})).await;
    assert_eq!(envelope(&result)["execution_time_ms"].to_string(), "0.0");
    assert!(envelope(&result).get("waited_ms").is_none(), "no person was asked");
}

// EX-3, EX-7
#[tokio::test(start_paused = true)]
async fn time_counts_from_the_moment_a_call_was_asked_for() {
    let executor = executor([Fake::waits("wait", &Witness::default())]);
    let cx = CallContext { asked: Some(tokio::time::Instant::now()), ..Default::default() };
    tokio::time::advance(Duration::from_secs(8)).await; // servers connected
    let wait = |secs: u64| ToolCall::new("wait", object(json!({"secs": secs})));
    let result = executor.execute(wait(2), &cx).await;
    assert_eq!(result.execution_time_ms(), 10_000.0);
    let result = executor.execute(wait(99), &cx).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::Timeout));
    assert_eq!(result.execution_time_ms(), 30_000.0, "connecting is within the limit");
}

/// A store that cannot be written to.
struct Broken;

impl Recorder for Broken {
    fn open(&self, _: Arc<CallStart>) -> RecordOpen<'_> {
        RecordOpen::Pending(Box::pin(std::future::ready(Err("the disk is full".into()))))
    }

    fn close(&self, _: CallEnd<'_>) -> RecordClose<'_> {
        RecordClose::Done
    }
}

// RC-1
#[tokio::test]
async fn what_cannot_be_written_down_does_not_run_unless_it_only_reads() {
    let executor = ToolExecutor::builder().recorder(Arc::new(Broken)).build();
    executor.tools().add(Fake::answers("write", json!(1))).unwrap();
    executor.tools().add(Fake::answers("read", json!(1)).read_only()).unwrap();
    let result = executor.call("write", json!({})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::Unavailable));
    let expected =
        "Tool 'write' is unavailable: the record store could not be reached: the disk is full";
    assert_eq!(result.text(), expected);
    let hint = envelope(&result)["hint"].to_string();
    assert!(hint.contains("`switchboard doctor`"), "{hint}");
    // Who only knows of their own calls does not read what is wrong with the machine.
    let visibility = Visibility::default().watching(false);
    let cx = CallContext { visibility, ..CallContext::default() };
    let result = executor.execute(ToolCall::new("write", Map::new()), &cx).await;
    let expected = "Tool 'write' is unavailable: the record store could not be reached";
    assert_eq!(result.text(), expected);
    assert!(executor.call("read", json!({})).await.is_success());
}

/// A store on a disk that has stopped.
struct Stalled;

impl Recorder for Stalled {
    fn open(&self, _: Arc<CallStart>) -> RecordOpen<'_> {
        RecordOpen::Pending(Box::pin(std::future::pending()))
    }

    fn close(&self, _: CallEnd<'_>) -> RecordClose<'_> {
        RecordClose::Done
    }
}

// EX-3
#[tokio::test(start_paused = true)]
async fn a_store_that_never_answers_keeps_nobody_past_the_deadline() {
    let executor = ToolExecutor::builder().recorder(Arc::new(Stalled)).build();
    executor.tools().add(Fake::answers("write", json!(1))).unwrap();
    let result = executor.call("write", json!({})).await;
    assert_eq!(result.text(), "Tool 'write' timed out after 30s");
}

// EX-1: progress reaches the caller in order, before the result.
#[tokio::test]
async fn progress_comes_before_the_result() {
    use switchboard_runtime::toolcall::{Progress, ProgressUpdate};
    let tool = Fake::new("count", |_, cx| async move {
        for step in 0..3 {
            cx.progress.report(ProgressUpdate { progress: f64::from(step), ..Default::default() });
            tokio::task::yield_now().await;
        }
        Ok(ToolOutput::Value(json!("counted")))
    });
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let listener = seen.clone();
    let progress = Progress::to(move |update| listener.lock().unwrap().push(update.progress));
    let cx = CallContext { progress, ..Default::default() };
    let result = executor([tool]).execute(ToolCall::new("count", Default::default()), &cx).await;
    assert!(result.is_success());
    assert_eq!(*seen.lock().unwrap(), [0.0, 1.0, 2.0]);
}

// EX-3: a tool may have its whole time again with each report of progress, where it is set so.
#[tokio::test(start_paused = true)]
async fn progress_can_extend_the_deadline() {
    let slow = |extends: bool| {
        Fake::new(if extends { "extends" } else { "plain" }, |_, cx| async move {
            for _ in 0..5 {
                tokio::time::sleep(Duration::from_secs(20)).await;
                cx.progress.report(Default::default());
            }
            Ok(ToolOutput::Value(json!("done")))
        })
        .with(|spec| spec.settings.progress_extends_timeout = extends)
    };
    let executor = executor([slow(true), slow(false)]);
    assert_eq!(executor.call("extends", json!({})).await.text(), "done");
    let result = executor.call("plain", json!({})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::Timeout));
}

// EX-3, EX-8: the deadline covers the time in the queue.
#[tokio::test(start_paused = true)]
async fn waiting_for_a_slot_counts() {
    let tool = Fake::new("hang", |_, _| async {
        pending::<()>().await;
        Err(ToolError::failed("never"))
    })
    .with(|spec| spec.settings.max_concurrent = Some(1));
    let executor = executor([tool]);
    let (first, second) =
        tokio::join!(executor.call("hang", json!({})), executor.call("hang", json!({})));
    for result in [first, second] {
        assert_eq!(result.error_kind(), Some(ErrorKind::Timeout));
        assert_eq!(result.execution_time_ms(), 30_000.0);
    }
}
