//! A queue that lasts as long as its process, for tests of what clients see of queued calls. Its calls begin at once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};
use switchboard_runtime::{
    DurableCalls, QueueState, QueuedCall,
    toolcall::{
        BoundedOutput, BoxError, BoxFuture, CallContext, CallId, CancellationToken, Progress,
        ProgressUpdate, Tool, ToolError, ToolOutput, ToolResult, ToolSpec,
    },
};

/// The calls in the queue. Tools add theirs; the gateway asks how they stand.
#[derive(Clone, Default)]
pub(crate) struct Calls(Arc<Mutex<HashMap<CallId, Entry>>>);

/// What a call came to, in a form that can be told again and again.
type Outcome = Result<ToolOutput, Arc<ToolError>>;

struct Entry {
    tool: Arc<str>,
    caller: Option<Arc<str>>,
    state: QueueState,
    queued: SystemTime,
    changed: SystemTime,
    progress: Option<ProgressUpdate>,
    outcome: Option<Outcome>,
    key: Option<Arc<str>>,
    cancel: CancellationToken,
}

impl Calls {
    /// Queues a call of the tool.
    ///
    /// # Errors
    /// The call has no id yet.
    pub(crate) fn enqueue(
        &self,
        tool: &str,
        cx: &CallContext,
        work: impl FnOnce(CallContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>>,
    ) -> Result<CallId, ToolError> {
        let id = cx.call_id.ok_or_else(|| ToolError::failed("the call has no id"))?;
        if let Some(earlier) = self.of_key(cx) {
            return Ok(earlier);
        }
        let cancel = CancellationToken::new();
        let now = SystemTime::now();
        let entry = Entry {
            tool: tool.into(),
            caller: cx.caller.clone(),
            state: QueueState::Running,
            queued: now,
            changed: now,
            progress: None,
            outcome: None,
            key: cx.idempotency_key.clone(),
            cancel: cancel.clone(),
        };
        self.lock().insert(id, entry);
        let calls = self.clone();
        let heard = self.clone();
        let progress = Progress::to(move |update| {
            heard.change(id, |entry| entry.progress = Some(update));
        });
        let work = work(CallContext {
            cancel: cancel.clone(),
            call_id: Some(id),
            caller: cx.caller.clone(),
            progress,
            ..CallContext::default()
        });
        tokio::spawn(async move {
            let outcome = cancel.run_until_cancelled(work).await;
            calls.change(id, |entry| {
                entry.state = outcome.as_ref().map_or(QueueState::Cancelled, |_| QueueState::Done);
                entry.outcome = outcome.map(|outcome| outcome.map_err(Arc::new));
            });
        });
        Ok(id)
    }

    /// The call that the caller's key stands for already.
    fn of_key(&self, cx: &CallContext) -> Option<CallId> {
        let key = cx.idempotency_key.as_ref()?;
        let calls = self.lock();
        let mut same = calls
            .iter()
            .filter(|(_, entry)| entry.key.as_ref() == Some(key) && entry.caller == cx.caller);
        same.next().map(|(id, _)| *id)
    }

    fn change(&self, id: CallId, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.lock().get_mut(&id) {
            change(entry);
            // The clock may not have moved, but something else has.
            entry.changed = SystemTime::now().max(entry.changed + Duration::from_nanos(1));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CallId, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The queue as clients ask after it.
pub(crate) struct MemoryQueue(pub(crate) Calls);

impl DurableCalls for MemoryQueue {
    fn look(&self, id: CallId) -> BoxFuture<'_, Result<Option<QueuedCall>, BoxError>> {
        let found = self.0.lock().get(&id).map(|entry| entry.seen(id));
        Box::pin(std::future::ready(Ok(found)))
    }

    fn cancel(&self, id: CallId) -> BoxFuture<'_, Result<bool, BoxError>> {
        let cancel = {
            let calls = self.0.lock();
            let open = calls.get(&id).filter(|entry| !entry.state.is_over());
            open.map(|entry| entry.cancel.clone())
        };
        let asked = cancel.map(|cancel| cancel.cancel()).is_some();
        Box::pin(std::future::ready(Ok(asked)))
    }

    fn retention(&self) -> Option<Duration> {
        Some(Duration::from_secs(3600))
    }
}

impl Entry {
    fn seen(&self, id: CallId) -> QueuedCall {
        let result = self.outcome.as_ref().map(|outcome| ToolResult {
            call_id: id,
            tool_call_id: String::new(),
            tool_name: self.tool.clone(),
            server: None,
            elapsed: self.changed.duration_since(self.queued).unwrap_or_default(),
            waited: std::time::Duration::ZERO,
            outcome: match outcome {
                Ok(output) => {
                    Ok(BoundedOutput { output: output.clone(), for_programs: None, text: None })
                }
                Err(error) => Err(again(error)),
            },
            truncated: false,
            artifacts: Vec::new(),
            reused: None,
        });
        QueuedCall {
            id,
            tool: self.tool.clone(),
            caller: self.caller.clone(),
            state: self.state,
            attempts: 1,
            queued: self.queued,
            changed: self.changed,
            progress: self.progress.clone(),
            result,
        }
    }
}

/// The same error, its cause included where that is one of the protocol's.
fn again(error: &ToolError) -> ToolError {
    use std::error::Error;
    let told = ToolError::new(error.kind, error.for_model.clone());
    let cause =
        error.source().and_then(|cause| cause.downcast_ref::<switchboard_mcp_wire::RpcError>());
    match cause {
        Some(cause) => told.caused_by(cause.clone()),
        None => told,
    }
}

/// A tool whose calls can be queued; which ones the queue takes, its annotations say.
pub(crate) struct Queued<T> {
    /// What does the work.
    tool: Arc<T>,
    spec: ToolSpec,
    calls: Calls,
}

impl<T: Tool + 'static> Queued<T> {
    /// The tool, its calls for this queue.
    pub(crate) fn new(tool: T, calls: &Calls) -> Self {
        let mut spec = tool.spec().clone();
        spec.settings.durable = true;
        spec.extra.entry("execution").or_insert(json!({"taskSupport": "optional"}));
        Self { tool: Arc::new(tool), spec, calls: calls.clone() }
    }
}

impl<T: Tool + 'static> Tool for Queued<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
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
        args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallId, ToolError>> {
        let tool = self.tool.clone();
        let queued = self
            .calls
            .enqueue(&self.spec.name, cx, |cx| Box::pin(async move { tool.call(args, &cx).await }));
        Box::pin(std::future::ready(queued))
    }
}
