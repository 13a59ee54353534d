//! What is too large for a message.

use futures_util::StreamExt;
use serde_json::json;
use switchboard_testkit::Fake;

use crate::{
    TestServers,
    shared::nodes::{until, within},
};

// Without optimisations so much takes seconds of computing, during which others need a thread.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn arguments_and_results_of_any_size_come_through() {
    let servers = TestServers::start();
    let whole = |spec: &mut switchboard_toolcall::ToolSpec| {
        spec.settings.max_output = Some(usize::MAX);
    };
    let _worker = servers.worker("gpu", 4, vec![Fake::echoes("echo").with(whole)]).await;
    let gateway = servers.gateway("gpu__echo").await;
    for size in [10, 900_000, 1_100_000, 5_000_000] {
        let args = json!({"text": "x".repeat(size)});
        let result = gateway.call("gpu__echo", args.clone()).await;
        assert_eq!(result.error_kind(), None, "{size}: {}", result.text());
        assert_eq!(*result.value().unwrap(), args, "{size}");
    }
    // Nothing is left of it.
    let cluster = servers.connect().await;
    let bucket = cluster.names().stream("large");
    let store = cluster.nats().unwrap().jetstream().get_object_store(bucket).await.unwrap();
    within("nothing is left", async {
        loop {
            let left = store.list().await.unwrap().count().await;
            if left == 0 {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_offer_may_be_larger_than_a_message() {
    let servers = TestServers::start();
    let long = "x".repeat(20_000);
    let tools = (0..100).map(|count| {
        Fake::echoes(&format!("tool{count}")).with(|spec| spec.description.clone_from(&long))
    });
    let _worker = servers.worker("gpu", 4, tools.collect()).await;
    let gateway = servers.gateway("gpu__tool99").await;
    until("all are listed", || gateway.names().len() == 100).await;
    assert!(gateway.call("gpu__tool50", json!({})).await.is_success());
}
