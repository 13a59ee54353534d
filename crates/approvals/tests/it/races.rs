//! Of those who decide at once one wins, and the others are told.

use std::{sync::Barrier, thread};

use serde_json::json;
use switchboard_approvals::{Error, Remember};

use crate::{House, always, no, yes};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_decide_one_wins() {
    let house = House::new();
    for round in 0..20 {
        let (pending, called) = house.hold("act", json!({"round": round})).await;
        let start = Barrier::new(8);
        let decide = |allow: bool| {
            let desk = house.elsewhere();
            start.wait();
            desk.decide(&pending.id, if allow { yes() } else { no() })
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
            assert!(matches!(error, Error::Over { .. }), "{error}");
        }
        let allowed = won[0].answer.decision == switchboard_runtime::Ruling::Allow;
        assert_eq!(called.await.unwrap().is_success(), allowed);
    }
}

// Whoever decides at the very end has either decided or is told that it was too late: never both, never neither.
#[tokio::test(start_paused = true)]
async fn a_decision_at_the_last_moment_counts_or_is_refused() {
    for millis in [299_999, 300_000, 300_001, 300_300] {
        let house = House::new();
        let (pending, called) = house.hold("act", json!({})).await;
        tokio::time::sleep(std::time::Duration::from_millis(millis)).await;
        let decided = house.elsewhere().decide(&pending.id, yes());
        assert_eq!(called.await.unwrap().is_success(), decided.is_ok(), "{millis}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_that_are_left_at_once_are_all_kept() {
    let house = House::new();
    let mut held = Vec::new();
    for number in 0..8 {
        held.push(house.hold("act", json!({"number": number})).await);
    }
    thread::scope(|scope| {
        for (pending, _) in &held {
            let desk = house.elsewhere();
            scope.spawn(move || desk.decide(&pending.id, always(Remember::Arguments)).unwrap());
        }
    });
    for (_, called) in held {
        assert!(called.await.unwrap().is_success());
    }
    assert_eq!(house.desk.rules().unwrap().len(), 8);
}

// Who hears that it was allowed for good may call again at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_is_there_before_its_answer_is_heard() {
    let house = House::new();
    for number in 0..20 {
        let (pending, called) = house.hold("act", json!({"number": number})).await;
        let desk = house.elsewhere();
        let decider = thread::spawn(move || desk.decide(&pending.id, always(Remember::Arguments)));
        assert!(called.await.unwrap().is_success());
        assert_eq!(house.desk.rules().unwrap().len(), number + 1);
        decider.join().unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn who_comes_too_late_leaves_no_rule() {
    let house = House::new();
    let (pending, called) = house.hold("act", json!({})).await;
    house.elsewhere().decide(&pending.id, no()).unwrap();
    let late = house.elsewhere().decide(&pending.id, always(Remember::Tool));
    assert!(matches!(late, Err(Error::Over { .. })), "{late:?}");
    assert!(!called.await.unwrap().is_success());
    assert!(house.desk.rules().unwrap().is_empty());
}
