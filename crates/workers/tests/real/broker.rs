//! NATS goes away and comes back.

use serde_json::json;
use switchboard_testkit::{Fake, Witness};
use switchboard_toolcall::{CallContext, ErrorKind};

use crate::{
    TestServers,
    shared::nodes::{until, within},
};

// MC-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_is_started_again_finds_everybody() {
    let mut servers = TestServers::start();
    let worker = servers.worker("gpu", 4, vec![Fake::echoes("echo")]).await;
    let gateway = servers.gateway("gpu__echo").await;
    gateway.executor.tools().add(Fake::answers("own", json!("here"))).unwrap();
    servers.nats.kill();
    until("it is missed", || !gateway.groups.cluster().is_connected()).await;
    let result = gateway.call("gpu__echo", json!({})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::Unavailable), "{}", result.text());
    assert!(result.text().contains("NATS at nats://127.0.0.1"), "{}", result.text());
    assert_eq!(gateway.call("own", json!({})).await.text(), "here");
    servers.nats.restart();
    within("it is back", async {
        while !gateway.call("gpu__echo", json!({})).await.is_success() {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    })
    .await;
    // Who watches hears of those who come, too.
    let other = servers.worker("cpu", 4, vec![Fake::echoes("echo")]).await;
    gateway.lists("cpu__echo").await;
    worker.stop().await;
    gateway.forgets("gpu__echo").await;
    drop(other);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_starts_before_the_broker_waits_for_it() {
    let mut servers = TestServers::start();
    servers.nats.kill();
    let worker = servers.worker("gpu", 4, vec![Fake::echoes("echo")]).await;
    let gateway = servers.empty_gateway().await;
    let limit = std::time::Duration::from_millis(300);
    let error = gateway.groups.wait_until_ready(limit).await.unwrap_err().to_string();
    assert!(error.starts_with("NATS at nats://127.0.0.1:"), "{error}");
    servers.nats.restart();
    gateway.lists("gpu__echo").await;
    assert!(gateway.call("gpu__echo", json!({})).await.is_success());
    drop(worker);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_broker_dies_ends_truthfully() {
    let mut servers = TestServers::start();
    let witness = Witness::default();
    let tools = || vec![Fake::waits("wait", &witness), Fake::waits("look", &witness).read_only()];
    let worker = servers.worker("gpu", 4, tools()).await;
    let gateway = servers.gateway("gpu__look").await;
    let calls = ["gpu__wait", "gpu__look"]
        .map(|name| gateway.begin(name, json!({"secs": 600}), CallContext::default()));
    within("both begin", async {
        while witness.seen().len() < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    servers.nats.kill();
    let [wait, look] = calls;
    let kind = within("an end", wait).await.unwrap().error_kind();
    assert_eq!(kind, Some(ErrorKind::OutcomeUnknown));
    let kind = within("an end", look).await.unwrap().error_kind();
    assert_eq!(kind, Some(ErrorKind::Unavailable));
    drop(worker);
}
