//! Workers and gateways in this process, each with its own connection, and a worker whose replies are scripted.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt;
use serde_json::Value;
use switchboard_runtime::{ToolExecutor, toolcall::CancellationToken};
use switchboard_testkit::Fake;
use switchboard_toolcall::{CallContext, ToolCall, ToolResult};
use switchboard_workers::{
    Bucket, Cluster, Groups, Worker,
    offer::{OfferedTool, Presence, WorkerOffer},
    wire::{self, WorkerNotice, WorkerReply, WorkerRequest},
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::{sleep, timeout},
};
use ulid::Ulid;

use crate::TestServers;

/// How long something may take on a machine that is busy with other tests.
pub(crate) const LONG: Duration = Duration::from_secs(90);

/// A worker that can be told to stop.
pub(crate) struct RunningWorker {
    pub(crate) id: String,
    pub(crate) stop: CancellationToken,
    pub(crate) executor: ToolExecutor,
    pub(crate) ended: JoinHandle<()>,
}

impl RunningWorker {
    /// Tells it to stop, and waits until it has.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        within("the worker ends", self.ended).await.unwrap();
    }
}

impl TestServers {
    /// A worker of `group` with these tools.
    pub(crate) async fn worker(
        &self,
        group: &str,
        at_once: usize,
        tools: Vec<Fake>,
    ) -> RunningWorker {
        let cluster = self.connect().await;
        Self::worker_at(cluster, group, at_once, tools)
    }

    /// As [`worker`](Self::worker), with this connection.
    pub(crate) fn worker_at(
        cluster: Cluster,
        group: &str,
        at_once: usize,
        tools: Vec<Fake>,
    ) -> RunningWorker {
        let executor = ToolExecutor::default();
        for tool in tools {
            executor.tools().add(tool).unwrap();
        }
        let all = Arc::new(|_: &_| true);
        let worker = Worker::new(cluster, group, at_once, executor.clone(), all).unwrap();
        let (id, stop) = (worker.id().to_owned(), CancellationToken::new());
        let told = stop.clone();
        let ended = tokio::spawn(async move { worker.run(told).await.unwrap() });
        RunningWorker { id, stop, executor, ended }
    }

    /// A gateway that knows this tool.
    pub(crate) async fn gateway(&self, tool: &str) -> Gateway {
        let gateway = self.empty_gateway().await;
        gateway.lists(tool).await;
        gateway
    }

    /// A gateway that may know nothing yet.
    pub(crate) async fn empty_gateway(&self) -> Gateway {
        Gateway::start(self.connect().await).await
    }

    /// A worker of `group` that has one tool, says what a test tells it, and lets the test read what it is asked.
    pub(crate) async fn scripted(&self, group: &str, tool: Fake) -> ScriptedWorker {
        ScriptedWorker::start(self.connect().await, group, tool).await
    }
}

/// Who calls.
#[derive(Clone)]
pub(crate) struct Gateway {
    pub(crate) executor: ToolExecutor,
    pub(crate) groups: Arc<Groups>,
}

impl Gateway {
    pub(crate) async fn start(cluster: Cluster) -> Self {
        let executor = ToolExecutor::default();
        let groups = Groups::start(cluster, executor.tools()).await.unwrap();
        Self { executor, groups: Arc::new(groups) }
    }

    pub(crate) async fn call(&self, name: &str, args: Value) -> ToolResult {
        within(name, self.executor.call(name, args)).await
    }

    /// Calls in the background, with this around the call.
    pub(crate) fn begin(&self, name: &str, args: Value, cx: CallContext) -> JoinHandle<ToolResult> {
        let (executor, name) = (self.executor.clone(), name.to_owned());
        let args = args.as_object().unwrap().clone();
        tokio::spawn(async move { executor.execute(ToolCall::new(name, args), &cx).await })
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let all = self.executor.tools().all();
        all.iter().map(|tool| tool.name().to_string()).collect()
    }

    /// Waits until the tool is listed.
    pub(crate) async fn lists(&self, tool: &str) {
        until(&format!("{tool} is listed"), || self.names().iter().any(|name| name == tool)).await;
    }

    /// Waits until the tool is listed no more.
    pub(crate) async fn forgets(&self, tool: &str) {
        until(&format!("{tool} is gone"), || self.names().iter().all(|name| name != tool)).await;
    }
}

/// A worker made of a test.
pub(crate) struct ScriptedWorker {
    cluster: Cluster,
    /// The calls that it is asked to run, with where answers go.
    pub(crate) calls: mpsc::UnboundedReceiver<(WorkerRequest, String)>,
    /// What it is told beside calls.
    pub(crate) notices: mpsc::UnboundedReceiver<WorkerNotice>,
    _alive: watch::Sender<()>,
}

impl ScriptedWorker {
    pub(crate) async fn start(cluster: Cluster, group: &str, tool: Fake) -> Self {
        let executor = ToolExecutor::default();
        executor.tools().add(tool).unwrap();
        let tool = OfferedTool::from(&*executor.tools().all()[0]);
        let id = Ulid::generate().to_string();
        let names = cluster.names().clone();
        let (asked, calls) = mpsc::unbounded_channel();
        for subject in [names.calls(group, &tool.name), names.calls_to(&id)] {
            let mut messages = cluster.subscribe(subject, Some(group)).await.unwrap();
            let asked = asked.clone();
            tokio::spawn(async move {
                while let Some(message) = messages.next().await {
                    let request = wire::read("a call", &message.payload).unwrap();
                    _ = asked.send((request, message.reply.unwrap().to_string()));
                }
            });
        }
        let (told, notices) = mpsc::unbounded_channel();
        for subject in [names.worker(&id), names.group(group)] {
            let mut messages = cluster.subscribe(subject, None).await.unwrap();
            let told = told.clone();
            tokio::spawn(async move {
                while let Some(message) = messages.next().await {
                    let notice = wire::read("a notice", &message.payload).unwrap();
                    // That is about entries, and for all workers of the group.
                    if !matches!(notice, WorkerNotice::Watched(_)) {
                        _ = told.send(notice);
                    }
                }
            });
        }
        let offer = WorkerOffer::new(vec![tool]).unwrap();
        let alive = watch::Sender::new(());
        let gone = alive.subscribe();
        tokio::spawn(be_there(cluster.clone(), group.to_owned(), id, offer, gone));
        Self { cluster, calls, notices, _alive: alive }
    }

    /// The next call that it is asked to run.
    pub(crate) async fn asked(&mut self) -> (WorkerRequest, String) {
        within("a call", self.calls.recv()).await.unwrap()
    }

    pub(crate) async fn say(&self, to: &str, reply: &WorkerReply) {
        self.send(to, wire::write(reply).unwrap()).await;
    }

    /// Says that it has the call, and waits until it is told to begin where it has to.
    pub(crate) async fn accept(&self, to: &str, waits: bool) {
        let inbox = self.cluster.new_inbox();
        let mut told = self.cluster.subscribe(inbox.clone(), None).await.unwrap();
        let accepted = wire::write(&WorkerReply::Accepted { worker: "w".to_owned() }).unwrap();
        self.cluster.publish(to.to_owned(), Some(inbox), accepted).await.unwrap();
        if waits {
            let message = within("a word", told.next()).await.unwrap();
            assert_eq!(*message.payload, *wire::GO);
        }
    }

    pub(crate) async fn send(&self, to: &str, bytes: Bytes) {
        self.cluster.publish(to.to_owned(), None, bytes).await.unwrap();
    }
}

async fn be_there(
    cluster: Cluster,
    group: String,
    worker: String,
    offer: WorkerOffer,
    mut gone: watch::Receiver<()>,
) {
    let key = cluster.names().member(&group, &worker);
    let presence = Presence {
        group,
        worker,
        tools: offer.hash.clone(),
        capacity: 1,
        running: 0,
        leaving: false,
        notifies: false,
        version: "0".to_owned(),
        started: 0,
    };
    let tools = cluster.bucket(Bucket::Tools).await.unwrap();
    tools.put(&key, wire::write(&offer).unwrap()).await.unwrap();
    let workers = cluster.bucket(Bucket::Workers).await.unwrap();
    loop {
        workers.put(&key, wire::write(&presence).unwrap()).await.unwrap();
        tokio::select! {
            () = sleep(Duration::from_secs(1)) => {}
            _ = gone.changed() => return,
        }
    }
}

/// Waits for something that must come.
pub(crate) async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    let ended = timeout(LONG, work).await;
    ended.unwrap_or_else(|_| panic!("not within {LONG:?}: {what}"))
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    within(what, async {
        while !is_so() {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}
