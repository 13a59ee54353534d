//! How gateways notice workers: by messages when something changes, and by heartbeats that two of them hear.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use serde_json::json;
use switchboard_runtime::ToolExecutor;
use switchboard_testkit::Fake;
use switchboard_toolcall::ErrorKind;
use switchboard_workers::{
    Bucket, Cluster, Config,
    memory::{MemoryFault, MemoryOperation, MemoryTraffic},
    offer::{OfferedTool, Presence, WorkerOffer},
    wire,
};
use tokio::time::{Instant, sleep};

use crate::{
    TestServers,
    shared::nodes::{Gateway, RunningWorker},
};

/// Offers `tool` as workers did that sent no messages.
async fn writes_entry(cluster: &Cluster, worker: &str, tool: &str) {
    let executor = ToolExecutor::default();
    executor.tools().add(Fake::echoes(tool)).unwrap();
    let tool = OfferedTool::from(&*executor.tools().all()[0]);
    let offer = WorkerOffer::new(vec![tool]).unwrap();
    let says = json!({"group": "old", "worker": worker, "tools": offer.hash, "capacity": 4, "running": 0, "version": "0.1.0", "started": 1});
    let key = cluster.names().member("old", worker);
    let tools = cluster.bucket(Bucket::Tools).await.unwrap();
    tools.put(&key, wire::write(&offer).unwrap()).await.unwrap();
    let workers = cluster.bucket(Bucket::Workers).await.unwrap();
    workers.put(&key, says.to_string().into()).await.unwrap();
}

/// Ends a worker as a crash does: it says nothing more.
async fn dies(worker: RunningWorker) {
    worker.ended.abort();
    assert!(worker.ended.await.unwrap_err().is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn an_idle_worker_says_once_that_it_is_there_and_not_with_each_heartbeat() {
    let servers = TestServers::start();
    let cluster = servers.connect().await;
    let mut notices = cluster.subscribe("switchboard.presence.>", None).await.unwrap();
    let worker = servers.worker("gpu", 4, vec![Fake::echoes("echo")]).await;
    let gateway = servers.gateway("gpu__echo").await;
    sleep(Duration::from_secs(600)).await;
    let mut received = 0;
    while notices.next().now_or_never().flatten().is_some() {
        received += 1;
    }
    // Once, and twice more in case a message is lost.
    assert_eq!(received, 3);
    assert_eq!(gateway.names(), ["gpu__echo"]);
    // It writes its entry rarely, since nobody watches it: every 20 to 30 s, after the first minute.
    let entry = async |cluster: &Cluster| {
        let entries = cluster.bucket(Bucket::Workers).await.unwrap();
        entries.get(&format!("gpu.{}", worker.id)).await.unwrap().unwrap().revision
    };
    let before = entry(&cluster).await;
    sleep(Duration::from_secs(600)).await;
    let written = entry(&cluster).await - before;
    assert!((18..=30).contains(&written), "{written}");
    worker.stop().await;
    assert!(notices.next().await.is_some());
    let stopped = Instant::now();
    gateway.forgets("gpu__echo").await;
    assert!(stopped.elapsed() < Duration::from_secs(1), "{:?}", stopped.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_dies_is_gone_within_five_seconds() {
    let servers = TestServers::start();
    let stays = servers.worker("gpu", 4, vec![Fake::echoes("stays")]).await;
    let worker = servers.worker("gpu", 4, vec![Fake::echoes("echo")]).await;
    let gateway = servers.gateway("gpu__echo").await;
    sleep(Duration::from_secs(30)).await;
    dies(worker).await;
    let died = Instant::now();
    gateway.forgets("gpu__echo").await;
    assert!(died.elapsed() <= Duration::from_secs(5), "{:?}", died.elapsed());
    assert_eq!(gateway.names(), ["gpu__stays"]);
    drop(stays);
}

#[tokio::test(start_paused = true)]
async fn many_that_die_at_once_are_gone_as_soon() {
    let servers = TestServers::start();
    let mut workers = Vec::new();
    for _ in 0..100 {
        workers.push(servers.worker("gpu", 4, vec![Fake::echoes("echo")]).await);
    }
    let stays = servers.worker("cpu", 4, vec![Fake::echoes("echo")]).await;
    let gateway = servers.gateway("gpu__echo").await;
    gateway.lists("cpu__echo").await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(gateway.groups.workers().len(), 101);
    for worker in workers {
        dies(worker).await;
    }
    let died = Instant::now();
    gateway.forgets("gpu__echo").await;
    assert!(died.elapsed() <= Duration::from_secs(5), "{:?}", died.elapsed());
    assert_eq!(gateway.groups.workers().len(), 1);
    drop(stays);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_cannot_renew_its_entry_and_replies_is_not_gone() {
    let servers = TestServers::start();
    let worker = servers.worker("gpu", 4, vec![Fake::echoes("echo")]).await;
    let gateway = servers.gateway("gpu__echo").await;
    servers.servers.set_faults(|operation| match operation {
        MemoryOperation::Write => MemoryFault::Refuse,
        _ => MemoryFault::None,
    });
    let cluster = servers.connect().await;
    sleep(Duration::from_secs(120)).await;
    let entries = cluster.bucket(Bucket::Workers).await.unwrap();
    assert_eq!(entries.count().await.unwrap(), 0);
    assert_eq!(gateway.names(), ["gpu__echo"]);
    servers.servers.set_faults(|_| MemoryFault::None);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(gateway.call("gpu__echo", json!({})).await.text(), "{}");
    drop(worker);
}

#[tokio::test(start_paused = true)]
async fn those_that_die_at_once_are_gone_although_others_without_an_entry_are_there() {
    let servers = TestServers::start();
    let mut workers = Vec::new();
    for _ in 0..150 {
        workers.push(servers.worker("gpu", 4, vec![Fake::echoes("echo")]).await);
    }
    // In the midst of them, so that it is neither the first nor the last that is asked.
    let stays = servers.worker("cpu", 4, vec![Fake::echoes("echo")]).await;
    for _ in 0..150 {
        workers.push(servers.worker("gpu", 4, vec![Fake::echoes("echo")]).await);
    }
    let gateway = servers.gateway("gpu__echo").await;
    gateway.lists("cpu__echo").await;
    sleep(Duration::from_secs(30)).await;
    // It cannot renew its entry either.
    servers.servers.set_faults(|operation| match operation {
        MemoryOperation::Write => MemoryFault::Refuse,
        _ => MemoryFault::None,
    });
    for worker in workers {
        dies(worker).await;
    }
    let died = Instant::now();
    gateway.forgets("gpu__echo").await;
    assert!(died.elapsed() <= Duration::from_secs(5), "{:?}", died.elapsed());
    sleep(Duration::from_secs(30)).await;
    assert_eq!(gateway.names(), ["cpu__echo"]);
    drop(stays);
}

#[tokio::test(start_paused = true)]
async fn messages_are_heard_soon_although_many_entries_are_read() {
    let servers = TestServers::start();
    let cluster = servers.connect().await;
    let gateway = servers.empty_gateway().await;
    gateway.groups.wait_until_ready(Duration::from_secs(5)).await.unwrap();
    let names: Vec<String> = (0..200).map(|number| format!("old{number}")).collect();
    let renews = async || {
        for name in &names {
            writes_entry(&cluster, name, "one").await;
        }
    };
    renews().await;
    gateway.lists("old__one").await;
    servers.servers.set_faults(|operation| match operation {
        MemoryOperation::Read => MemoryFault::Delay(Duration::from_millis(50)),
        _ => MemoryFault::None,
    });
    // One after the other they would take ten seconds, every three seconds.
    for round in 0..5 {
        renews().await;
        sleep(Duration::from_millis(2_400)).await;
        let tool = format!("echo{round}");
        let joined = Instant::now();
        let worker = servers.worker("gpu", 4, vec![Fake::echoes(&tool)]).await;
        gateway.lists(&format!("gpu__{tool}")).await;
        assert!(joined.elapsed() < Duration::from_secs(2), "{round}: {:?}", joined.elapsed());
        worker.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn workers_of_earlier_versions_are_followed_by_their_entries() {
    let servers = TestServers::start();
    let cluster = servers.connect().await;
    let gateway = servers.empty_gateway().await;
    gateway.groups.wait_until_ready(Duration::from_secs(5)).await.unwrap();
    let renews = async |tool: &'static str| {
        loop {
            writes_entry(&cluster, "one", tool).await;
            sleep(Duration::from_millis(2500)).await;
        }
    };
    tokio::select! {
        () = gateway.lists("old__one") => {}
        () = renews("one") => {}
    }
    // It offers something else, and is not taken for gone between its heartbeats.
    tokio::select! {
        () = async {
            gateway.lists("old__two").await;
            for _ in 0..600 {
                sleep(Duration::from_millis(100)).await;
                assert_eq!(gateway.names(), ["old__two"]);
            }
        } => {}
        () = renews("two") => {}
    }
    // It stops.
    let entries = cluster.bucket(Bucket::Workers).await.unwrap();
    entries.remove("old.one").await.unwrap();
    gateway.forgets("old__two").await;
    // Another one dies.
    writes_entry(&cluster, "other", "three").await;
    gateway.lists("old__three").await;
    gateway.forgets("old__three").await;
    let result = gateway.call("old__three", json!({})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::Unavailable));
}

#[tokio::test(start_paused = true)]
async fn a_gateway_of_an_earlier_version_that_comes_later_misses_no_worker() {
    let servers = TestServers::start();
    let worker = servers.worker("gpu", 4, vec![Fake::echoes("echo")]).await;
    let _gateway = servers.gateway("gpu__echo").await;
    sleep(Duration::from_secs(300)).await;
    let cluster = servers.connect().await;
    let mut watched = cluster.bucket(Bucket::Workers).await.unwrap().watch().await.unwrap();
    assert!(watched.next().await.unwrap().unwrap().is_current);
    for _ in 0..20 {
        let waited = Instant::now();
        watched.next().await.unwrap().unwrap();
        assert!(waited.elapsed() < Duration::from_secs(8), "{:?}", waited.elapsed());
    }
    drop(worker);
}

#[tokio::test(start_paused = true)]
async fn two_gateways_of_many_hear_heartbeats() {
    let servers = TestServers::start();
    let mut workers = Vec::new();
    for _ in 0..100 {
        workers.push(servers.worker("gpu", 4, vec![Fake::echoes("echo")]).await);
    }
    let mut gateways = Vec::new();
    for _ in 0..8 {
        let traffic = MemoryTraffic::default();
        let cluster = servers.servers.connect_measured(&Config::default(), &traffic).unwrap();
        gateways.push((Gateway::start(cluster).await, traffic));
    }
    sleep(Duration::from_secs(60)).await;
    let counted: Vec<_> = gateways.iter().map(|(_, traffic)| traffic.messages()).collect();
    sleep(Duration::from_secs(100)).await;
    let received = gateways.iter().zip(counted).map(|((_, now), then)| now.messages() - then);
    // A monitor gets 40 heartbeats a second; the others two claims, and a count.
    let (monitors, others): (Vec<_>, Vec<_>) = received.partition(|received| *received > 3_900);
    assert_eq!((monitors.len(), others.len()), (2, 6), "{monitors:?} {others:?}");
    assert!(others.iter().all(|received| *received <= 320), "{others:?}");
    drop(workers);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_dies_with_a_gateway_that_hears_it_is_gone_as_soon() {
    let servers = TestServers::start();
    let stays = servers.worker("gpu", 4, vec![Fake::echoes("stays")]).await;
    let mut gateways = Vec::new();
    for _ in 0..4 {
        gateways.push(servers.gateway("gpu__stays").await);
        // Two gateways become monitors; if one of them ends, the first of the others takes its place.
        sleep(Duration::from_secs(4)).await;
    }
    for number in 0..3 {
        let tool = format!("tool{number}");
        let worker = servers.worker("gpu", 4, vec![Fake::echoes(&tool)]).await;
        let tool = format!("gpu__{tool}");
        for gateway in &gateways {
            gateway.lists(&tool).await;
        }
        sleep(Duration::from_secs(30)).await;
        drop(gateways.remove(0));
        dies(worker).await;
        let died = Instant::now();
        for gateway in &gateways {
            gateway.forgets(&tool).await;
        }
        assert!(died.elapsed() <= Duration::from_secs(5), "{number}: {:?}", died.elapsed());
    }
    drop(stays);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_was_taken_for_dead_comes_back() {
    let servers = TestServers::start();
    let cluster = servers.connect().await;
    let worker = servers.worker("gpu", 4, vec![Fake::echoes("echo")]).await;
    let gateways = [servers.gateway("gpu__echo").await, servers.gateway("gpu__echo").await];
    for _ in 0..3 {
        sleep(Duration::from_secs(60)).await;
        // As a monitor says of a worker that was paused.
        let entries = cluster.bucket(Bucket::Workers).await.unwrap();
        let key = cluster.names().member("gpu", &worker.id);
        let entry = entries.get(&key).await.unwrap().unwrap().value.unwrap();
        let presence: Presence = wire::read("", &entry).unwrap();
        let notice = wire::write(&Presence { leaving: true, ..presence }).unwrap();
        cluster.publish("switchboard.presence.gpu", None, notice).await.unwrap();
        for gateway in &gateways {
            gateway.forgets("gpu__echo").await;
        }
        let gone = Instant::now();
        for gateway in &gateways {
            gateway.lists("gpu__echo").await;
        }
        assert!(gone.elapsed() <= Duration::from_secs(8), "{:?}", gone.elapsed());
    }
    // One that starts later knows it too.
    sleep(Duration::from_secs(60)).await;
    servers.gateway("gpu__echo").await;
}

#[tokio::test(start_paused = true)]
async fn entries_of_workers_that_left_or_died_are_erased() {
    let servers = TestServers::start();
    let cluster = servers.connect().await;
    let leaves = servers.worker("gpu", 4, vec![Fake::echoes("echo")]).await;
    let worker = servers.worker("gpu", 4, vec![Fake::echoes("echo")]).await;
    let gateway = servers.gateway("gpu__echo").await;
    sleep(Duration::from_secs(10)).await;
    leaves.stop().await;
    dies(worker).await;
    gateway.forgets("gpu__echo").await;
    sleep(Duration::from_secs(5)).await;
    let entries = cluster.bucket(Bucket::Workers).await.unwrap();
    assert_eq!(entries.count().await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn gateways_of_earlier_versions_get_the_entries_that_they_watch() {
    let servers = TestServers::start();
    let cluster = servers.connect().await;
    let entries = cluster.bucket(Bucket::Workers).await.unwrap();
    let mut watched = entries.watch_new().await.unwrap();
    let worker = servers.worker("gpu", 4, vec![Fake::echoes("echo")]).await;
    // There is a gateway of this version too, which sees that somebody watches.
    let _gateway = servers.gateway("gpu__echo").await;
    // They take a worker for gone that is silent for eight seconds.
    let mut last = Instant::now();
    for _ in 0..100 {
        let entry = watched.next().await.unwrap().unwrap();
        let presence: Presence = wire::read("", &entry.value.unwrap()).unwrap();
        assert_eq!((presence.worker.as_str(), presence.leaving), (worker.id.as_str(), false));
        assert!(last.elapsed() < Duration::from_secs(8));
        last = Instant::now();
    }
    worker.stop().await;
    let mut left = watched.map(|entry| entry.unwrap().value);
    while left.next().await.unwrap().is_some() {}
}
