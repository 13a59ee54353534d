//! Deaths: of workers in mid-call, of whoever asked, and of the broker.

use serde_json::json;
use switchboard_runtime::{DurableCalls, QueueState};

use super::*;
use crate::Own;

#[tokio::test]
async fn a_call_whose_worker_dies_is_run_by_another() {
    let own = Own::start();
    let (cluster, first, second) = (own.connect().await, Diary::default(), Diary::default());
    let gate = Gate::new(&cluster);
    let worker = Hand::mortal(&cluster, "gpu", "one", &first);
    let id = gate.submit("gpu__hold", json!({"note": "n", "secs": 0.5})).await.unwrap();
    first.saw("n").await;
    drop(worker);
    let _other = Hand::mortal(&cluster, "gpu", "two", &second);
    let ended = gate.ended(id).await;
    assert_eq!((ended.state, text(&ended)), (QueueState::Done, "held".to_owned()));
    assert!(ended.attempts >= 2 && first.times("n") == 1 && second.times("n") >= 1);
}

#[tokio::test]
async fn what_must_not_run_twice_ends_as_unknown_when_its_worker_dies() {
    let own = Own::start();
    let (cluster, first, second) = (own.connect().await, Diary::default(), Diary::default());
    let gate = Gate::new(&cluster);
    let cx = CallContext::for_caller("ada").with_idempotency_key("k");
    let worker = Hand::mortal(&cluster, "tools", "one", &first);
    let id = gate.submit_as("tools__hold", json!({"note": "n"}), &cx).await.unwrap();
    first.saw("n").await;
    drop(worker);
    let _other = Hand::mortal(&cluster, "tools", "two", &second);
    let ended = gate.ended(id).await;
    assert_eq!((ended.state, kind(&ended)), (QueueState::Done, Some(ErrorKind::OutcomeUnknown)));
    let expected =
        "Tool 'tools__hold' was running when its worker was lost; whether it happened is not known";
    assert_eq!(text(&ended), expected);
    assert_eq!((first.times("n"), second.times("n")), (1, 0));
}

#[tokio::test]
async fn a_call_that_kills_its_workers_ends_with_the_dead_letters() {
    let own = Own::start();
    let (cluster, diary) = (own.connect().await, Diary::default());
    let gate = Gate::new(&cluster);
    let id = gate.submit("gpu__hold", json!({"note": "poison"})).await.unwrap();
    for death in 1..=3 {
        let worker = Hand::mortal(&cluster, "gpu", &format!("w{death}"), &diary);
        until("it has begun", async || (diary.times("poison") >= death).then_some(())).await;
        drop(worker);
    }
    // The last of them said nothing, so the next one ends the call without running it.
    let _worker = Hand::mortal(&cluster, "gpu", "last", &diary);
    let dead = gate.ended(id).await;
    assert_eq!((dead.state, dead.attempts), (QueueState::Dead, 3));
    let expected = "Tool 'gpu__hold' was begun 3 times, and each time its worker was lost";
    assert_eq!((text(&dead).as_str(), diary.times("poison")), (expected, 3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_outlive_the_gateway_and_the_broker() {
    let mut own = Own::start();
    let (cluster, diary) = (own.connect().await, Diary::default());
    let mut calls = Vec::new();
    let gate = Gate::new(&cluster);
    for number in 0..20 {
        let note = format!("idempotent {number}");
        calls.push((gate.submit("gpu__write", json!({"note": note})).await.unwrap(), note));
        let note = format!("once {number}");
        let cx = CallContext::for_caller("ada").with_idempotency_key(note.clone());
        let id = gate.submit_as("tools__write", json!({"note": note}), &cx).await.unwrap();
        calls.push((id, note));
    }
    drop((gate, cluster));
    own.nats.restart();

    let cluster = own.connect().await;
    let worker = own.connect().await;
    let hands =
        [Hand::start(&worker, "gpu", "one", &diary), Hand::start(&worker, "tools", "two", &diary)];
    let gate = Gate::new(&cluster);
    for (id, note) in &calls {
        let ended = gate.ended(*id).await;
        assert_eq!((ended.state, ended.attempts), (QueueState::Done, 1), "{note}");
        assert_eq!(diary.times(note), 1, "{note}");
    }
    drop(hands);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_waits_for_a_broker_that_comes_back() {
    let mut own = Own::start();
    let (cluster, diary) = (own.connect().await, Diary::default());
    let gate = Gate::new(&cluster);
    let worker = own.connect().await;
    let _one = Hand::start(&worker, "gpu", "one", &diary);
    let _two = Hand::start(&worker, "tools", "two", &diary);
    let cx = CallContext::for_caller("ada").with_idempotency_key("k");
    let once = json!({"note": "once", "secs": 1.0});
    let ids = [
        gate.submit("gpu__hold", json!({"note": "again", "secs": 1.0})).await.unwrap(),
        gate.submit_as("tools__hold", once, &cx).await.unwrap(),
    ];
    diary.saw("again").await;
    diary.saw("once").await;
    own.nats.kill();
    // The calls end while nobody can be told.
    tokio::time::sleep(Duration::from_secs(2)).await;
    own.nats.restart();
    for id in ids {
        let ended = gate.ended(id).await;
        assert_eq!((ended.state, text(&ended)), (QueueState::Done, "held".to_owned()));
    }
    assert_eq!((diary.times("again"), diary.times("once")), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_broker_nothing_is_said_to_be_queued() {
    let mut own = Own::start();
    let cluster = own.connect().await;
    let gate = Gate::new(&cluster);
    gate.submit("gpu__write", json!({"note": "before"})).await.unwrap();
    own.nats.kill();
    let refused = until("the broker is missed", async || {
        gate.submit("gpu__write", json!({"note": "during"})).await.err()
    })
    .await;
    assert_eq!(refused.error_kind(), Some(ErrorKind::Unavailable));
    assert!(refused.text().contains("NATS at nats://127.0.0.1:"), "{}", refused.text());
    let id = CallId::generate();
    assert!(gate.queue.look(id).await.is_err() && gate.queue.cancel(id).await.is_err());
}
