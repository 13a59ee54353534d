//! Ten thousand workers, of which most are only entries and heartbeats: one that dies is gone within five seconds.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use switchboard_runtime::ToolExecutor;
use switchboard_testkit::Fake;
use switchboard_workers::{
    Bucket, Cluster,
    offer::{OfferedTool, Presence, WorkerOffer},
    wire,
};
use tokio::time::{Instant, interval, sleep};
use tokio_util::task::AbortOnDropHandle;

use crate::{
    TestServers,
    shared::nodes::{RunningWorker, until},
};

/// How many workers the fleet has.
const WORKERS: usize = 10_000;

/// How soon all gateways know that a worker has died.
const GONE: Duration = Duration::from_secs(5);

/// Workers of the group `simulated` that exist as entries only: nobody replies for them.
struct SimulatedWorkers {
    cluster: Cluster,
    members: Arc<Mutex<VecDeque<(String, Presence)>>>,
    _renews: AbortOnDropHandle<()>,
}

impl SimulatedWorkers {
    async fn start(servers: &TestServers) -> Self {
        let cluster = servers.connect().await;
        let executor = ToolExecutor::default();
        executor.tools().add(Fake::echoes("echo")).unwrap();
        let tool = OfferedTool::from(&*executor.tools().all()[0]);
        let offer = WorkerOffer::new(vec![tool]).unwrap();
        let members: VecDeque<_> =
            (0..WORKERS).map(|number| member(&cluster, number, &offer)).collect();
        let tools = cluster.bucket(Bucket::Tools).await.unwrap();
        tools.put(&members[0].0, wire::write(&offer).unwrap()).await.unwrap();
        let members = Arc::new(Mutex::new(members));
        let renews = AbortOnDropHandle::new(tokio::spawn(renew(cluster.clone(), members.clone())));
        Self { cluster, members, _renews: renews }
    }

    /// Takes a member out, which says that it leaves. Its entry stays for a while, without a value.
    async fn one_leaves(&self) {
        let (key, mut presence) = self.members.lock().unwrap().pop_back().unwrap();
        presence.leaving = true;
        let subject = self.cluster.names().subject(&["presence", "simulated"]);
        self.cluster.publish(subject, None, wire::write(&presence).unwrap()).await.unwrap();
        let entries = self.cluster.bucket(Bucket::Workers).await.unwrap();
        entries.remove(&key).await.unwrap();
    }
}

fn member(cluster: &Cluster, number: usize, offer: &WorkerOffer) -> (String, Presence) {
    let worker = format!("{number:05}");
    let key = cluster.names().member("simulated", &worker);
    let presence = Presence {
        group: "simulated".to_owned(),
        worker,
        tools: offer.hash.clone(),
        capacity: 4,
        running: 0,
        leaving: false,
        notifies: true,
        version: "0".to_owned(),
        started: 0,
    };
    (key, presence)
}

async fn renew(cluster: Cluster, members: Arc<Mutex<VecDeque<(String, Presence)>>>) {
    let entries = cluster.bucket(Bucket::Workers).await.unwrap();
    let mut due = interval(Duration::from_millis(2500));
    for round in 0.. {
        due.tick().await;
        let all: Vec<(String, Bytes)> = {
            let members = members.lock().unwrap();
            let written = |(key, presence): &(String, Presence)| {
                (key.clone(), wire::write(presence).unwrap())
            };
            members.iter().map(written).collect()
        };
        for (key, value) in all {
            if round % 10 == 0 {
                entries.put(&key, value).await.unwrap();
            }
            let worker = key.rsplit('.').next().unwrap().to_owned();
            let beats = cluster.names().beats("crowd");
            cluster.publish(beats, None, worker.into()).await.unwrap();
        }
    }
}

/// Lets the workers die, one after the other and at different times of what a gateway does every 15 s.
async fn each_is_gone_in_time(servers: &TestServers, workers: Vec<RunningWorker>) {
    let gateway = servers.gateway("gpu__tool0").await;
    until("all are known", || {
        let totals = gateway.groups.totals().unwrap_or_default();
        totals.values().map(|group| group.workers).sum::<usize>() >= WORKERS
    })
    .await;
    for (number, worker) in workers.into_iter().enumerate() {
        sleep(Duration::from_millis(2_300)).await;
        let tool = format!("gpu__tool{number}");
        gateway.lists(&tool).await;
        worker.ended.abort();
        assert!(worker.ended.await.unwrap_err().is_cancelled());
        let died = Instant::now();
        gateway.forgets(&tool).await;
        assert!(died.elapsed() <= GONE, "{number}: {:?}", died.elapsed());
    }
}

async fn workers(servers: &TestServers, number: usize) -> Vec<RunningWorker> {
    let mut workers = Vec::new();
    for number in 0..number {
        let tool = Fake::echoes(&format!("tool{number}"));
        workers.push(servers.worker("gpu", 4, vec![tool]).await);
    }
    workers
}

#[tokio::test(start_paused = true)]
async fn one_of_many_that_dies_is_gone_within_five_seconds() {
    let servers = TestServers::start();
    let _simulated = SimulatedWorkers::start(&servers).await;
    let workers = workers(&servers, 6).await;
    each_is_gone_in_time(&servers, workers).await;
}

#[tokio::test(start_paused = true)]
async fn one_that_dies_while_others_leave_all_the_time_is_gone_as_soon() {
    let servers = TestServers::start();
    let simulated = SimulatedWorkers::start(&servers).await;
    let workers = workers(&servers, 4).await;
    tokio::select! {
        () = each_is_gone_in_time(&servers, workers) => {}
        () = async {
            // Known before they leave.
            sleep(Duration::from_secs(1)).await;
            loop {
                sleep(Duration::from_millis(130)).await;
                simulated.one_leaves().await;
            }
        } => {}
    }
}
