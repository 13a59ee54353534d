//! Deaths of workers in mid-call.

use serde_json::json;
use switchboard_runtime::QueueState;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_call_whose_worker_dies_is_run_by_another() {
    let servers = start();
    let (cluster, first, second) = (servers.connect().await, RunLog::default(), RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let worker = TestWorker::mortal(&cluster, "gpu", "one", &first);
    let id = gateway.submit("gpu__hold", json!({"note": "n", "secs": 0.5})).await.unwrap();
    first.saw("n").await;
    drop(worker);
    let _other = TestWorker::mortal(&cluster, "gpu", "two", &second);
    let ended = gateway.ended(id).await;
    assert_eq!((ended.state, text(&ended)), (QueueState::Done, "held".to_owned()));
    assert!(ended.attempts >= 2 && first.times("n") == 1 && second.times("n") >= 1);
}

#[tokio::test(start_paused = true)]
async fn what_must_not_run_twice_ends_as_unknown_when_its_worker_dies() {
    let servers = start();
    let (cluster, first, second) = (servers.connect().await, RunLog::default(), RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let cx = CallContext::for_caller("ada").with_idempotency_key("k");
    let worker = TestWorker::mortal(&cluster, "tools", "one", &first);
    let id = gateway.submit_as("tools__hold", json!({"note": "n"}), &cx).await.unwrap();
    first.saw("n").await;
    drop(worker);
    let _other = TestWorker::mortal(&cluster, "tools", "two", &second);
    let ended = gateway.ended(id).await;
    assert_eq!((ended.state, kind(&ended)), (QueueState::Done, Some(ErrorKind::OutcomeUnknown)));
    let expected =
        "Tool 'tools__hold' was running when its worker was lost; whether it happened is not known";
    assert_eq!(text(&ended), expected);
    assert_eq!((first.times("n"), second.times("n")), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_kills_its_workers_ends_with_the_dead_letters() {
    let servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateway = TestGateway::new(&cluster);
    let id = gateway.submit("gpu__hold", json!({"note": "poison"})).await.unwrap();
    for death in 1..=3 {
        let worker = TestWorker::mortal(&cluster, "gpu", &format!("w{death}"), &log);
        until("it has begun", async || (log.times("poison") >= death).then_some(())).await;
        drop(worker);
    }
    // The last of them said nothing, so the next one ends the call without running it.
    let _worker = TestWorker::mortal(&cluster, "gpu", "last", &log);
    let dead = gateway.ended(id).await;
    assert_eq!((dead.state, dead.attempts), (QueueState::Dead, 3));
    let expected = "Tool 'gpu__hold' was begun 3 times, and each time its worker was lost";
    assert_eq!((text(&dead).as_str(), log.times("poison")), (expected, 3));
}
