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
    group: usize,
    cluster: Cluster,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// Is so many workers as it is told.
pub(crate) async fn run(url: &str, groups: usize) {
    let mut gone = Traffic::default();
    let mut running = VecDeque::new();
    let mut started = 0;
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        let (what, number) = line.split_once(' ').unwrap_or((&line, "0"));
        let number: usize = number.parse().unwrap();
        match what {
            "join" => join(&mut running, url, groups, &mut started, number).await,
            "leave" => leave(running.drain(..number).collect(), &mut gone).await,
            "die" => {
                for worker in running.drain(..number) {
                    worker.task.abort();
                    gone.add(&Traffic::of(std::iter::once(&worker.cluster)));
                }
            }
            // A few at a time stop and start again, as they do when each gets a new version.
            "upgrade" => {
                let mut left = number;
                while left > 0 {
                    let some = left.min(AT_ONCE);
                    leave(running.drain(..some).collect(), &mut gone).await;
                    join(&mut running, url, groups, &mut started, some).await;
                    left -= some;
                }
            }
            "traffic" => {
                let mut traffic = Traffic::of(running.iter().map(|worker| &worker.cluster));
                traffic.add(&gone);
                println!("{}", traffic.line());
                continue;
            }
            "counts" => {
                let mut counts = vec![0; groups];
                running.iter().for_each(|worker: &RunningWorker| counts[worker.group] += 1);
                println!("{}", counts.iter().map(usize::to_string).collect::<Vec<_>>().join(" "));
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
    RunningWorker { group, cluster, stop, task }
}

async fn leave(workers: Vec<RunningWorker>, gone: &mut Traffic) {
    for some in workers.chunks(AT_ONCE) {
        some.iter().for_each(|worker| worker.stop.cancel());
    }
    for worker in workers {
        worker.task.await.unwrap();
        gone.add(&Traffic::of(std::iter::once(&worker.cluster)));
    }
}
