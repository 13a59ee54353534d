//! Of those who decide at once one wins, and the others are told.

use std::{sync::Barrier, thread};

use serde_json::json;
use switchboard_approvals::{Error, RuleScope};

use crate::{TestGateway, always, no, yes};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_decide_one_wins() {
    let gateway = TestGateway::new();
    for round in 0..20 {
        let (pending, called) = gateway.hold("act", json!({"round": round})).await;
        let start = Barrier::new(8);
        let decide = |allow: bool| {
            let queue = gateway.elsewhere();
            start.wait();
            queue.decide(&pending.id, if allow { yes() } else { no() })
        };
        let outcomes: Vec<_> = thread::scope(|scope| {
            let deciders: Vec<_> =
                (0..8).map(|number| scope.spawn(move || decide(number % 2 == 0))).collect();
            deciders.into_iter().map(|decider| decider.join().unwrap()).collect()
        });
        let won: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().ok()).collect();
        assert_eq!(won.len(), 1);
        let lost = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        for error in lost {
            assert!(matches!(error, Error::Closed { .. }), "{error}");
        }
        let allowed = won[0].outcome.decision == switchboard_runtime::Ruling::Allow;
        assert_eq!(called.await.unwrap().is_success(), allowed);
    }
}

// A decision at the very end either counts or is told that it came too late: never both, never neither.
#[tokio::test(start_paused = true)]
async fn a_decision_at_the_last_moment_counts_or_is_refused() {
    for millis in [299_999, 300_000, 300_001, 300_300] {
        let gateway = TestGateway::new();
        let (pending, called) = gateway.hold("act", json!({})).await;
        tokio::time::sleep(std::time::Duration::from_millis(millis)).await;
        let decided = gateway.elsewhere().decide(&pending.id, yes());
        assert_eq!(called.await.unwrap().is_success(), decided.is_ok(), "{millis}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_that_are_left_at_once_are_all_kept() {
    let gateway = TestGateway::new();
    let mut held = Vec::new();
    for number in 0..8 {
        held.push(gateway.hold("act", json!({"number": number})).await);
    }
    thread::scope(|scope| {
        for (pending, _) in &held {
            let queue = gateway.elsewhere();
            scope.spawn(move || queue.decide(&pending.id, always(RuleScope::Arguments)).unwrap());
        }
    });
    for (_, called) in held {
        assert!(called.await.unwrap().is_success());
    }
    assert_eq!(gateway.queue.rules().unwrap().len(), 8);
}

// Who hears that it was allowed for good may call again at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_is_there_before_its_answer_is_heard() {
    let gateway = TestGateway::new();
    for number in 0..20 {
        let (pending, called) = gateway.hold("act", json!({"number": number})).await;
        let queue = gateway.elsewhere();
        let decider =
            thread::spawn(move || queue.decide(&pending.id, always(RuleScope::Arguments)));
        assert!(called.await.unwrap().is_success());
        assert_eq!(gateway.queue.rules().unwrap().len(), number + 1);
        decider.join().unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn who_comes_too_late_leaves_no_rule() {
    let gateway = TestGateway::new();
    let (pending, called) = gateway.hold("act", json!({})).await;
    gateway.elsewhere().decide(&pending.id, no()).unwrap();
    let late = gateway.elsewhere().decide(&pending.id, always(RuleScope::Tool));
    assert!(matches!(late, Err(Error::Closed { .. })), "{late:?}");
    assert!(!called.await.unwrap().is_success());
    assert!(gateway.queue.rules().unwrap().is_empty());
}
