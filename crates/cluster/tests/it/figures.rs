//! The figures of workers are those that the gateway has in memory.

use std::{sync::Arc, time::Duration};

use prometheus_client::encoding::text::encode;
use switchboard_cluster::figures::FiguresTask;
use switchboard_runtime::ToolExecutor;
use switchboard_testkit::Fake;
use switchboard_toolcall::CancellationToken;
use switchboard_workers::{Groups, Worker, memory::MemoryServers};
use tokio::time::sleep;

// GW-4: a hundred gateways would read ten thousand entries every five seconds.
#[tokio::test(start_paused = true)]
async fn figures_of_workers_are_not_read_from_the_servers() {
    let servers = MemoryServers::default();
    let connect = || servers.connect(&Default::default()).unwrap();
    let offers = ToolExecutor::default();
    offers.tools().add(Fake::echoes("echo")).unwrap();
    for _ in 0..2 {
        let worker = Worker::new(connect(), "gpu", 4, offers.clone(), Arc::new(|_| true)).unwrap();
        tokio::spawn(worker.run(CancellationToken::new()));
    }
    let gateway = ToolExecutor::default();
    let groups = Arc::new(Groups::start(connect(), gateway.tools()).await.unwrap());
    groups.wait_until_ready(Duration::from_secs(5)).await.unwrap();
    while groups.workers().len() < 2 {
        sleep(Duration::from_millis(100)).await;
    }
    let (_collecting, registry) = FiguresTask::start(groups, None);
    let mut text = String::new();
    while !text.contains("switchboard_worker_capacity{group=\"gpu\"} 8") {
        sleep(Duration::from_secs(5)).await;
        text.clear();
        encode(&mut text, &registry).unwrap();
    }
    assert!(text.contains("switchboard_workers{group=\"gpu\"} 2"), "{text}");
    assert!(text.contains("switchboard_worker_calls_running{group=\"gpu\"} 0"), "{text}");
}
