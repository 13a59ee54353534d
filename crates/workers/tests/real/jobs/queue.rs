//! The queue itself: one call for each slot, calls that nobody here can run, figures.

use serde_json::json;
use switchboard_runtime::{DurableCalls, QueueState};

use super::*;
use crate::Own;

#[tokio::test]
async fn a_worker_takes_no_more_than_it_can_run() {
    let own = Own::start();
    let (cluster, diary) = (own.connect().await, Diary::default());
    let gate = Gate::new(&cluster);
    let _busy = Hand::with(jobs(&cluster), "gpu", "one", workshop(&diary), 1);
    let held = gate.submit("gpu__hold", json!({"note": "held"})).await.unwrap();
    diary.saw("held").await;
    let id = gate.submit("gpu__write", json!({"note": "free"})).await.unwrap();
    // Whoever has a slot gets it, and the busy one has not put it aside: it is run once, in the first attempt.
    let other = Diary::default();
    let _free = Hand::with(jobs(&cluster), "gpu", "two", workshop(&other), 1);
    assert_eq!(gate.ended(id).await.attempts, 1);
    assert_eq!((diary.times("free"), other.times("free")), (0, 1));
    assert_eq!(gate.look(held).await.state, QueueState::Running);
    assert!(gate.queue.cancel(held).await.unwrap());
}

#[tokio::test]
async fn a_call_waits_for_a_worker_that_has_its_tool() {
    let own = Own::start();
    let (cluster, diary) = (own.connect().await, Diary::default());
    let gate = Gate::new(&cluster);
    let _without = Hand::start(&cluster, "gpu", "one", &diary);
    let id = gate.submit("gpu__gone", json!({})).await.unwrap();
    let executor = ToolExecutor::default();
    executor.tools().add(Fake::answers("gone", json!("here"))).unwrap();
    let _with = Hand::with(jobs(&cluster), "gpu", "two", executor, 1);
    let ended = gate.ended(id).await;
    assert_eq!((ended.attempts, text(&ended)), (1, "here".to_owned()));
}

#[tokio::test]
async fn figures_tell_how_long_the_queues_are() {
    let own = Own::start();
    let (cluster, diary) = (own.connect().await, Diary::default());
    let gate = Gate::new(&cluster);
    assert_eq!(gate.queue.figures().await.unwrap(), []);
    for _ in 0..3 {
        gate.submit("gpu__hold", json!({"note": "held"})).await.unwrap();
    }
    let figures = gate.queue.figures().await.unwrap();
    let one = |figures: &[jobs::Figures]| {
        figures.iter().find(|figures| figures.is_of("gpu")).cloned().unwrap()
    };
    let waiting = one(&figures);
    assert_eq!((figures.len(), waiting.waiting, waiting.taken, waiting.dead), (1, 3, 0, 0));
    assert!(waiting.oldest.is_some());

    let _worker = Hand::with(jobs(&cluster), "gpu", "one", workshop(&diary), 2);
    until("two of them run", async || {
        let figures = one(&gate.queue.figures().await.unwrap());
        ((figures.waiting, figures.taken) == (1, 2)).then_some(())
    })
    .await;
    let args = json!({"note": "never", "failures": 99});
    let _other = Hand::with(jobs(&cluster), "gpu", "two", workshop(&diary), 1);
    let id = gate.submit("gpu__flaky", args).await.unwrap();
    let third = Hand::with(jobs(&cluster), "gpu", "three", workshop(&diary), 1);
    assert_eq!(gate.ended(id).await.state, QueueState::Dead);
    assert_eq!(one(&gate.queue.figures().await.unwrap()).dead, 1);
    drop(third);
}
