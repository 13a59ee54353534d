//! Calls that are not run again: idempotency keys, kept answers, identical reads under way (SPEC RC-1).

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use switchboard_runtime::{
    Claim, ClaimOutcome, Config, IdempotencyStore, ToolExecutor,
    toolcall::{
        BoxError, BoxFuture, CallContext, CallId, ErrorKind, Principal, Tool, ToolCall, ToolError,
        ToolOutput, ToolResult, ToolSpec,
    },
};
use switchboard_testkit::Fake;

use crate::{envelope, object};

/// An executor with a tool `act` that counts its runs and takes a second, and the count.
fn test_executor(
    settings: &str,
    change: impl FnOnce(Fake) -> Fake,
) -> (ToolExecutor, Arc<AtomicU32>) {
    with_store(settings, None, change)
}

fn with_store(
    settings: &str,
    store: Option<Remembers>,
    change: impl FnOnce(Fake) -> Fake,
) -> (ToolExecutor, Arc<AtomicU32>) {
    let runs = Arc::new(AtomicU32::new(0));
    let counter = runs.clone();
    let act = Fake::new("act", move |args: Value, _| {
        let run = counter.fetch_add(1, Ordering::SeqCst) + 1;
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            match args["fails"].as_bool() {
                Some(true) => Err(ToolError::failed(format!("run {run} failed"))),
                _ => Ok(ToolOutput::Value(json!({"run": run}))),
            }
        }
    });
    let config: Config = toml::from_str(settings).unwrap();
    let mut executor = ToolExecutor::builder().config(config);
    if let Some(store) = store {
        executor = executor.idempotency(Arc::new(store));
    }
    let executor = executor.build();
    executor.tools().add(change(act)).unwrap();
    (executor, runs)
}

fn keyed(key: &str) -> CallContext {
    CallContext::for_caller("ada").with_idempotency_key(key)
}

async fn act(executor: &ToolExecutor, args: Value, cx: &CallContext) -> ToolResult {
    executor.execute(ToolCall::new("act", object(args)), cx).await
}

/// What a client sees of it: the text and which mark it has.
fn seen(result: &ToolResult) -> (String, Option<&'static str>) {
    let marks = ["replayed", "cached", "shared"];
    let envelope = envelope(result);
    (result.text(), marks.into_iter().find(|mark| envelope[mark] == true))
}

#[tokio::test(start_paused = true)]
async fn a_key_stands_for_one_act() {
    let (executor, runs) = test_executor("idempotency = '1m'", |tool| tool);
    let first = act(&executor, json!({"a": 1, "b": 2}), &keyed("k")).await;
    assert_eq!(seen(&first), (r#"{"run":1}"#.to_owned(), None));
    let again = act(&executor, json!({"b": 2.0, "a": 1}), &keyed("k")).await;
    assert_eq!(seen(&again), (r#"{"run":1}"#.to_owned(), Some("replayed")));
    assert_ne!(first.call_id, again.call_id, "each call has a record of its own");

    let other = act(&executor, json!({"a": 2}), &keyed("k")).await;
    assert_eq!(other.error_kind(), Some(ErrorKind::InvalidParameters));
    let expected = "Idempotency key 'k' was used for a call with other arguments";
    assert!(other.text().starts_with(expected), "{}", other.text());

    let stranger = CallContext::for_caller("bob").with_idempotency_key("k");
    assert_eq!(seen(&act(&executor, json!({"a": 2}), &stranger).await).1, None);
    assert_eq!(seen(&act(&executor, json!({"a": 2}), &keyed("other")).await).1, None);
    assert_eq!(runs.load(Ordering::SeqCst), 3);

    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(seen(&act(&executor, json!({"a": 2}), &keyed("k")).await).1, None);
}

#[tokio::test(start_paused = true)]
async fn a_failed_act_is_not_tried_again_under_its_key() {
    let (executor, runs) = test_executor("", |tool| tool);
    for mark in [None, Some("replayed")] {
        let result = act(&executor, json!({"fails": true}), &keyed("k")).await;
        assert_eq!(seen(&result), ("run 1 failed".to_owned(), mark));
    }
    let hasty = keyed("slow").with_timeout(Duration::from_millis(500));
    for _ in 0..2 {
        let result = act(&executor, json!({}), &hasty).await;
        assert_eq!(result.error_kind(), Some(ErrorKind::Timeout));
    }
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn the_same_key_at_the_same_time_acts_once() {
    let (executor, runs) = test_executor("", |tool| tool);
    let cx = keyed("k");
    let (one, other) = tokio::join!(act(&executor, json!({}), &cx), act(&executor, json!({}), &cx));
    assert_eq!(seen(&one), (r#"{"run":1}"#.to_owned(), None));
    assert_eq!(seen(&other), (r#"{"run":1}"#.to_owned(), Some("replayed")));
    let impatient = keyed("k2").with_timeout(Duration::from_millis(500));
    let patient = keyed("k2");
    let (one, other) =
        tokio::join!(act(&executor, json!({}), &patient), act(&executor, json!({}), &impatient));
    assert!(one.is_success());
    assert_eq!(other.error_kind(), Some(ErrorKind::Timeout), "who waits keeps its own deadline");
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn who_walks_away_leaves_the_key_free_only_if_nothing_ran() {
    let (executor, runs) = test_executor("max_concurrent = 1", |tool| tool);
    let cx = keyed("ran");
    let walked = tokio::time::timeout(Duration::from_millis(500), act(&executor, json!({}), &cx));
    assert!(walked.await.is_err());
    let again = act(&executor, json!({}), &cx).await;
    assert_eq!(seen(&again).1, Some("replayed"));
    let expected = "Tool 'act' was cancelled; side effects may have happened";
    assert_eq!(again.text(), expected);

    // The only slot is taken, so this one never begins.
    let busy = keyed("busy");
    let (waits, hasty) = (keyed("waits"), Duration::from_millis(500));
    let (_, walked) = tokio::join!(
        act(&executor, json!({}), &busy),
        tokio::time::timeout(hasty, act(&executor, json!({}), &waits)),
    );
    assert!(walked.is_err());
    assert_eq!(seen(&act(&executor, json!({}), &waits).await).1, None);
    assert_eq!(runs.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn identical_reads_under_way_share_a_run_where_that_is_set() {
    let nobody = CallContext::default();
    for (settings, expected) in [("", 2), ("share_reads = true", 1)] {
        let (executor, runs) = test_executor(settings, Fake::read_only);
        let (_, other) =
            tokio::join!(act(&executor, json!({}), &nobody), act(&executor, json!({}), &nobody));
        assert_eq!(seen(&other).1, (expected == 1).then_some("shared"));
        assert_eq!(runs.load(Ordering::SeqCst), expected);
    }
    let (executor, runs) = test_executor("share_reads = true", |tool| tool);
    tokio::join!(act(&executor, json!({}), &nobody), act(&executor, json!({}), &nobody));
    assert_eq!(runs.load(Ordering::SeqCst), 2, "a tool that may write is never shared");
}

#[tokio::test(start_paused = true)]
async fn who_follows_does_not_end_with_the_leader() {
    let (executor, runs) = test_executor("share_reads = true", Fake::read_only);
    let leader = CallContext::default().with_timeout(Duration::from_millis(300));
    let follower = CallContext::default();
    let (one, other) =
        tokio::join!(act(&executor, json!({}), &leader), act(&executor, json!({}), &follower));
    assert_eq!(one.error_kind(), Some(ErrorKind::Timeout));
    assert_eq!(seen(&other), (r#"{"run":2}"#.to_owned(), None));
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn answers_are_kept_as_long_as_the_tool_says() {
    let cached = |tool: Fake| tool.with(|spec| spec.settings.cache = Some(Duration::from_secs(60)));
    let (executor, runs) = test_executor("", cached);
    let nobody = CallContext::default();
    assert_eq!(seen(&act(&executor, json!({}), &nobody).await).1, None);
    assert_eq!(seen(&act(&executor, json!({}), &nobody).await).1, Some("cached"));
    assert_eq!(seen(&act(&executor, json!({"a": 1}), &nobody).await).1, None);
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(seen(&act(&executor, json!({}), &nobody).await).1, None);
    assert_eq!(runs.load(Ordering::SeqCst), 3);
    for run in [4, 5] {
        let failed = act(&executor, json!({"fails": true}), &nobody).await;
        assert_eq!(failed.text(), format!("run {run} failed"), "failures are not kept");
    }
}

/// A store that remembers an earlier call.
struct Remembers(Mutex<Vec<Result<ClaimOutcome, BoxError>>>);

impl IdempotencyStore for Remembers {
    fn claim<'a>(&'a self, claim: &'a Claim) -> BoxFuture<'a, Result<ClaimOutcome, BoxError>> {
        assert_eq!((&*claim.key, claim.caller.as_deref()), ("k", Some("ada")));
        Box::pin(std::future::ready(self.0.lock().unwrap().pop().expect("an answer")))
    }

    fn release(&self, _: &Claim) {}
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_process_did_is_told() {
    let id = CallId::generate();
    let check = async |claimed: Result<ClaimOutcome, BoxError>, expected: &str| {
        let store = Remembers(Mutex::new(vec![claimed]));
        let (executor, runs) = with_store("", Some(store), |tool| tool);
        let result = act(&executor, json!({}), &keyed("k")).await;
        let text = result.text().replace(&id.to_string(), "ID");
        assert_eq!(format!("{}: {text}", result.outcome_code()), expected);
        runs.load(Ordering::SeqCst)
    };
    let ended = Ok(ToolOutput::Value(json!("done before")));
    assert_eq!(check(Ok(ClaimOutcome::Ended(id, ended)), "ok: done before").await, 0);
    let running = "unavailable: The call with idempotency key 'k' still runs elsewhere, as ID; ask again later";
    assert_eq!(check(Ok(ClaimOutcome::Running(id)), running).await, 0);
    let unknown = "outcome_unknown: The call with idempotency key 'k' was in flight when its process died (ID); \
                   whether it happened is not known";
    assert_eq!(check(Ok(ClaimOutcome::Unknown(id)), unknown).await, 0);
    let not_kept = "outcome_unknown: The call with idempotency key 'k' has ended (ID); its result is not kept as it was";
    assert_eq!(check(Ok(ClaimOutcome::NotKept(id)), not_kept).await, 0);
    let other = "invalid_parameters: Idempotency key 'k' was used for a call with other arguments. \
                 Use a new key for a new act, and the same key only to repeat one.";
    assert_eq!(check(Ok(ClaimOutcome::Other(id)), other).await, 0);
    let broken =
        "unavailable: Tool 'act' is unavailable: the record store could not be reached: no disk";
    assert_eq!(check(Err("no disk".into()), broken).await, 0);
    assert_eq!(check(Ok(ClaimOutcome::First), r#"ok: {"run":1}"#).await, 1);
}

/// A tool whose calls are only queued.
struct Queues(ToolSpec, AtomicU32);

impl Tool for Queues {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(
        &'a self,
        _: Value,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(Err(ToolError::failed("it is not called"))))
    }

    fn enqueue<'a>(
        &'a self,
        _: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallId, ToolError>> {
        self.1.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(cx.call_id.ok_or_else(|| ToolError::failed("no id"))))
    }
}

// AU-3: not even under one name.
#[tokio::test(start_paused = true)]
async fn a_result_that_depends_on_the_caller_is_never_shared() {
    let own = |tool: Fake| {
        tool.read_only().with(|spec| {
            spec.settings.per_caller = true;
            spec.settings.cache = Some(Duration::from_secs(60));
        })
    };
    let (executor, runs) = test_executor("share_reads = true", own);
    let caller = |id: &str| CallContext {
        principal: Principal::Token { name: "ada".into(), id: id.into() },
        ..CallContext::for_caller("ada")
    };
    let (ada, other, nobody) = (caller("1"), caller("2"), CallContext::default());
    let (one, same, two, none) = tokio::join!(
        act(&executor, json!({}), &ada),
        act(&executor, json!({}), &ada),
        act(&executor, json!({}), &other),
        act(&executor, json!({}), &nobody),
    );
    assert_eq!(
        [&one, &same, &two, &none].map(|got| seen(got).1),
        [None, Some("shared"), None, None]
    );
    assert_eq!(seen(&act(&executor, json!({}), &other).await), (seen(&two).0, Some("cached")));
    assert_eq!(runs.load(Ordering::SeqCst), 3);
    let keyed = |cx: &CallContext| cx.clone().with_idempotency_key("k");
    act(&executor, json!({}), &keyed(&ada)).await;
    let refused = act(&executor, json!({}), &keyed(&other)).await;
    assert!(!refused.is_success(), "{:?}", seen(&refused));
}

// A queued call is nobody else's answer, and the queue knows its own keys.
#[tokio::test(start_paused = true)]
async fn what_is_to_be_queued_is_neither_shared_nor_given_again() {
    let config: Config = toml::from_str("share_reads = true").unwrap();
    let executor = ToolExecutor::builder().config(config).build();
    let mut spec = Fake::echoes("act").read_only().spec().clone();
    spec.settings.cache = Some(Duration::from_secs(60));
    spec.settings.durable = true;
    let tool = Arc::new(Queues(spec, AtomicU32::new(0)));
    executor.tools().add(tool.clone()).unwrap();
    let submit = async |cx: CallContext| {
        executor.submit(ToolCall::new("act", object(json!({}))), &cx).await.unwrap()
    };
    let (one, two) = tokio::join!(submit(keyed("k")), submit(CallContext::default()));
    let three = submit(keyed("k")).await;
    assert!(one != two && two != three && one != three);
    assert_eq!(tool.1.load(Ordering::SeqCst), 3);
    let refused = executor.submit(ToolCall::new("nobody", object(json!({}))), &keyed("k")).await;
    assert_eq!(refused.unwrap_err().error_kind(), Some(ErrorKind::NotFound));
    assert_eq!(crate::recorded(&executor).await.len(), 4, "each left one record");
}

// Only what says so is queued, and nothing runs instead.
#[tokio::test]
async fn a_tool_that_is_not_durable_is_not_queued() {
    let executor = crate::executor([Fake::answers("act", json!(1))]);
    let refused = executor.submit(ToolCall::new("act", object(json!({}))), &keyed("k")).await;
    let expected =
        "Tool 'act' cannot be queued: only tools of workers can; call it and wait for its answer";
    assert_eq!(refused.unwrap_err().text(), expected);
}
