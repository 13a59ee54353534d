//! A gateway that ends without a word.

use serde_json::json;
use switchboard_testkit::{Fake, Witness};

use crate::{
    TestServers,
    shared::nodes::{until, within},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_vanishes_leaves_no_call_behind() {
    let servers = TestServers::start();
    let witness = Witness::default();
    let worker = servers.worker("gpu", 8, vec![Fake::waits("wait", &witness)]).await;
    // A gateway on a runtime of its own: ended at once, it says nothing to anybody.
    let config = servers.config();
    let gone = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let executor = switchboard_runtime::ToolExecutor::default();
            let cluster = switchboard_workers::Cluster::connect(&config).await.unwrap();
            let groups =
                switchboard_workers::Groups::start(cluster, executor.tools()).await.unwrap();
            until("the tool is listed", || executor.tools().get("gpu__wait").is_some()).await;
            tokio::spawn(async move { executor.call("gpu__wait", json!({"secs": 600})).await });
            within("the tool begins", witness.saw("begun")).await;
            std::mem::forget(groups);
        });
        runtime.shutdown_background();
        witness
    });
    let witness = tokio::task::spawn_blocking(|| gone.join().unwrap()).await.unwrap();
    within("the tool hears of it", witness.saw("dropped and told")).await;
    drop(worker);
}
