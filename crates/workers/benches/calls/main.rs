//! What a call of a worker costs, beside a local call and a bare NATS request.
//!
//! `SWITCHBOARD_PARTS=$PWD/.parts cargo bench -p switchboard-workers --features real-parts` starts a NATS server and worker processes (this very program,
//! told to be one) and prints the tables of docs/scale.md.

#![expect(clippy::unwrap_used, reason = "a bench that fails may panic")]

mod queued;
mod worker;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use serde_json::json;
use switchboard_runtime::ToolExecutor;
use switchboard_testkit::Nats;
use switchboard_workers::{Cluster, Config, Groups};
use tokio::time::{Instant, sleep};

/// How many calls one after the other are measured.
const ONE_BY_ONE: usize = 5_000;

/// How many calls at once.
const AT_ONCE: usize = 64;

/// For how long calls at once are measured.
const MEASURED: Duration = Duration::from_secs(5);

/// How many calls a worker of sleepers runs at once.
const SLEEPERS: usize = 16;

fn main() {
    let mut words = std::env::args().skip(1);
    let is_worker = words.next().is_some_and(|word| word == worker::WORD);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    match is_worker {
        true => runtime.block_on(worker::run(words.collect())),
        false => runtime.block_on(measure()),
    }
}

async fn measure() {
    let parts = std::env::var_os("SWITCHBOARD_PARTS").map(PathBuf::from);
    let parts = parts.expect("SWITCHBOARD_PARTS says where `cargo xtask parts` put NATS");
    let folder = tempfile::tempdir().unwrap();
    let nats = Nats::start(&parts, folder.path());
    let config = Config { nats: Some(nats.url()), ..Config::default() };
    let cluster = Cluster::connect(&config).await.unwrap();
    let executor = ToolExecutor::default();
    executor.tools().add(worker::nothing()).unwrap();
    let groups = Groups::start(cluster.clone(), executor.tools()).await.unwrap();

    let one = worker::Process::start(&nats.url(), "bench", 256);
    known(&groups, 1).await;
    let ways = [
        Way::Local(executor.clone(), "nothing"),
        Way::Bare(cluster.clone()),
        Way::Local(executor.clone(), "bench__read"),
        Way::Local(executor.clone(), "bench__nothing"),
    ];
    println!("| one after the other | p50 | p99 |\n|---|---|---|");
    for way in &ways {
        let mut times = one_by_one(way).await;
        times.sort_unstable();
        let at = |share: usize| times[times.len() * share / 100].as_micros();
        println!("| {} | {} µs | {} µs |", way.name(), at(50), at(99));
    }
    println!("\n| {AT_ONCE} at once | calls/s |\n|---|---|");
    for way in &ways {
        println!("| {} | {:.0} |", way.name(), at_once(way.clone(), AT_ONCE).await);
    }
    drop(one);
    sleepers(&nats.url(), &executor, &groups).await;
    drop((groups, nats));
    queued::measure(&parts).await;
}

/// Tools that sleep 10 ms, on more and more workers.
async fn sleepers(url: &str, executor: &ToolExecutor, groups: &Groups) {
    println!(
        "\n| workers, {SLEEPERS} calls of 10 ms at once each | calls/s | of what is possible |\n|---|---|---|"
    );
    let mut workers = Vec::new();
    known(groups, 0).await;
    for count in [1, 2, 4, 8] {
        while workers.len() < count {
            workers.push(worker::Process::start(url, "sleepers", SLEEPERS));
        }
        known(groups, count).await;
        let way = Way::Local(executor.clone(), "sleepers__sleep");
        let rate = at_once(way, SLEEPERS * count).await;
        let possible = (SLEEPERS * count * 100) as f64;
        println!("| {count} | {rate:.0} | {:.0} % |", rate / possible * 100.0);
    }
}

async fn known(groups: &Groups, workers: usize) {
    while groups.workers().len() != workers {
        sleep(Duration::from_millis(50)).await;
    }
    // The tools are shown a moment after their worker is known.
    sleep(Duration::from_millis(500)).await;
}

/// How something is called.
#[derive(Clone)]
enum Way {
    /// Through the executor.
    Local(ToolExecutor, &'static str),
    /// A request of NATS, and its answer.
    Bare(Cluster),
}

impl Way {
    fn name(&self) -> &'static str {
        match self {
            Self::Local(_, "nothing") => "a local tool",
            Self::Local(_, "bench__read") => "a read-only tool of a worker",
            Self::Local(..) => "a tool of a worker",
            Self::Bare(_) => "a bare NATS request",
        }
    }

    async fn go(&self) {
        match self {
            Self::Local(executor, tool) => {
                let result = executor.call(tool, json!({"n": 1})).await;
                assert!(result.is_success(), "{}", result.text());
            }
            Self::Bare(cluster) => {
                let payload = Bytes::from_static(br#"{"n":1}"#);
                cluster.nats().unwrap().client().request(worker::BARE, payload).await.unwrap();
            }
        }
    }
}

async fn one_by_one(way: &Way) -> Vec<Duration> {
    for _ in 0..ONE_BY_ONE / 10 {
        way.go().await;
    }
    let mut times = Vec::with_capacity(ONE_BY_ONE);
    for _ in 0..ONE_BY_ONE {
        let began = Instant::now();
        way.go().await;
        times.push(began.elapsed());
    }
    times
}

/// How many calls end in a second, with so many under way.
async fn at_once(way: Way, callers: usize) -> f64 {
    let (ended, way) = (Arc::new(AtomicU64::new(0)), Arc::new(way));
    let began = Instant::now();
    let callers = (0..callers).map(|_| {
        let (ended, way) = (ended.clone(), way.clone());
        tokio::spawn(async move {
            while began.elapsed() < MEASURED {
                way.go().await;
                ended.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
    ended.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64()
}
