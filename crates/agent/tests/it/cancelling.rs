//! What is kept when somebody stops a run in the middle of its calls.

use std::{sync::Arc, time::Duration};

use switchboard_agent::StopCause;
use switchboard_runtime::{
    CallEnd, CallStart, Policy, RecordClose, RecordOpen, Recorder, RegisteredTool, ToolExecutor,
    policy::PolicyCheck, toolcall::CallContext,
};
use switchboard_testkit::Fake;
use switchboard_toolcall::serde_json::Value;

use crate::scripted::{TestAgent, calls, check, says};

const TURN: [(&str, &str); 4] = [
    ("write", r#"{"secs":9}"#),
    ("wait", r#"{"secs":1}"#),
    ("wait", r#"{"secs":8}"#),
    ("write", r#"{"secs":1}"#),
];

// ML-5: finished siblings keep their results.
#[tokio::test(start_paused = true)]
async fn finished_siblings_keep_their_results() {
    let mut stage = TestAgent::new([calls(&TURN), says("Never.")])
        .configured("sequential_writes = true")
        .cancelled_after(Duration::from_secs(5));
    assert_eq!(stage.run().await.stop, StopCause::Cancelled);
    let expected = [
        "Error: Tool 'write' was cancelled; side effects may have happened",
        "done",
        "Error: Tool 'wait' was cancelled",
        "Error: Tool 'write' was not run: the turn was cancelled",
    ];
    assert_eq!(stage.texts(), expected);
    assert_eq!(stage.asked().len(), 1);

    // The user goes on from there.
    stage.cx = CallContext::default();
    stage.conversation.say("Go on");
    let outcome = stage.run().await;
    assert_eq!(outcome.answer.as_deref(), Some("Never."));
}

// ML-5: even one who walks away leaves a valid conversation, with what had ended.
#[tokio::test(start_paused = true)]
async fn a_dropped_run_leaves_a_valid_conversation() {
    let mut stage = TestAgent::new([calls(&TURN)]);
    let _ = tokio::time::timeout(Duration::from_secs(5), stage.run()).await.unwrap_err();
    check(stage.conversation.messages());
    let unknown = "Error: no result of this call was kept; side effects may have happened";
    assert_eq!(stage.texts(), [unknown, "done", unknown, "done"]);
}

/// A policy that asks somebody who has gone home.
struct Silent;

impl Policy for Silent {
    fn check<'a>(
        &'a self,
        _: &'a RegisteredTool,
        _: &'a Value,
        _: &'a CallContext,
    ) -> PolicyCheck<'a> {
        PolicyCheck::Pending(Box::pin(std::future::pending()))
    }
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

/// Cancels a turn of two calls after five seconds; returns how long it took and what the model reads.
async fn cancelled(config: &str, executor: ToolExecutor) -> (u64, Vec<String>) {
    let mut stage = TestAgent::new([calls(&[("echo", "{}"), ("echo", "{}")])])
        .configured(config)
        .cancelled_after(Duration::from_secs(5));
    executor.tools().add(Fake::echoes("echo")).unwrap();
    stage.executor = executor;
    let began = tokio::time::Instant::now();
    assert_eq!(stage.run().await.stop, StopCause::Cancelled);
    let texts = stage.texts().iter().map(ToString::to_string).collect();
    (began.elapsed().as_secs(), texts)
}

// ML-5
#[tokio::test(start_paused = true)]
async fn a_policy_or_a_store_that_never_answers_holds_nobody_up() {
    for config in ["max_parallel = 1", "sequential_writes = true"] {
        let second = "Error: Tool 'echo' was not run: the turn was cancelled";
        let silent = ToolExecutor::builder().policy(Silent).build();
        let expected = ["Error: Tool 'echo' was cancelled", second].map(str::to_owned);
        assert_eq!(cancelled(config, silent).await, (5, expected.to_vec()));
        let stalled = ToolExecutor::builder().recorder(Arc::new(Stalled)).build();
        assert_eq!(cancelled(config, stalled).await, (5, expected.to_vec()));
    }
}
