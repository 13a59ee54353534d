//! Many workers in one process.

use std::{collections::VecDeque, sync::Arc};

use futures_util::future::join_all;
use switchboard_runtime::ToolExecutor;
use switchboard_testkit::Fake;
use switchboard_toolcall::CancellationToken;
use switchboard_workers::{Cluster, Config, Worker};
use tokio::{
    io::{AsyncBufReadExt, BufReader, stdin},
    task::JoinHandle,
};

use crate::child::Traffic;

/// How many start or stop at once.
const AT_ONCE: usize = 50;

struct RunningWorker {
    cluster: Cluster,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// Is so many workers as it is told.
pub(crate) async fn run(url: &str, groups: &str) {
    let groups: usize = groups.parse().unwrap();
    let mut running = VecDeque::new();
    let mut started = 0;
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        let (what, number) = line.split_once(' ').unwrap_or((&line, "0"));
        let number: usize = number.parse().unwrap();
        match what {
            "join" => join(&mut running, url, groups, &mut started, number).await,
            "leave" => leave(running.drain(..number).collect()).await,
            "die" => running.drain(..number).for_each(|worker| worker.task.abort()),
            // They stop and start again, as one after the other gets a new version.
            "upgrade" => {
                leave(running.drain(..number).collect()).await;
                join(&mut running, url, groups, &mut started, number).await;
            }
            "traffic" => {
                let traffic = Traffic::of(running.iter().map(|worker| &worker.cluster));
                println!("{}", traffic.line());
                continue;
            }
            other => panic!("{other}"),
        }
        println!("done");
    }
}

async fn join(
    running: &mut VecDeque<RunningWorker>,
    url: &str,
    groups: usize,
    started: &mut usize,
    number: usize,
) {
    let places: Vec<usize> = (*started..*started + number).collect();
    *started += number;
    for some in places.chunks(AT_ONCE) {
        running.extend(join_all(some.iter().map(|place| start(url, place % groups))).await);
    }
}

async fn start(url: &str, group: usize) -> RunningWorker {
    let config = Config { nats: Some(url.to_owned()), replicas: 3, ..Config::default() };
    let cluster = Cluster::connect(&config).await.unwrap();
    let executor = ToolExecutor::default();
    for tool in 0..10 {
        executor.tools().add(Fake::echoes(&format!("tool-{tool}"))).unwrap();
    }
    let all = Arc::new(|_: &_| true);
    let worker = Worker::new(cluster.clone(), &format!("group-{group}"), 16, executor, all);
    let (worker, stop) = (worker.unwrap(), CancellationToken::new());
    let told = stop.clone();
    let task = tokio::spawn(async move { worker.run(told).await.unwrap() });
    RunningWorker { cluster, stop, task }
}

async fn leave(workers: Vec<RunningWorker>) {
    for some in workers.chunks(AT_ONCE) {
        some.iter().for_each(|worker| worker.stop.cancel());
    }
    for worker in workers {
        worker.task.await.unwrap();
    }
}
