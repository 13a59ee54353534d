//! A worker as 0.1.0 was.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use futures_util::StreamExt;
use serde_json::{Value, json};
use switchboard_runtime::toolcall::time::unix_milliseconds;
use switchboard_testkit::Fake;
use switchboard_workers::{
    Bucket, Cluster, Purpose,
    offer::{OfferedTool, WorkerOffer},
    transport::Ack,
    wire,
};
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

/// How often it renewed its entry.
const RENEWED: Duration = Duration::from_millis(2_500);

/// A worker of `gpu` that returns its arguments: `do`, which must not run twice, and `read`. It dies when it is dropped.
pub(super) struct OldWorker {
    ran: Arc<Mutex<Vec<String>>>,
    _tasks: Vec<AbortOnDropHandle<()>>,
}

/// What its tasks share.
#[derive(Clone)]
struct OldWorkerInner {
    cluster: Cluster,
    inbox: String,
    ran: Arc<Mutex<Vec<String>>>,
}

const ID: &str = "01KA0000000000000000000000";

impl OldWorker {
    pub(super) async fn start(cluster: Cluster) -> Self {
        let ran = Arc::<Mutex<Vec<String>>>::default();
        let inner = OldWorkerInner { inbox: cluster.new_inbox(), cluster, ran: ran.clone() };
        let mut tasks = Vec::new();
        for tool in ["do", "read"] {
            let calls = inner.cluster.names().calls("gpu", tool);
            let messages = inner.cluster.subscribe(calls, Some("gpu")).await.unwrap();
            let inner = inner.clone();
            tasks.push(spawn(messages.for_each(move |message| {
                let inner = inner.clone();
                async move {
                    tokio::spawn(async move {
                        inner.run(&message.subject, message.reply.unwrap(), &message.payload).await
                    });
                }
            })));
        }
        tasks.push(spawn(inner.clone().announces()));
        tasks.push(spawn(inner.takes_jobs()));
        Self { ran, _tasks: tasks }
    }

    /// The notes of the calls that it has run.
    pub(super) fn ran(&self) -> Vec<String> {
        self.ran.lock().unwrap().clone()
    }
}

fn spawn(work: impl Future<Output = ()> + Send + 'static) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(work))
}

impl OldWorkerInner {
    /// Writes its offer, and its entry again and again. It sends no messages about that.
    async fn announces(self) {
        let cluster = &self.cluster;
        let executor = switchboard_runtime::ToolExecutor::default();
        for tool in [Fake::echoes("do"), Fake::echoes("read").read_only()] {
            executor.tools().add(tool).unwrap();
        }
        let all = executor.tools().all();
        let tools = all.iter().map(|tool| OfferedTool::from(&**tool)).collect();
        let offer = WorkerOffer::new(tools).unwrap();
        let key = cluster.names().member("gpu", ID);
        let (tools, workers) = (Bucket::Tools, Bucket::Workers);
        let entry = cluster.signer().write(Purpose::Entry(tools), &[&key], &offer).unwrap();
        cluster.bucket(tools).await.unwrap().put(&key, entry).await.unwrap();
        let presence = json!({"group": "gpu", "worker": ID, "tools": offer.hash, "capacity": 4, "running": 0, "leaving": false, "version": "0.1.0", "started": 1});
        loop {
            let entry = cluster.signer().write(Purpose::Entry(workers), &[&key], &presence);
            cluster.bucket(workers).await.unwrap().put(&key, entry.unwrap()).await.unwrap();
            sleep(RENEWED).await;
        }
    }

    /// Accepts a call, waits to be told to start if it must, and replies.
    async fn run(&self, subject: &str, to: String, payload: &Bytes) {
        let signer = self.cluster.signer();
        let body = signer.open(Purpose::Request, &[subject, &to], payload).unwrap().body;
        let request: Value = wire::read("a call", &body).unwrap();
        let callers = format!("{}.{}", self.inbox, request["call"].as_str().unwrap());
        let mut words = self.cluster.subscribe(callers.clone(), None).await.unwrap();
        let accepted = json!({"accepted": {"worker": ID}});
        let accepted = signer.write(Purpose::Reply, &[&to, &callers], &accepted).unwrap();
        self.cluster.publish(to.clone(), Some(callers), accepted).await.unwrap();
        if request["waits"] == json!(true) {
            let word = words.next().await.unwrap();
            let word = signer.open(Purpose::Word, &[&word.subject], &word.payload).unwrap();
            assert_eq!(&*word.body, b"go");
        }
        let result = json!({"result": {"answer": {"value": self.result(&request)}}});
        let result = signer.write(Purpose::Reply, &[&to, ""], &result).unwrap();
        self.cluster.publish(to, None, result).await.unwrap();
    }

    fn result(&self, request: &Value) -> Value {
        self.ran
            .lock()
            .unwrap()
            .push(request["args"]["note"].as_str().unwrap_or_default().to_owned());
        request["args"].clone()
    }

    /// Takes queued calls: notes that each has begun, and that it has ended.
    async fn takes_jobs(self) {
        let mut queue = loop {
            match self.cluster.queue().consumer("gpu", Duration::from_secs(30)).await {
                Ok(queue) => break queue,
                // It tries again, for as long as it runs.
                Err(_) => sleep(Duration::from_millis(500)).await,
            }
        };
        let signer = self.cluster.signer();
        loop {
            let Some(job) = queue.next(Duration::from_secs(5)).await.unwrap() else { continue };
            let body = signer.open(Purpose::Job, &[&job.subject], &job.payload).unwrap().body;
            let placed: Value = wire::read("a queued call", &body).unwrap();
            let request = &placed["here"]["request"];
            let call = request["call"].as_str().unwrap();
            self.notes(call, json!({"state": "running", "attempts": 1, "worker": ID})).await;
            let outcome = json!({"here": {"answer": {"value": self.result(request)}}});
            self.notes(call, json!({"state": "done", "ended": {"outcome": outcome, "micros": 7}}))
                .await;
            job.acks.ack(Ack::Done).await.unwrap();
        }
    }

    /// Changes the state of a queued call, which its gateway may not have written yet.
    async fn notes(&self, call: &str, changes: Value) {
        let (signer, purpose) = (self.cluster.signer(), Purpose::Entry(Bucket::Calls));
        let states = self.cluster.bucket(Bucket::Calls).await.unwrap();
        let entry = loop {
            match states.get(call).await.unwrap() {
                Some(entry) => break entry,
                None => sleep(Duration::from_millis(10)).await,
            }
        };
        let body = signer.open(purpose, &[call], &entry.value.unwrap()).unwrap().body;
        let mut state: Value = wire::read("a state", &body).unwrap();
        let fields = state.as_object_mut().unwrap();
        fields.extend(changes.as_object().unwrap().clone());
        fields.insert("changed_ms".to_owned(), json!(unix_milliseconds()));
        let state = signer.write(purpose, &[call], &state).unwrap();
        assert!(states.update(call, state, entry.revision).await.unwrap().is_some());
    }
}
