//! Durable calls over REST. The queue here is emptied by the test; the real one is tested where it is.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};
use switchboard_runtime::{DurableCalls, QueueState, QueuedCall, RemoteOutcome, ToolExecutor};
use switchboard_testkit::Fake;
use switchboard_toolcall::{
    BoxError, BoxFuture, CallContext, CallId, ErrorKind, ProgressUpdate, Tool, ToolError,
    ToolOutput, ToolSpec,
};

use crate::{TestGateway, answer};

/// A queue from which nothing is taken unless the test does.
pub(crate) struct ManualQueue {
    executor: ToolExecutor,
    calls: Arc<Mutex<BTreeMap<CallId, QueueEntry>>>,
    is_away: Mutex<bool>,
}

/// A tool whose calls can be queued.
struct Durable {
    tool: Fake,
    calls: Arc<Mutex<BTreeMap<CallId, QueueEntry>>>,
}

impl Tool for Durable {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn call<'a>(
        &'a self,
        args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        self.tool.call(args, cx)
    }

    fn enqueue<'a>(
        &'a self,
        _: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallId, ToolError>> {
        if self.spec().name == "full" {
            let full = ToolError::new(ErrorKind::Overloaded, "too many calls are queued");
            return Box::pin(std::future::ready(Err(full)));
        }
        let id = cx.call_id.expect("the executor gives each call an id");
        let (caller, state) = (cx.caller.clone(), QueueState::Queued);
        let entry = QueueEntry { tool: self.spec().name.as_str().into(), caller, state };
        self.calls.lock().unwrap().insert(id, entry);
        Box::pin(std::future::ready(Ok(id)))
    }
}

#[derive(Clone)]
struct QueueEntry {
    tool: Arc<str>,
    caller: Option<Arc<str>>,
    state: QueueState,
}

impl ManualQueue {
    pub(crate) fn new(executor: ToolExecutor) -> Self {
        let calls = Arc::new(Mutex::default());
        let slow = Fake::answers("slow", json!("done")).with(|spec| {
            spec.annotations.idempotent = Some(true);
            spec.settings.durable = true;
        });
        let once = Fake::answers("once", json!("done")).with(|spec| spec.settings.durable = true);
        let full = Fake::new("full", |_, _| {
            let full = ToolError::new(ErrorKind::Overloaded, "too many calls are waiting");
            std::future::ready(Err(full))
        });
        let full = full.read_only().with(|spec| spec.settings.durable = true);
        for tool in [slow, once, full] {
            executor.tools().add(Durable { tool, calls: Arc::clone(&calls) }).unwrap();
        }
        Self { executor, calls, is_away: Mutex::default() }
    }

    fn set(&self, id: &Value, state: QueueState) {
        let id = CallId::parse(id.as_str().unwrap()).unwrap();
        self.calls.lock().unwrap().get_mut(&id).unwrap().state = state;
    }

    fn asked(&self) -> Result<(), BoxError> {
        match *self.is_away.lock().unwrap() {
            true => Err("nobody is there".into()),
            false => Ok(()),
        }
    }

    async fn lookup(&self, id: CallId) -> Result<Option<QueuedCall>, BoxError> {
        self.asked()?;
        let Some(call) = self.calls.lock().unwrap().get(&id).cloned() else { return Ok(None) };
        let ran = RemoteOutcome {
            id,
            tool: call.tool.clone(),
            server: None,
            caller: call.caller.clone(),
            elapsed: Duration::from_millis(5),
            outcome: match call.state {
                QueueState::Done => Ok(ToolOutput::Value(json!({"answer": 42}))),
                _ => Err(ToolError::new(ErrorKind::Cancelled, "it was cancelled")),
            },
        };
        let result = self.executor.shape(ran).await;
        let progress = ProgressUpdate { progress: 1.0, total: Some(2.0), message: None };
        Ok(Some(QueuedCall {
            id,
            tool: call.tool,
            caller: call.caller,
            state: call.state,
            attempts: u32::from(call.state != QueueState::Queued),
            queued: SystemTime::UNIX_EPOCH,
            changed: SystemTime::UNIX_EPOCH,
            progress: (call.state == QueueState::Running).then_some(progress),
            result: call.state.is_over().then_some(result),
        }))
    }
}

impl DurableCalls for ManualQueue {
    fn look(&self, id: CallId) -> BoxFuture<'_, Result<Option<QueuedCall>, BoxError>> {
        Box::pin(self.lookup(id))
    }

    fn cancel(&self, id: CallId) -> BoxFuture<'_, Result<bool, BoxError>> {
        let cancelled = self.asked().map(|()| {
            let mut calls = self.calls.lock().unwrap();
            let call = calls.get_mut(&id).filter(|call| !call.state.is_over());
            call.map(|call| call.state = QueueState::Cancelled).is_some()
        });
        Box::pin(std::future::ready(cancelled))
    }
}

// GW-1
#[tokio::test]
async fn a_call_is_queued_looked_at_and_ends() {
    let (gateway, queue) = TestGateway::queueing().await;
    let response = gateway.call("slow", &json!({})).query(&[("wait", "0")]).send().await.unwrap();
    let place = response.headers()["location"].to_str().unwrap().to_owned();
    let (status, accepted) = crate::read(response).await;
    assert_eq!((status, &accepted["state"]), (202, &json!("queued")));
    assert_eq!(place, format!("/api/calls/{}", accepted["call_id"].as_str().unwrap()));

    let (status, call) = answer(gateway.get(&place)).await;
    assert_eq!(
        (status, &call["state"], &call["outcome"]),
        (200, &json!("queued"), &json!("running"))
    );
    assert_eq!((&call["tool"], &call["attempts"]), (&json!("slow"), &json!(0)));
    assert!(call.get("result").is_none() && call.get("progress").is_none());

    queue.set(&accepted["call_id"], QueueState::Running);
    let (_, call) = answer(gateway.get(&place)).await;
    assert_eq!(call["progress"], json!({"progress": 1.0, "total": 2.0}));

    queue.set(&accepted["call_id"], QueueState::Done);
    let (_, call) = answer(gateway.get(&place)).await;
    assert_eq!((&call["state"], &call["outcome"]), (&json!("done"), &json!("ok")));
    let envelope = &call["result"];
    assert_eq!((&envelope["success"], &envelope["result"]), (&json!(true), &json!({"answer": 42})));
    assert_eq!(envelope["call_id"], accepted["call_id"]);
    assert_eq!(answer(gateway.client.delete(gateway.url(&place))).await.0, 409);
}

#[tokio::test]
async fn what_is_overloaded_says_when_to_try_again() {
    let (gateway, _queue) = TestGateway::queueing().await;
    for wait in ["0", "1"] {
        let response = gateway.call("full", &json!({})).query(&[("wait", wait)]).send().await;
        let response = response.unwrap();
        assert_eq!(response.headers()["retry-after"], "1");
        let (status, envelope) = crate::read(response).await;
        assert_eq!((status, &envelope["error_kind"]), (503, &json!("overloaded")));
    }
}

#[tokio::test]
async fn what_cannot_be_queued_is_refused_with_the_way_out() {
    let (gateway, _shelf) = TestGateway::queueing().await;
    let alone = TestGateway::start().await;
    let cases = [
        (&gateway, "echo", 422, "Tool 'echo' cannot be queued: only tools of workers can"),
        (&gateway, "once", 422, "Tool 'once' cannot be queued as it is: it might run twice"),
        (&gateway, "nobody", 404, "Tool 'nobody' not found"),
        (&alone, "echo", 422, "Tool 'echo' cannot be queued: there is no cluster to queue it in"),
        (&alone, "nobody", 404, "Tool 'nobody' not found"),
    ];
    for (gateway, tool, expected, text) in cases {
        let request = gateway.call(tool, &json!({})).query(&[("wait", "0")]);
        let (status, envelope) = answer(request).await;
        assert_eq!(status, expected, "{envelope}");
        assert!(envelope["error"].as_str().unwrap().starts_with(text), "{envelope}");
        assert!(envelope["call_id"].is_string(), "it is written down: {envelope}");
    }
    let keyed = gateway.call("once", &json!({})).query(&[("wait", "0")]);
    assert_eq!(answer(keyed.header("Idempotency-Key", "k")).await.0, 202);
    for wait in ["2", "no", ""] {
        let request = gateway.call("slow", &json!({})).query(&[("wait", wait)]);
        assert_eq!(answer(request).await.0, 400, "{wait:?}");
    }
    let waiting = gateway.call("slow", &json!({})).query(&[("wait", "1")]);
    assert_eq!(answer(waiting).await.0, 200);
}

// GW-2
#[tokio::test]
async fn a_queued_call_is_its_callers_alone() {
    let (gateway, queue) = TestGateway::queueing().await;
    let (ada, bob) = (gateway.token("ada", &["slow"]), gateway.token("bob", &["slow"]));
    let blind = gateway.token("blind", &["echo"]);
    let submit = gateway.call("slow", &json!({})).query(&[("wait", "0")]);
    let (_, accepted) = answer(submit.bearer_auth(&ada)).await;
    let place = format!("/api/calls/{}", accepted["call_id"].as_str().unwrap());
    assert_eq!(answer(gateway.get(&place).bearer_auth(&ada)).await.1["caller"], "ada");
    assert_eq!(answer(gateway.get(&place)).await.0, 200, "the machine's owner sees all");
    for other in [&bob, &blind] {
        assert_eq!(answer(gateway.get(&place).bearer_auth(other)).await.0, 404);
        let cancel = gateway.client.delete(gateway.url(&place));
        assert_eq!(answer(cancel.bearer_auth(other)).await.0, 404);
    }
    let hidden = gateway.call("slow", &json!({})).query(&[("wait", "0")]);
    assert_eq!(answer(hidden.bearer_auth(&blind)).await.0, 404);
    let cancel = gateway.client.delete(gateway.url(&place));
    let (status, cancelled) = answer(cancel.bearer_auth(&ada)).await;
    assert_eq!((status, &cancelled["state"]), (200, &json!("cancelled")));
    for unknown in ["nonsense", "01ARZ3NDEKTSV4RRFFQ69G5FAV"] {
        let cancel = gateway.client.delete(gateway.url(&format!("/api/calls/{unknown}")));
        assert_eq!(answer(cancel).await.0, 404);
    }

    // A queue that is away is said to be, and keeps nobody from other calls.
    let (_, ordinary) = answer(gateway.call("echo", &json!({}))).await;
    *queue.is_away.lock().unwrap() = true;
    let ordinary = format!("/api/calls/{}", ordinary["call_id"].as_str().unwrap());
    assert_eq!(answer(gateway.get(&ordinary)).await.0, 200);
    assert_eq!(answer(gateway.client.delete(gateway.url(&place))).await.0, 503);
    assert_eq!(answer(gateway.get("/api/calls/01ARZ3NDEKTSV4RRFFQ69G5FAV")).await.0, 503);
}
