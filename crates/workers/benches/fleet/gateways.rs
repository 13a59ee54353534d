//! Many gateways in one process.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::json;
use switchboard_runtime::ToolExecutor;
use switchboard_toolcall::ErrorKind;
use switchboard_workers::{Cluster, Config, Groups};
use tokio::{
    io::{AsyncBufReadExt, BufReader, stdin},
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::child::Traffic;

/// The pause between two calls of a gateway.
const PAUSE: Duration = Duration::from_millis(50);

/// How long all may take until they know so many workers.
const KNOWN: Duration = Duration::from_secs(120);

/// How many calls ended how.
type Outcomes = Arc<Mutex<BTreeMap<&'static str, u64>>>;

struct Gateway {
    executor: ToolExecutor,
    groups: Groups,
}

/// Is so many gateways.
pub(crate) async fn run(url: &str, number: &str) {
    let mut gateways = Vec::new();
    for _ in 0..number.parse().unwrap() {
        let config = Config { nats: Some(url.to_owned()), replicas: 3, ..Config::default() };
        let cluster = Cluster::connect(&config).await.unwrap();
        let executor = ToolExecutor::default();
        let groups = Groups::start(cluster, executor.tools()).await.unwrap();
        gateways.push(Gateway { executor, groups });
    }
    let mut load = JoinSet::new();
    let outcomes = Outcomes::default();
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        match line.split_once(' ') {
            None => {
                let clusters: Vec<&Cluster> =
                    gateways.iter().map(|gateway| gateway.groups.cluster()).collect();
                println!("{}", Traffic::of(clusters.into_iter()).line());
            }
            Some(("know", workers)) => {
                let workers = workers.parse().unwrap();
                match timeout(KNOWN, know(&gateways, workers)).await {
                    Ok(()) => println!("done"),
                    Err(_) => println!("{}", unknown(&gateways, workers)),
                }
            }
            Some(("load", "on")) => {
                for gateway in &gateways {
                    load.spawn(calls(gateway.executor.clone(), outcomes.clone()));
                }
                println!("done");
            }
            Some(_) => {
                load.shutdown().await;
                println!("{:?}", outcomes.lock().unwrap());
            }
        }
    }
}

/// How many workers a gateway knows.
fn known(gateway: &Gateway) -> usize {
    let totals = gateway.groups.totals().unwrap_or_default();
    totals.values().map(|group| group.workers).sum()
}

/// Says which gateways do not know so many workers.
fn unknown(gateways: &[Gateway], workers: usize) -> String {
    let wrong: Vec<_> = gateways.iter().map(known).filter(|known| *known != workers).collect();
    format!("{} of {} gateways know {wrong:?} workers", wrong.len(), gateways.len())
}

/// Waits until all know so many workers.
async fn know(gateways: &[Gateway], workers: usize) {
    while !gateways.iter().all(|gateway| known(gateway) == workers) {
        sleep(Duration::from_millis(20)).await;
    }
}

/// Calls tools of all groups, one after the other.
async fn calls(executor: ToolExecutor, outcomes: Outcomes) {
    let names: Vec<String> =
        executor.tools().all().iter().map(|tool| tool.name().to_string()).collect();
    for name in names.iter().cycle() {
        let result = executor.call(name, json!({})).await;
        let outcome = result.error_kind().map_or("ok", ErrorKind::code);
        *outcomes.lock().unwrap().entry(outcome).or_default() += 1;
        sleep(PAUSE).await;
    }
}
