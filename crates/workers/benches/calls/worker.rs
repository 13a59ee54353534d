//! A worker process: this program, started again.

use std::{
    process::{Child, Command},
    sync::Arc,
    time::Duration,
};

use futures_util::StreamExt;
use serde_json::json;
use switchboard_runtime::ToolExecutor;
use switchboard_testkit::Fake;
use switchboard_toolcall::{CancellationToken, ToolOutput};
use switchboard_workers::{Cluster, Config, Worker, jobs};
use tokio::time::sleep;

/// What tells the program to be a worker.
pub(crate) const WORD: &str = "be-a-worker";

/// Where bare requests are answered.
pub(crate) const BARE: &str = "bench.bare";

/// A worker that ends with its owner.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn start(url: &str, group: &str, at_once: usize) -> Self {
        Self::with(&[url, group, &at_once.to_string()])
    }

    /// A worker of the cluster with so many partitions of queued calls.
    pub(crate) fn divided(url: &str, group: &str, at_once: usize, partitions: u32) -> Self {
        Self::with(&[url, group, &at_once.to_string(), &partitions.to_string()])
    }

    fn with(words: &[&str]) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        Self(command.arg(WORD).args(words).spawn().unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A tool that costs nothing.
pub(crate) fn nothing() -> Fake {
    Fake::echoes("nothing")
}

/// The settings of a cluster on three servers with so many partitions of queued calls.
pub(crate) fn divided(url: &str, partitions: u32) -> Config {
    let jobs = jobs::Config { partitions, ..Default::default() };
    let (nats, prefix) = (Some(url.to_owned()), format!("divided{partitions}"));
    Config { nats, prefix, replicas: 3, jobs, ..Config::default() }
}

/// Is a worker until it is killed.
pub(crate) async fn run(words: Vec<String>) {
    let [url, group, at_once, partitions @ ..] = &words[..] else { panic!("{words:?}") };
    let config = match partitions.first() {
        None => Config { nats: Some(url.clone()), ..Config::default() },
        Some(partitions) => divided(url, partitions.parse().unwrap()),
    };
    let cluster = Cluster::connect(&config).await.unwrap();
    let executor = ToolExecutor::default();
    executor.tools().add(nothing()).unwrap();
    executor.tools().add(Fake::echoes("read").read_only()).unwrap();
    let naps = Fake::new("sleep", |_, _| async {
        sleep(Duration::from_millis(10)).await;
        Ok(ToolOutput::Value(json!("slept")))
    });
    executor.tools().add(naps).unwrap();
    tokio::spawn(answer(cluster.clone()));
    let (all, at_once) = (Arc::new(|_: &_| true), at_once.parse().unwrap());
    let worker = Worker::new(cluster, group, at_once, executor, all).unwrap();
    worker.run(CancellationToken::new()).await.unwrap();
}

async fn answer(cluster: Cluster) {
    let mut requests = cluster.nats().unwrap().client().subscribe(BARE).await.unwrap();
    while let Some(request) = requests.next().await {
        cluster
            .nats()
            .unwrap()
            .client()
            .publish(request.reply.unwrap(), request.payload)
            .await
            .unwrap();
    }
}
