//! Which calls are taken, and what an idempotency key means.

use std::collections::HashSet;

use serde_json::json;
use switchboard_runtime::QueueState;

use super::*;

#[tokio::test(start_paused = true)]
async fn only_what_may_run_twice_or_has_a_key_is_taken() {
    let servers = start();
    let cluster = servers.connect().await;
    let gateway = TestGateway::new(&cluster);
    let refused = [
        ("local", "Tool 'local' cannot be queued: only tools of workers can"),
        ("tools__write", "Tool 'tools__write' cannot be queued as it is: it might run twice"),
        ("nobody", "Tool 'nobody' not found"),
    ];
    for (name, expected) in refused {
        let result = gateway.submit(name, json!({})).await.unwrap_err();
        assert!(result.text().starts_with(expected), "{}", result.text());
    }
    let cx = CallContext::for_caller("ada").with_idempotency_key("k");
    gateway.submit_as("tools__write", json!({}), &cx).await.unwrap();
    // Each of these left one record.
    assert_eq!(gateway.records().await.len(), refused.len() + 1);
}

#[tokio::test(start_paused = true)]
async fn a_key_stands_for_one_call_wherever_it_is_used() {
    let servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateways = [TestGateway::new(&cluster), TestGateway::new(&servers.connect().await)];
    let cx = CallContext::for_caller("ada").with_idempotency_key("k");
    let args = json!({"note": "once"});
    let mut submitted = Vec::new();
    for _ in 0..5 {
        submitted.extend(
            gateways.iter().map(|gateway| gateway.submit_as("tools__write", args.clone(), &cx)),
        );
    }
    let ids = futures_util::future::join_all(submitted).await;
    let ids: HashSet<_> = ids.into_iter().map(|id| id.unwrap()).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    let id = *ids.iter().next().unwrap();
    let _worker = TestWorker::start(&cluster, "tools", "one", &log);
    assert_eq!(gateways[1].ended(id).await.state, QueueState::Done);
    assert_eq!(gateways[0].submit_as("tools__write", args.clone(), &cx).await.unwrap(), id);

    for (name, args) in [("tools__write", json!({"note": "other"})), ("gpu__write", args.clone())] {
        let refused = gateways[0].submit_as(name, args, &cx).await.unwrap_err();
        assert_eq!(refused.error_kind(), Some(ErrorKind::InvalidParameters));
        assert_eq!(
            refused.text(),
            "Idempotency key 'k' was used for a call with other arguments. Use a new key for a new act, and the same key \
             only to repeat one."
        );
    }
    // Another caller's key is another key.
    let bob = CallContext::for_caller("bob").with_idempotency_key("k");
    let other =
        gateways[0].submit_as("tools__write", json!({"note": "bob's"}), &bob).await.unwrap();
    assert_ne!(other, id);
    gateways[0].ended(other).await;
    assert_eq!((log.times("once"), log.times("bob's"), log.times("other")), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn what_must_not_run_twice_is_tried_again_only_where_it_did_not_run() {
    let servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let _worker = TestWorker::start(&cluster, "tools", "one", &log);
    for (code, runs) in [("unavailable", 1), ("timeout", 1), ("internal", 1), ("overloaded", 2)] {
        let cx = CallContext::for_caller("ada").with_idempotency_key(code);
        let args = json!({"note": code, "failures": 1, "kind": code});
        let id = gateway.submit_as("tools__flaky", args, &cx).await.unwrap();
        assert_eq!(gateway.ended(id).await.state, QueueState::Done);
        assert_eq!(log.times(code), runs, "{code}");
    }
}
