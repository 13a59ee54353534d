//! Queued calls, with all of them in one stream and divided among several.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use serde_json::json;
use switchboard_runtime::ToolExecutor;
use switchboard_testkit::Nats;
use switchboard_toolcall::{CallContext, ToolCall};
use switchboard_workers::{Bucket, Cluster, Groups, jobs::QueueFigures};
use tokio::time::{Instant, sleep, timeout};

use crate::{known, worker};

/// Groups that four partitions have one each of.
const GROUPS: [&str; 4] = ["gpu", "tools", "two", "ocr"];

/// How many calls are queued in each turn.
const CALLS: usize = 8_000;

/// How many callers queue them.
const CALLERS: usize = 64;

/// How long three servers may take to find each other.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often each number of partitions has a turn.
const TURNS: usize = 3;

/// A cluster with so many partitions, on three servers.
struct Divided {
    cluster: Cluster,
    executor: ToolExecutor,
    _groups: Groups,
    _workers: Vec<worker::Process>,
}

/// Measures how many calls are queued, run and ended in a second, in turns.
pub(crate) async fn measure(parts: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let nats = Nats::three(parts, folder.path());
    let url = nats.each_ref().map(Nats::url).join(",");
    let all = [Divided::start(&url, 1).await, Divided::start(&url, 4).await];
    println!(
        "\n| partitions | queued calls/s, turn by turn | leaders of streams and buckets |\n|---|---|---|"
    );
    let mut rates: [Vec<String>; 2] = Default::default();
    for _ in 0..TURNS {
        for (divided, rates) in all.iter().zip(&mut rates) {
            rates.push(format!("{:.0}", divided.rate().await));
        }
    }
    for (divided, rates) in all.iter().zip(rates) {
        let number = divided.cluster.names().partitions().number();
        let (rates, leaders) = (rates.join(", "), divided.leaders().await);
        println!("| {number} | {rates} | {leaders} |");
    }
}

impl Divided {
    async fn start(url: &str, partitions: u32) -> Self {
        let cluster = Cluster::connect(&worker::divided(url, partitions)).await.unwrap();
        cluster.reached(PATIENCE).await.unwrap();
        let ready = async {
            while cluster.agree().await.is_err()
                || cluster.partitions_of(Bucket::Calls).await.is_err()
            {
                sleep(Duration::from_millis(100)).await;
            }
        };
        timeout(PATIENCE, ready).await.expect("the servers have elected a leader");
        let executor = ToolExecutor::default();
        let groups = Groups::start(cluster.clone(), executor.tools()).await.unwrap();
        let start = |group| worker::Process::divided(url, group, 64, partitions);
        let workers = GROUPS.map(start).into_iter().collect();
        known(&groups, GROUPS.len()).await;
        Self { cluster, executor, _groups: groups, _workers: workers }
    }

    /// Returns how many calls end in a second, while others are queued.
    async fn rate(&self) -> f64 {
        let began = Instant::now();
        let executor = Arc::new(self.executor.clone());
        let callers = (0..CALLERS).map(|caller| {
            let executor = executor.clone();
            tokio::spawn(async move {
                let tool = format!("{}__read", GROUPS[caller % GROUPS.len()]);
                let args = json!({"n": caller}).as_object().cloned().unwrap();
                for _ in 0..CALLS / CALLERS {
                    let call = ToolCall::new(&tool, args.clone());
                    executor.submit(call, &CallContext::for_caller("bench")).await.unwrap();
                }
            })
        });
        for caller in callers.collect::<Vec<_>>() {
            caller.await.unwrap();
        }
        let jobs = self.cluster.jobs();
        let is_left = |figures: Vec<QueueFigures>| {
            figures.iter().any(|group| group.waiting + group.taken > 0)
        };
        while is_left(jobs.figures().await.unwrap()) {
            sleep(Duration::from_millis(20)).await;
        }
        CALLS as f64 / began.elapsed().as_secs_f64()
    }

    /// Returns how many of the streams of calls, states and keys each server leads.
    async fn leaders(&self) -> String {
        let names = self.cluster.names();
        let buckets = [Bucket::Calls, Bucket::Keys].map(|bucket| names.bucket_names(bucket));
        let buckets = buckets.iter().flatten().map(|name| format!("KV_{name}"));
        let mut leaders = BTreeMap::<String, usize>::new();
        for name in names.streams_of_jobs().into_iter().chain(buckets) {
            let Ok(stream) = self.cluster.nats().unwrap().jetstream().get_stream(name).await else {
                continue;
            };
            let leader = stream.cached_info().cluster.as_ref().and_then(|all| all.leader.clone());
            *leaders.entry(leader.unwrap_or_default()).or_default() += 1;
        }
        let each = leaders.into_iter().map(|(server, number)| format!("{server}: {number}"));
        each.collect::<Vec<_>>().join(", ")
    }
}
