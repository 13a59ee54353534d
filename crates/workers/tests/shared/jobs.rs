//! A gateway and workers for durable calls, in this process. A runner that is aborted is a worker that died: it says nothing more.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use switchboard_runtime::{DurableCalls, QueuedCall, ServerSettings, ToolExecutor};
use switchboard_testkit::Fake;
use switchboard_toolcall::{
    BoxFuture, CallContext, CallId, CancellationToken, ErrorKind, HumanDuration, Tool, ToolCall,
    ToolError, ToolOutput, ToolResult, ToolSpec,
};
use switchboard_workers::{Cluster, JobQueue, JobRunner, Jobs, jobs};
use tokio::{sync::Semaphore, task::JoinHandle};

/// The longest that anything may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Few attempts, soon after one another; no worker counts as lost only because the machine is busy.
pub(crate) fn settings() -> jobs::Config {
    jobs::Config {
        attempts: 3,
        retry_delay: HumanDuration(Duration::from_millis(50)),
        lost_after: HumanDuration(Duration::from_secs(90)),
        ..jobs::Config::default()
    }
}

/// A worker counts as lost soon, for tests in which one is.
pub(crate) fn mortal() -> jobs::Config {
    jobs::Config { lost_after: HumanDuration(Duration::from_secs(3)), ..settings() }
}

pub(crate) fn jobs(cluster: &Cluster) -> Jobs {
    Jobs::new(cluster.clone(), settings())
}

/// What the tools themselves wrote down: how often each note was run.
#[derive(Clone, Default)]
pub(crate) struct RunLog(Arc<Mutex<HashMap<String, usize>>>);

impl RunLog {
    pub(crate) fn note(&self, what: &str) {
        *self.0.lock().unwrap().entry(what.to_owned()).or_default() += 1;
    }

    pub(crate) fn times(&self, what: &str) -> usize {
        self.0.lock().unwrap().get(what).copied().unwrap_or_default()
    }

    pub(crate) async fn saw(&self, what: &str) {
        until("the tool has begun", async || (self.times(what) > 0).then_some(())).await;
    }
}

/// The tools of a worker: each writes down `note` when it begins.
pub(crate) fn tools(log: &RunLog) -> ToolExecutor {
    let executor = ToolExecutor::default();
    let (wrote, held, flaky, counted) = (log.clone(), log.clone(), log.clone(), log.clone());
    let text = |args: &Value| args["note"].as_str().unwrap_or_default().to_owned();
    let tools = [
        Fake::new("write", move |args, _| {
            wrote.note(&text(&args));
            std::future::ready(Ok(ToolOutput::Value(json!({"wrote": args["note"]}))))
        }),
        // Waits until it is cancelled, or for as long as it is told.
        Fake::new("hold", move |args, cx| {
            held.note(&text(&args));
            async move {
                let secs = args["secs"].as_f64().unwrap_or(600.0);
                tokio::select! {
                    () = cx.cancel.cancelled() => {}
                    () = tokio::time::sleep(Duration::from_secs_f64(secs)) => {}
                }
                Ok(ToolOutput::Value(json!("held")))
            }
        }),
        // Fails so often, then succeeds.
        Fake::new("flaky", move |args, _| {
            let note = text(&args);
            flaky.note(&note);
            let failures = usize::try_from(args["failures"].as_u64().unwrap_or(0)).unwrap();
            let kind = args["kind"].as_str().unwrap_or("unavailable").parse().unwrap();
            std::future::ready(match flaky.times(&note) <= failures {
                true => Err(ToolError::new(kind, format!("{note} does not work yet"))),
                false => Ok(ToolOutput::Value(json!("at last"))),
            })
        }),
        Fake::new("count", move |args, cx| {
            counted.note(&text(&args));
            async move {
                for step in 1..=3 {
                    cx.progress.report(switchboard_toolcall::ProgressUpdate {
                        progress: f64::from(step),
                        total: Some(3.0),
                        message: None,
                    });
                    tokio::time::sleep(Duration::from_millis(300)).await;
                }
                cx.cancel.cancelled().await;
                Ok(ToolOutput::Value(Value::Null))
            }
        }),
        Fake::new("much", |args, _| {
            let size = usize::try_from(args["size"].as_u64().unwrap()).unwrap();
            std::future::ready(Ok(ToolOutput::Value(json!("x".repeat(size)))))
        }),
    ];
    for tool in tools {
        executor.tools().add(tool).unwrap();
    }
    executor
}

/// A tool of a worker as a gateway has it: it lays its calls into the queue.
pub(crate) struct Remote {
    spec: ToolSpec,
    jobs: Jobs,
}

impl Tool for Remote {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        _: Value,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        panic!("these tests only queue");
    }

    fn enqueue<'a>(
        &'a self,
        args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallId, ToolError>> {
        Box::pin(self.jobs.enqueue(&self.spec, args, cx))
    }
}

/// A gateway: `gpu__NAME` for each tool of the tools, idempotent, and `gpu__NAME_once`, which does not say so.
pub(crate) struct TestGateway {
    pub(crate) executor: ToolExecutor,
    pub(crate) queue: JobQueue,
}

impl TestGateway {
    pub(crate) fn new(cluster: &Cluster) -> Self {
        let (executor, jobs) = (ToolExecutor::default(), jobs(cluster));
        let settings = ServerSettings::default();
        executor.tools().add_server("gpu", settings).unwrap();
        executor.tools().add_server("tools", ServerSettings::default()).unwrap();
        let remote = |name: &str, group: &str, idempotent: bool| -> Arc<dyn Tool> {
            let tool = Fake::echoes(name).of_server(group).with(|spec| {
                spec.annotations.idempotent = Some(idempotent);
                spec.settings.durable = true;
            });
            Arc::new(Remote { spec: tool.spec().clone(), jobs: jobs.clone() })
        };
        let names = ["write", "hold", "flaky", "count", "much", "gone"];
        let all = |group, idempotent| names.map(|name| remote(name, group, idempotent)).to_vec();
        executor.tools().set_server_tools("gpu", all("gpu", true));
        executor.tools().set_server_tools("tools", all("tools", false));
        executor.tools().add(Fake::echoes("local")).unwrap();
        Self { queue: JobQueue::new(jobs, executor.clone()), executor }
    }

    pub(crate) async fn submit(&self, name: &str, args: Value) -> Result<CallId, Box<ToolResult>> {
        self.submit_as(name, args, &CallContext::for_caller("ada")).await
    }

    pub(crate) async fn submit_as(
        &self,
        name: &str,
        args: Value,
        cx: &CallContext,
    ) -> Result<CallId, Box<ToolResult>> {
        let Value::Object(args) = args else { panic!("arguments are an object") };
        self.executor.submit(ToolCall::new(name, args), cx).await
    }

    /// The call once it has ended; servers that are away meanwhile are waited for.
    pub(crate) async fn ended(&self, id: CallId) -> QueuedCall {
        until("the call has ended", async || {
            self.queue.look(id).await.ok().flatten().filter(|call| call.state.is_over())
        })
        .await
    }
}

/// A worker in this process; aborted when dropped, as if it were killed.
pub(crate) struct TestWorker {
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl TestWorker {
    pub(crate) fn start(cluster: &Cluster, group: &str, name: &str, log: &RunLog) -> Self {
        Self::with(jobs(cluster), group, name, tools(log), 4)
    }

    /// As [`start`](Self::start), where one of them is going to die.
    pub(crate) fn mortal(cluster: &Cluster, group: &str, name: &str, log: &RunLog) -> Self {
        let jobs = Jobs::new(cluster.clone(), mortal());
        Self::with(jobs, group, name, tools(log), 4)
    }

    pub(crate) fn with(
        jobs: Jobs,
        group: &str,
        name: &str,
        executor: ToolExecutor,
        slots: usize,
    ) -> Self {
        let slots = Arc::new(Semaphore::new(slots));
        let runner = JobRunner::new(jobs, group, name, executor, Arc::new(|_| true), slots);
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let run = async move { runner.run(stopped, Duration::from_secs(1)).await };
        Self { stop, task: Some(tokio::spawn(run)) }
    }

    /// Tells it to leave, and waits until it has.
    pub(crate) async fn leave(mut self) {
        self.stop.cancel();
        self.task.take().unwrap().await.unwrap();
    }
}

impl Drop for TestWorker {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// Waits until there is something.
pub(crate) async fn until<T>(what: &str, look: impl AsyncFn() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("never: {what}"))
}

pub(crate) fn kind(call: &QueuedCall) -> Option<ErrorKind> {
    call.result.as_ref().expect("it has ended").error_kind()
}

pub(crate) fn text(call: &QueuedCall) -> String {
    call.result.as_ref().expect("it has ended").text()
}
