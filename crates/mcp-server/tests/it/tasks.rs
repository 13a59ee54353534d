//! Calls that outlive their requests: the tasks extension over a queue in memory.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use http_body_util::BodyExt;
use serde_json::{Value, json};
use switchboard_mcp_server::{ClusterServices, Config, McpCaller};
use switchboard_mcp_wire::RpcError;
use switchboard_runtime::{
    DurableCalls, QueueState, QueuedCall, ToolExecutor,
    toolcall::{
        BoxError, BoxFuture, CallId, ErrorKind, HumanDuration, ProgressUpdate, ToolError,
        ToolOutput, ToolSpec,
    },
};
use switchboard_testkit::tools::{Fake, Witness};
use tokio::time::sleep;

use crate::{
    queue::{Calls, MemoryQueue, Queued},
    test_server::{TestResponse, TestServer, events},
};

const DECLARED: &str = "io.modelcontextprotocol/clientCapabilities";

/// A test server whose tools `job`, `once`, `broken` and `steps` can be queued, and what `job` and `once` have seen.
struct TaskServer {
    test: TestServer,
    jobs: Witness,
}

impl TaskServer {
    fn new() -> Self {
        Self::with(Config::default())
    }

    fn with(config: Config) -> Self {
        let executor = ToolExecutor::default();
        let queue = MemoryQueue(Calls::default());
        let jobs = Witness::default();
        let twice = |spec: &mut ToolSpec| spec.annotations.idempotent = Some(true);
        let broken = Fake::new("broken", |_, _| async {
            sleep(Duration::from_secs(5)).await;
            let error = RpcError::new(-32050, "no more paper");
            Err(ToolError::new(ErrorKind::ToolError, "no more paper").caused_by(error))
        });
        let steps = Fake::new("steps", |_, cx| async move {
            sleep(Duration::from_secs(5)).await;
            let message = Some("half of it".to_owned());
            cx.progress.report(ProgressUpdate { progress: 1.0, total: Some(2.0), message });
            sleep(Duration::from_secs(5)).await;
            Ok(ToolOutput::Value(json!("all of it")))
        });
        let secs = json!({"type": "object", "properties": {"secs": {"type": "number"}}});
        let job = Fake::waits("job", &jobs).parameters(secs).with(twice);
        let once = Fake::waits("once", &jobs);
        for tool in [job, once, broken.with(twice), steps.with(twice)] {
            executor.tools().add(Queued::new(tool, &queue.0)).unwrap();
        }
        let services =
            ClusterServices { calls: Some(Arc::new(queue)), ..ClusterServices::default() };
        Self { test: TestServer::in_cluster(executor, None, config, services), jobs }
    }

    /// Asks as a client that knows of tasks.
    async fn ask(&self, method: &str, params: Value) -> Value {
        self.ask_as(&McpCaller::default(), method, params).await
    }

    async fn ask_as(&self, caller: &McpCaller, method: &str, params: Value) -> Value {
        TestResponse::of(self.test.begin_alone(method, declaring(params), caller).await)
            .await
            .last()
    }

    /// Calls a tool, and returns the task that it became.
    async fn task(&self, name: &str, arguments: Value) -> Value {
        let called = self.ask("tools/call", json!({"name": name, "arguments": arguments})).await;
        assert_eq!(called["result"]["resultType"], "task", "{called}");
        called["result"]["taskId"].clone()
    }

    async fn get(&self, id: &Value) -> Value {
        self.ask("tasks/get", json!({"taskId": id})).await["result"].clone()
    }

    /// How the task is in the end.
    async fn ended(&self, id: &Value) -> Value {
        loop {
            let task = self.get(id).await;
            if task["status"] != "working" {
                return task;
            }
            sleep(Duration::from_millis(task["pollIntervalMs"].as_u64().unwrap())).await;
        }
    }
}

/// The parameters of a client that knows of tasks.
fn declaring(mut params: Value) -> Value {
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    params["_meta"][DECLARED] = capabilities;
    params
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or(0)
}

// GW-1
#[tokio::test(start_paused = true)]
async fn a_call_becomes_a_task() {
    let tasks = TaskServer::new();
    let params = json!({"name": "job", "arguments": {"secs": 20}});
    let task = tasks.ask("tools/call", params).await["result"].clone();
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")));
    assert_eq!((&task["ttlMs"], &task["pollIntervalMs"]), (&json!(3_600_000), &json!(1000)));
    for time in ["createdAt", "lastUpdatedAt"] {
        let text = task[time].as_str().unwrap();
        assert!(text.len() == 24 && text.ends_with('Z'), "{text}");
    }
    let working = tasks.get(&task["taskId"]).await;
    assert_eq!(
        (&working["resultType"], &working["status"]),
        (&json!("complete"), &json!("working"))
    );
    assert_eq!((working.get("result"), working.get("error")), (None, None));
    let ended = tasks.ended(&task["taskId"]).await;
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["result"]["content"][0]["text"], "done");
    assert_eq!(ended["taskId"], task["taskId"]);
}

// GW-1: what has failed as a tool has completed as a task; what has failed as a request has failed as a task.
#[tokio::test(start_paused = true)]
async fn failures_end_as_they_would_without_a_task() {
    let tasks = TaskServer::new();
    let id = tasks.task("broken", json!({})).await;
    let failed = tasks.ended(&id).await;
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["error"], json!({"code": -32050, "message": "no more paper"}));
    assert_eq!((&failed["statusMessage"], failed.get("result")), (&json!("no more paper"), None));
    // What is not even queued is answered at once.
    let wrong = json!({"name": "job", "arguments": {"secs": "many"}});
    let wrong = tasks.ask("tools/call", wrong).await["result"].clone();
    assert_eq!((&wrong["resultType"], &wrong["isError"]), (&json!("complete"), &json!(true)));
}

// GW-1: a client that says nothing of tasks never sees any.
#[tokio::test(start_paused = true)]
async fn who_does_not_know_of_tasks_sees_none() {
    let tasks = TaskServer::new();
    let test = &tasks.test;
    let call = json!({"name": "job", "arguments": {"secs": 20}});
    let called = test.alone("tools/call", call.clone()).await.last()["result"].clone();
    assert_eq!(called["content"][0]["text"], "done");
    assert_eq!(called["resultType"], "complete");
    let id = json!({"taskId": "x", "inputResponses": {}});
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let refused = test.alone(method, id.clone()).await;
        assert_eq!(refused.refusal(), (400, -32021), "{method}");
        let needed = &refused.last()["error"]["data"]["requiredCapabilities"];
        assert_eq!(needed, &json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
    }
    let listen = json!({"notifications": {"taskIds": ["x"]}});
    assert_eq!(code(&test.alone("subscriptions/listen", listen).await.last()), -32021);
    // There are none in sessions.
    let session = test.session().await;
    let called = test.ask(&session, "tools/call", call).await.last();
    assert_eq!(called["result"]["content"][0]["text"], "done");
    assert_eq!(code(&test.ask(&session, "tasks/get", id.clone()).await.last()), -32601);
    // Nor without a queue.
    let alone = TestServer::new();
    let found = alone.alone("server/discover", json!({})).await.last()["result"].clone();
    assert_eq!(found["capabilities"].get("extensions"), None);
    assert_eq!(alone.alone("tasks/get", declaring(id)).await.refusal(), (404, -32601));
    let found = tasks.ask("server/discover", json!({})).await["result"].clone();
    assert_eq!(found["capabilities"]["extensions"], json!({"io.modelcontextprotocol/tasks": {}}));
}

// GW-1: what ends soon needs no task.
#[tokio::test(start_paused = true)]
async fn what_ends_soon_is_answered() {
    let tasks = TaskServer::new();
    let call = json!({"name": "job", "arguments": {"secs": 0.1}});
    let called = tasks.ask("tools/call", call).await["result"].clone();
    assert_eq!(
        (&called["resultType"], &called["content"][0]["text"]),
        (&json!("complete"), &json!("done"))
    );
}

// RC-1: what must not run twice is queued only where it says which act it is.
#[tokio::test(start_paused = true)]
async fn a_key_makes_a_call_fit_for_the_queue() {
    let tasks = TaskServer::new();
    let call = json!({"name": "once", "arguments": {"secs": 20}});
    let called = tasks.ask("tools/call", call.clone()).await["result"].clone();
    assert_eq!(called["resultType"], "complete");
    let mut keyed = call;
    keyed["_meta"]["switchboard/idempotencyKey"] = json!("order-17");
    let first = tasks.ask("tools/call", keyed.clone()).await["result"].clone();
    assert_eq!(first["resultType"], "task");
    let again = tasks.ask("tools/call", keyed.clone()).await["result"].clone();
    assert_eq!((&again["resultType"], &again["taskId"]), (&json!("task"), &first["taskId"]));
    let ended = tasks.ended(&first["taskId"]).await;
    assert_eq!(ended["result"]["content"][0]["text"], "done");
    let begun = tasks.jobs.seen().iter().filter(|seen| **seen == "begun").count();
    assert_eq!(begun, 2, "one without a key, one with it");
}

// GW-2: a task belongs to who asked for it.
#[tokio::test(start_paused = true)]
async fn a_task_is_its_callers_own() {
    let tasks = TaskServer::new();
    let (ada, bob) = (McpCaller::named("ada"), McpCaller::named("bob"));
    let call = json!({"name": "job", "arguments": {"secs": 20}});
    let id = tasks.ask_as(&ada, "tools/call", call).await["result"]["taskId"].clone();
    let params = json!({"taskId": id, "inputResponses": {}});
    let unknown = json!({"taskId": CallId::generate().to_string()});
    let unknown = tasks.ask_as(&bob, "tasks/get", unknown).await;
    assert_eq!(code(&unknown), -32602);
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let theirs = tasks.ask_as(&bob, method, params.clone()).await;
        assert_eq!(theirs["error"], unknown["error"], "{method}");
        let nobodys = tasks.ask_as(&McpCaller::default(), method, params.clone()).await;
        assert_eq!(nobodys["error"], unknown["error"], "{method}");
        let nonsense = json!({"taskId": "tasks-nonexistent", "inputResponses": {}});
        let nonsense = tasks.ask_as(&bob, method, nonsense).await;
        assert_eq!(nonsense["error"], unknown["error"], "{method}");
    }
    assert_eq!(tasks.ask_as(&ada, "tasks/get", params).await["result"]["status"], "working");
    // Who listens hears of their own alone.
    let listen = declaring(json!({"notifications": {"taskIds": [id]}}));
    let mut heard = tasks.test.begin_alone("subscriptions/listen", listen, &bob).await;
    let frame = heard.body_mut().frame().await.unwrap().unwrap().into_data().unwrap();
    let acknowledged = events(str::from_utf8(&frame).unwrap());
    assert_eq!(acknowledged[0].1["params"]["notifications"], json!({}));
}

// EX-4
#[tokio::test(start_paused = true)]
async fn a_task_is_cancelled() {
    let tasks = TaskServer::new();
    let id = tasks.task("job", json!({"secs": 1000})).await;
    let acknowledged = tasks.ask("tasks/cancel", json!({"taskId": id})).await["result"].clone();
    let meta = acknowledged["_meta"].clone();
    assert_eq!(acknowledged, json!({"resultType": "complete", "_meta": meta}));
    tasks.jobs.saw("dropped and told").await;
    let ended = tasks.ended(&id).await;
    assert_eq!((&ended["status"], ended.get("result")), (&json!("cancelled"), None));
    // Once more is as good as once.
    let again = tasks.ask("tasks/cancel", json!({"taskId": id})).await;
    assert_eq!(again["result"]["resultType"], "complete");
}

// EX-4: who hangs up before they know of the task has cancelled it.
#[tokio::test(start_paused = true)]
async fn hanging_up_before_there_is_a_task_is_cancelling() {
    let long = HumanDuration(Duration::from_secs(60));
    let tasks = TaskServer::with(Config { task_after: long, ..Config::default() });
    let call = declaring(json!({"name": "job", "arguments": {"secs": 1000}}));
    let caller = McpCaller::default();
    let response = tasks.test.begin_alone("tools/call", call, &caller).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    tasks.jobs.saw("begun").await;
    drop(response);
    tasks.jobs.saw("dropped and told").await;
}

// GW-1: queued calls ask nothing, so answers are taken and not needed.
#[tokio::test(start_paused = true)]
async fn answers_are_taken() {
    let tasks = TaskServer::new();
    let id = tasks.task("job", json!({"secs": 20})).await;
    let update = json!({"taskId": id, "inputResponses": {"never-asked": {"action": "accept"}}});
    assert_eq!(tasks.ask("tasks/update", update).await["result"]["resultType"], "complete");
    for wrong in [json!({"taskId": id}), json!({"taskId": id, "inputResponses": 5}), json!({})] {
        assert_eq!(code(&tasks.ask("tasks/update", wrong.clone()).await), -32602, "{wrong}");
    }
}

// GW-1: who listens hears how it goes, as `tasks/get` would say it.
#[tokio::test(start_paused = true)]
async fn a_listener_hears_how_it_goes() {
    let tasks = TaskServer::new();
    let id = tasks.task("steps", json!({})).await;
    let listen = declaring(json!({"notifications": {"taskIds": [id, "nonsense"]}}));
    let caller = McpCaller::default();
    let mut stream =
        tasks.test.begin_alone("subscriptions/listen", listen, &caller).await.into_body();
    let mut text = String::new();
    let heard = loop {
        let frame = stream.frame().await.unwrap().unwrap();
        text.push_str(str::from_utf8(&frame.into_data().unwrap()).unwrap());
        let heard: Vec<_> = events(&text).into_iter().map(|(_, message)| message).collect();
        if heard.last().is_some_and(|last| last["params"]["status"] == "completed") {
            break heard;
        }
    };
    assert_eq!(heard[0]["params"]["notifications"], json!({"taskIds": [id]}));
    let told: Vec<_> = heard[1..].iter().map(|message| &message["params"]).collect();
    assert!(heard[1..].iter().all(|message| message["method"] == "notifications/tasks"));
    let messages: Vec<_> = told.iter().map(|params| params["statusMessage"].as_str()).collect();
    assert_eq!(messages, [None, Some("1 of 2: half of it"), None]);
    assert_eq!(told[2]["result"]["content"][0]["text"], "all of it");
    assert_eq!(told[2]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    let got = tasks.get(&id).await;
    assert_eq!((&told[2]["status"], &told[2]["result"]), (&got["status"], &got["result"]));
}

/// A queue that reports for every call what the closure returns.
struct StateFn<F>(F);

impl<F: Fn() -> Result<Option<QueuedCall>, BoxError> + Send + Sync> DurableCalls for StateFn<F> {
    fn look(&self, _: CallId) -> BoxFuture<'_, Result<Option<QueuedCall>, BoxError>> {
        Box::pin(std::future::ready((self.0)()))
    }

    fn cancel(&self, _: CallId) -> BoxFuture<'_, Result<bool, BoxError>> {
        Box::pin(std::future::ready((self.0)().map(|call| call.is_some())))
    }
}

fn call(state: QueueState, attempts: u32) -> QueuedCall {
    let now = SystemTime::now();
    let (id, tool) = (CallId::generate(), "say".into());
    let (progress, result) = (None, None);
    QueuedCall {
        id,
        tool,
        caller: None,
        state,
        attempts,
        queued: now,
        changed: now,
        progress,
        result,
    }
}

fn saying<F>(say: F) -> TestServer
where
    F: Fn() -> Result<Option<QueuedCall>, BoxError> + Send + Sync + 'static,
{
    let services =
        ClusterServices { calls: Some(Arc::new(StateFn(say))), ..ClusterServices::default() };
    let executor = ToolExecutor::default();
    let later = Fake::answers("later", json!(1)).read_only();
    executor.tools().add(Queued::new(later, &Calls::default())).unwrap();
    TestServer::in_cluster(executor, None, Config::default(), services)
}

// GW-1: how a call stands in its queue, in the words of the extension.
#[tokio::test(start_paused = true)]
async fn a_queue_is_told_of_in_words() {
    for (state, attempts, status, message) in [
        (QueueState::Queued, 0, "working", Some("waits for a free worker")),
        (QueueState::Queued, 2, "working", Some("waits for attempt 3")),
        (QueueState::Running, 1, "working", None),
        (QueueState::Cancelled, 1, "cancelled", None),
        (QueueState::Dead, 5, "failed", Some("its result was lost")),
        (QueueState::Done, 1, "failed", Some("its result was lost")),
    ] {
        let test = saying(move || Ok(Some(call(state, attempts))));
        let id = json!({"taskId": CallId::generate().to_string()});
        let task = test.alone("tasks/get", declaring(id)).await.last()["result"].clone();
        assert_eq!((&task["status"], task["statusMessage"].as_str()), (&json!(status), message));
        assert_eq!(task["ttlMs"], Value::Null);
    }
}

// GW-1: one request follows no more tasks than can be asked after.
#[tokio::test(start_paused = true)]
async fn a_listener_follows_so_many() {
    let test = saying(|| Ok(Some(call(QueueState::Cancelled, 1))));
    let ids: Vec<_> = (0..300).map(|_| CallId::generate().to_string()).collect();
    let listen = declaring(json!({"notifications": {"taskIds": ids}}));
    let caller = McpCaller::default();
    let mut stream = test.begin_alone("subscriptions/listen", listen, &caller).await;
    let mut text = String::new();
    while events(&text).is_empty() {
        let frame = stream.body_mut().frame().await.unwrap().unwrap();
        text.push_str(str::from_utf8(&frame.into_data().unwrap()).unwrap());
    }
    let agreed = &events(&text)[0].1["params"]["notifications"]["taskIds"];
    assert_eq!(agreed, &json!(ids[..256]));
}

// GW-1: a queue that cannot be asked is no reason to say that there is no such task.
#[tokio::test(start_paused = true)]
async fn a_queue_that_is_away() {
    let test = saying(|| Err("no route to it".into()));
    let id = json!({"taskId": CallId::generate().to_string(), "inputResponses": {}});
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let refused = test.alone(method, declaring(id.clone())).await.last();
        assert_eq!(code(&refused), -32603, "{method}");
        let text = "the queue cannot be asked: no route to it";
        assert_eq!(refused["error"]["message"], text);
    }
    let listen = json!({"notifications": {"taskIds": [id["taskId"]]}});
    let refused = test.alone("subscriptions/listen", declaring(listen)).await.last();
    assert_eq!(code(&refused), -32603);
    // A task that can never be asked after is not handed out.
    let refused = test.alone("tools/call", declaring(json!({"name": "later"}))).await.last();
    let text = refused["error"]["message"].as_str().unwrap();
    assert!(text.ends_with("was queued, but the queue does not find it"), "{text}");
}

// GW-1: a tool that says that its calls are tasks is not run for who knows none.
#[tokio::test(start_paused = true)]
async fn a_tool_may_insist_on_a_task() {
    let tasks = TaskServer::new();
    let insists = Fake::answers("insists", json!(1)).read_only().with(|spec| {
        spec.settings.durable = true;
        spec.extra.insert("execution".to_owned(), json!({"taskSupport": "required"}));
    });
    tasks.test.executor.tools().add(insists).unwrap();
    let refused = tasks.test.alone("tools/call", json!({"name": "insists"})).await;
    assert_eq!(refused.refusal(), (400, -32021));
    // A session has no way to know of tasks, and runs it as ever.
    let session = tasks.test.session().await;
    let run = tasks.test.ask(&session, "tools/call", json!({"name": "insists"})).await.last();
    assert_eq!(run["result"]["content"][0]["text"], "1");
}
