//! Idempotency keys over processes.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use switchboard_audit::{Config, Results, Store};
use switchboard_runtime::{
    CallStart, IdempotencyStore, Recorder,
    record::{Claim, ClaimOutcome},
};
use switchboard_toolcall::{CallContext, CallId, ErrorKind, ToolCall, ToolOutput};

use crate::support::{Folder, cancelled, executor, open, start};

/// The beginning of a call.
fn pay() -> Arc<CallStart> {
    start("pay", "{}".to_owned())
}

fn claim(id: CallId, key: &str, fingerprint: u8) -> Claim {
    Claim {
        id,
        caller: None,
        key: key.into(),
        fingerprint: [fingerprint; 32],
        within: Duration::from_secs(3600),
    }
}

#[tokio::test]
async fn a_key_stands_for_one_act() {
    let folder = Folder::new();
    let (first, second) = (pay(), pay());
    let store = folder.store();
    open(&store, &first).await;
    let ask = |claim: Claim| {
        let other = folder.store();
        async move { other.claim(&claim).await.unwrap() }
    };
    let claimed = store.claim(&claim(first.id, "key", 1)).await.unwrap();
    assert!(matches!(claimed, ClaimOutcome::First));
    let claimed = store.claim(&claim(second.id, "key", 1)).await.unwrap();
    assert!(matches!(claimed, ClaimOutcome::Running(id) if id == first.id), "{claimed:?}");
    // Another process sees the same.
    let claimed = ask(claim(second.id, "key", 1)).await;
    assert!(matches!(claimed, ClaimOutcome::Running(id) if id == first.id), "{claimed:?}");
    assert!(
        matches!(ask(claim(second.id, "key", 2)).await, ClaimOutcome::Other(id) if id == first.id)
    );
    assert!(matches!(ask(claim(second.id, "other", 2)).await, ClaimOutcome::First));
    let mut of_another = claim(second.id, "key", 1);
    of_another.caller = Some("somebody".into());
    assert!(matches!(ask(of_another).await, ClaimOutcome::First));
    store.close(cancelled(&first));
    let claimed = ask(claim(second.id, "key", 1)).await;
    let ClaimOutcome::Ended(id, Err(error)) = claimed else { panic!("{claimed:?}") };
    assert_eq!((id, error.kind), (first.id, ErrorKind::Cancelled));
}

#[tokio::test]
async fn a_key_that_was_given_back_or_ran_out_is_free() {
    let folder = Folder::new();
    let store = folder.store();
    let (first, second) = (pay(), pay());
    open(&store, &first).await;
    assert!(matches!(store.claim(&claim(first.id, "key", 1)).await.unwrap(), ClaimOutcome::First));
    store.release(&claim(second.id, "key", 1));
    let claimed = store.claim(&claim(second.id, "key", 1)).await.unwrap();
    assert!(
        matches!(claimed, ClaimOutcome::Running(_)),
        "only who has it can give it back: {claimed:?}"
    );
    store.release(&claim(first.id, "key", 1));
    let mut short = claim(second.id, "key", 1);
    short.within = Duration::ZERO;
    assert!(matches!(store.claim(&short).await.unwrap(), ClaimOutcome::First));
    assert!(matches!(store.claim(&claim(first.id, "key", 3)).await.unwrap(), ClaimOutcome::First));
}

// RC-1: what was in flight when its process died is told to who asks again.
#[tokio::test]
async fn a_key_of_a_dead_process_is_unknown() {
    let folder = Folder::new();
    let (first, second) = (pay(), pay());
    {
        // Dropped with the call open: as a process that dies leaves it.
        let store = folder.store();
        open(&store, &first).await;
        assert!(matches!(
            store.claim(&claim(first.id, "key", 1)).await.unwrap(),
            ClaimOutcome::First
        ));
    }
    let claimed = folder.store().claim(&claim(second.id, "key", 1)).await.unwrap();
    assert!(matches!(claimed, ClaimOutcome::Unknown(id) if id == first.id), "{claimed:?}");
    assert_eq!(folder.outcomes(), [(first.id, "outcome_unknown")]);
}

#[tokio::test]
async fn the_next_process_returns_what_the_last_one_did() {
    let folder = Folder::new();
    let run = |value: serde_json::Value| {
        let executor = executor(folder.store());
        async move {
            let args = json!({"with": value}).as_object().cloned().unwrap();
            let cx = CallContext::default().with_idempotency_key("order-1");
            executor.execute(ToolCall::new("answer", args), &cx).await
        }
    };
    let first = run(json!({"paid": 1.50})).await;
    let again = run(json!({"paid": 1.50})).await;
    assert_eq!(again.value(), first.value());
    assert!(again.reused.is_some() && again.call_id != first.call_id);
    let other = run(json!({"paid": 2})).await;
    assert_eq!(other.outcome_code(), "invalid_parameters");
    let records = folder.records();
    assert!(records[1].reused.is_some() && records[2].reused.is_none());
}

#[tokio::test]
async fn content_comes_back_as_content() {
    use switchboard_toolcall::{Content, Part, tool_fn};
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// Answers with parts.
    struct Parts {}
    let folder = Folder::new();
    let run = || {
        let executor = executor(folder.store());
        let parts = tool_fn("parts", |Parts {}, _: CallContext| async move {
            let fields = json!({"structuredContent": {"a": 1}}).as_object().cloned().unwrap();
            ToolOutput::Content(Content {
                parts: vec![Part::text("one"), Part::text("two")],
                fields,
            })
        });
        executor.tools().add(parts).unwrap();
        async move {
            let cx = CallContext::default().with_idempotency_key("parts-1");
            let call = ToolCall::new("parts", serde_json::Map::new());
            executor.execute(call, &cx).await.outcome.unwrap().output
        }
    };
    let first = run().await;
    assert_eq!(run().await, first);
    assert!(matches!(first, ToolOutput::Content(_)));
}

// RN-2: what was redacted is no result, and a run would go on with it.
#[tokio::test]
async fn a_result_that_is_not_kept_as_it_was_is_not_returned() {
    let full = || Config::default();
    let none = || Config { results: Results::None, ..Config::default() };
    let secret = json!({"paid": 1, "password": "hunter2-and-more"});
    for (config, value, is_returned) in [
        (full as fn() -> Config, json!({"paid": 1}), true),
        (full, secret, false),
        (none, json!({"paid": 1}), false),
    ] {
        let folder = Folder::new();
        let run = || {
            let executor = executor(Store::open(config(), folder.path()));
            let args = json!({"with": value}).as_object().cloned().unwrap();
            async move {
                let cx = CallContext::default().with_idempotency_key("order-1");
                executor.execute(ToolCall::new("answer", args), &cx).await
            }
        };
        assert_eq!(run().await.outcome_code(), "ok");
        let again = run().await;
        match is_returned {
            true => assert_eq!(again.value().as_deref(), Some(&value)),
            false => {
                assert_eq!(again.error_kind(), Some(ErrorKind::OutcomeUnknown), "{again:?}");
                assert!(!again.text().contains("[redacted]"), "{}", again.text());
            }
        }
        // It ran once.
        let ran = folder.records().iter().filter(|record| record.reused.is_none()).count();
        assert_eq!(ran, if is_returned { 1 } else { 2 });
    }
}
