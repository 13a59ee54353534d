//! Which calls are taken, and what an idempotency key means.

use std::collections::HashSet;

use serde_json::json;
use switchboard_runtime::QueueState;

use super::*;
use crate::Own;

#[tokio::test]
async fn only_what_may_run_twice_or_has_a_key_is_taken() {
    let own = Own::start();
    let cluster = own.connect().await;
    let gate = Gate::new(&cluster);
    let refused = [
        ("local", "Tool 'local' cannot be queued: only tools of workers can"),
        ("tools__write", "Tool 'tools__write' cannot be queued as it is: it might run twice"),
        ("nobody", "Tool 'nobody' not found"),
    ];
    for (name, expected) in refused {
        let result = gate.submit(name, json!({})).await.unwrap_err();
        assert!(result.text().starts_with(expected), "{}", result.text());
    }
    let cx = CallContext::for_caller("ada").with_idempotency_key("k");
    gate.submit_as("tools__write", json!({}), &cx).await.unwrap();
    // Each of these left one record.
    assert_eq!(gate.records().await.len(), refused.len() + 1);
}

#[tokio::test]
async fn a_key_stands_for_one_call_wherever_it_is_used() {
    let own = Own::start();
    let (cluster, diary) = (own.connect().await, Diary::default());
    let gates = [Gate::new(&cluster), Gate::new(&own.connect().await)];
    let cx = CallContext::for_caller("ada").with_idempotency_key("k");
    let args = json!({"note": "once"});
    let mut submitted = Vec::new();
    for _ in 0..5 {
        submitted
            .extend(gates.iter().map(|gate| gate.submit_as("tools__write", args.clone(), &cx)));
    }
    let ids = futures_util::future::join_all(submitted).await;
    let ids: HashSet<_> = ids.into_iter().map(|id| id.unwrap()).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    let id = *ids.iter().next().unwrap();
    let _worker = Hand::start(&cluster, "tools", "one", &diary);
    assert_eq!(gates[1].ended(id).await.state, QueueState::Done);
    assert_eq!(gates[0].submit_as("tools__write", args.clone(), &cx).await.unwrap(), id);

    for (name, args) in [("tools__write", json!({"note": "other"})), ("gpu__write", args.clone())] {
        let refused = gates[0].submit_as(name, args, &cx).await.unwrap_err();
        assert_eq!(refused.error_kind(), Some(ErrorKind::InvalidParameters));
        assert_eq!(
            refused.text(),
            "Idempotency key 'k' was used for a call with other arguments. Use a new key for a new act, and the same key \
             only to repeat one."
        );
    }
    // Another caller's key is another key.
    let bob = CallContext::for_caller("bob").with_idempotency_key("k");
    let other = gates[0].submit_as("tools__write", json!({"note": "bob's"}), &bob).await.unwrap();
    assert_ne!(other, id);
    gates[0].ended(other).await;
    assert_eq!((diary.times("once"), diary.times("bob's"), diary.times("other")), (1, 1, 0));
}

#[tokio::test]
async fn what_must_not_run_twice_is_tried_again_only_where_it_did_not_run() {
    let own = Own::start();
    let (cluster, diary) = (own.connect().await, Diary::default());
    let gate = Gate::new(&cluster);
    let _worker = Hand::start(&cluster, "tools", "one", &diary);
    for (code, runs) in [("unavailable", 1), ("timeout", 1), ("internal", 1), ("overloaded", 2)] {
        let cx = CallContext::for_caller("ada").with_idempotency_key(code);
        let args = json!({"note": code, "failures": 1, "kind": code});
        let id = gate.submit_as("tools__flaky", args, &cx).await.unwrap();
        assert_eq!(gate.ended(id).await.state, QueueState::Done);
        assert_eq!(diary.times(code), runs, "{code}");
    }
}
