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
    time::{sleep, timeout},
};
use tokio_util::task::AbortOnDropHandle;

use crate::child::Traffic;

/// The pause between two calls of a gateway.
const PAUSE: Duration = Duration::from_millis(50);

/// How long all may take until they know the workers.
const KNOWN: Duration = Duration::from_secs(300);

/// How many calls ended how.
type Outcomes = Arc<Mutex<BTreeMap<&'static str, u64>>>;

struct Gateway {
    executor: ToolExecutor,
    groups: Groups,
    /// The numbers of the groups that it uses.
    own: Vec<usize>,
    /// Makes calls.
    load: Option<AbortOnDropHandle<()>>,
}

impl Gateway {
    /// Starts a gateway that uses the groups `own`, or all groups if `own` is empty.
    async fn start(url: &str, own: Vec<usize>, all: usize) -> Self {
        let config = Config {
            nats: Some(url.to_owned()),
            replicas: 3,
            groups: own.iter().map(|group| format!("group-{group}")).collect(),
            ..Config::default()
        };
        let cluster = Cluster::connect(&config).await.unwrap();
        let executor = ToolExecutor::default();
        let groups = Groups::start(cluster, executor.tools()).await.unwrap();
        let own = if own.is_empty() { (0..all).collect() } else { own };
        Self { executor, groups, own, load: None }
    }

    fn traffic(&self) -> Traffic {
        Traffic::of(std::iter::once(self.groups.cluster()))
    }

    fn load(&mut self, outcomes: &Outcomes) {
        let calls = calls(self.executor.clone(), outcomes.clone());
        self.load = Some(AbortOnDropHandle::new(tokio::spawn(calls)));
    }

    /// Returns how many workers of its groups it knows.
    fn known(&self) -> usize {
        let totals = self.groups.totals().unwrap_or_default();
        totals.values().map(|group| group.workers).sum()
    }

    /// Returns how many there are, with the numbers of workers of all groups.
    fn expected(&self, counts: &[usize]) -> usize {
        self.own.iter().map(|group| counts[*group]).sum()
    }
}

/// Is so many gateways, of which each uses so many of the groups; all if that is 0.
pub(crate) async fn run(url: &str, [number, all, own]: [usize; 3]) {
    let own_groups = |gateway: usize| -> Vec<usize> {
        (0..own).map(|place| (gateway * own + place) % all).collect()
    };
    let mut gateways = Vec::new();
    for gateway in 0..number {
        gateways.push(Gateway::start(url, own_groups(gateway), all).await);
    }
    let mut gone = Traffic::default();
    let outcomes = Outcomes::default();
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        let (what, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match what {
            "traffic" => {
                let mut traffic = gone;
                gateways.iter().for_each(|gateway| traffic.add(&gateway.traffic()));
                println!("{}", traffic.line());
            }
            "received" => {
                let received =
                    gateways.iter().map(|gateway| gateway.traffic().received.to_string());
                println!("{}", received.collect::<Vec<_>>().join(" "));
            }
            "know" => {
                let counts: Vec<usize> =
                    rest.split(' ').map(|word| word.parse().unwrap()).collect();
                match timeout(KNOWN, know(&gateways, &counts)).await {
                    Ok(()) => println!("done"),
                    Err(_) => println!("{}", unknown(&gateways, &counts)),
                }
            }
            "load" => {
                gateways.iter_mut().for_each(|gateway| gateway.load(&outcomes));
                println!("done");
            }
            // One after the other stops and starts again.
            "upgrade" => {
                for (place, gateway) in gateways.iter_mut().enumerate() {
                    gateway.load = None;
                    gateway.groups.close().await;
                    gone.add(&gateway.traffic());
                    *gateway = Gateway::start(url, own_groups(place), all).await;
                    gateway.groups.wait_until_ready(KNOWN).await.unwrap();
                    gateway.load(&outcomes);
                }
                println!("done");
            }
            _ => {
                gateways.iter_mut().for_each(|gateway| gateway.load = None);
                println!("{:?}", outcomes.lock().unwrap());
            }
        }
    }
}

/// Says which gateways do not know the workers.
fn unknown(gateways: &[Gateway], counts: &[usize]) -> String {
    let wrong = |gateway: &Gateway| (gateway.known(), gateway.expected(counts));
    let wrong: Vec<_> = gateways.iter().map(wrong).filter(|(is, should)| is != should).collect();
    format!("{} of {} gateways know {wrong:?} workers", wrong.len(), gateways.len())
}

/// Waits until all know so many workers.
async fn know(gateways: &[Gateway], counts: &[usize]) {
    while !gateways.iter().all(|gateway| gateway.known() == gateway.expected(counts)) {
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
