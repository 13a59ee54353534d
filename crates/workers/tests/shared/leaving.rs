//! A worker that is told to stop: nothing is lost, nothing is left unanswered (SPEC GW-4).

use serde_json::json;
use switchboard_testkit::{Fake, Witness};
use switchboard_toolcall::{CallContext, ErrorKind};

use crate::{
    TestServers,
    shared::nodes::{until, within},
};

pub(crate) async fn running_calls_finish_and_those_that_do_not_are_cancelled(servers: TestServers) {
    let witness = Witness::default();
    let worker = servers.worker("gpu", 4, vec![Fake::waits("wait", &witness)]).await;
    let gateway = servers.gateway("gpu__wait").await;
    let cx =
        || CallContext { timeout: Some(std::time::Duration::from_secs(500)), ..Default::default() };
    let short = gateway.begin("gpu__wait", json!({"secs": 2}), cx());
    let long = gateway.begin("gpu__wait", json!({"secs": 400}), cx());
    until("both begin", || witness.seen().len() == 2).await;
    worker.stop().await;
    assert_eq!(within("the short one", short).await.unwrap().text(), "done");
    let long = within("the long one", long).await.unwrap();
    assert_eq!(long.error_kind(), Some(ErrorKind::Cancelled), "{}", long.text());
    assert_eq!(witness.seen(), ["begun", "begun", "finished", "dropped and told"]);
    gateway.forgets("gpu__wait").await;
}

pub(crate) async fn workers_come_and_go_and_every_call_runs_once(servers: TestServers) {
    let witness = Witness::default();
    let tool = || vec![Fake::waits("wait", &witness)];
    let stays = servers.worker("gpu", 64, tool()).await;
    let gateway = servers.gateway("gpu__wait").await;
    let caller = gateway.clone();
    let calls = tokio::spawn(async move {
        for count in 0..300 {
            let result = caller.call("gpu__wait", json!({"secs": 0.002})).await;
            assert_eq!(result.text(), "done", "call {count}");
        }
    });
    while !calls.is_finished() {
        let comes = servers.worker("gpu", 64, tool()).await;
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        comes.stop().await;
    }
    within("the calls", calls).await.unwrap();
    let seen = witness.seen();
    assert_eq!(seen.iter().filter(|what| **what == "begun").count(), 300);
    assert_eq!(seen.iter().filter(|what| **what == "finished").count(), 300);
    drop(stays);
}
