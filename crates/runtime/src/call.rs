//! The life of a tool call, on one screen.

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use serde_json::{Map, Value};
use switchboard_toolcall::{CallContext, CallId, ToolCall, ToolError, ToolOutput, ToolResult};

use crate::{
    approval::{Approver, Nobody},
    artifacts::{ArtifactStore, MemoryArtifacts, Source},
    config::Config,
    dispatch::{self, Slots},
    durable, normalise,
    policy::{self, Policy, RulePolicy},
    record::{
        CallHistory, CallObserver, CallRecord, CallSinks, IdempotencyStore, Recorder, Tracer,
    },
    reuse::Flights,
    tools::{RegisteredTool, ToolManager, Wrap},
    validate,
};

/// Runs every tool call there is. Cheap to clone; must be used within a tokio runtime.
#[derive(Clone)]
pub struct ToolExecutor {
    tools: Arc<ToolManager>,
    policy: Arc<dyn Policy>,
    approver: Arc<dyn Approver>,
    sinks: Arc<CallSinks>,
    artifacts: Arc<dyn ArtifactStore>,
    slots: Slots,
    flights: Arc<Flights>,
    config: Arc<ArcSwap<Config>>,
}

impl ToolExecutor {
    /// Runs one call and tells what came of it. Never fails, never panics, leaves one record.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call; its record then says so.
    pub async fn execute(&self, call: ToolCall, cx: &CallContext) -> ToolResult {
        let (mut record, args) = self.open(call, cx).await; // written down before we act
        let name = record.name().clone();
        let outcome = dispatch::caught(&name, self.run(&mut record, args, cx)).await;
        self.end(record, outcome).await
    }

    /// Every early return is here, so that `execute` always shapes and records.
    async fn run(
        &self,
        record: &mut CallRecord,
        args: Map<String, Value>,
        cx: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let tool = self.find(record, cx).await?;
        let args = self.admit(&tool, args, record, cx).await?;
        let plan = self.flights.plan(&tool, &args, cx, record).await?;
        plan.finish(dispatch::run(tool, args, cx, record, &self.slots)).await
    }

    async fn find(
        &self,
        record: &mut CallRecord,
        cx: &CallContext,
    ) -> Result<Arc<RegisteredTool>, ToolError> {
        record.opened()?;
        let tool = self.tools.find_for(record, cx).await?;
        record.found(&tool);
        policy::check_tool(&*self.policy, &tool)?;
        Ok(tool)
    }

    /// Returns the arguments that the tool gets, if nothing speaks against the call.
    async fn admit(
        &self,
        tool: &Arc<RegisteredTool>,
        args: Map<String, Value>,
        record: &mut CallRecord,
        cx: &CallContext,
    ) -> Result<Value, ToolError> {
        let args = validate::args(tool, tool.prepare(args), cx, record).await?;
        policy::check(&*self.policy, &*self.approver, tool, &args, cx, record).await?;
        record.permits(tool, cx)?;
        record.checked();
        Ok(args)
    }

    /// Queues one call instead of running it, by the same steps. Returns the id to ask after: an earlier call's if the
    /// idempotency key was used for the same before.
    ///
    /// # Errors
    /// What became of a call that was not queued.
    pub async fn submit(
        &self,
        call: ToolCall,
        cx: &CallContext,
    ) -> Result<CallId, Box<ToolResult>> {
        let (mut record, args) = self.open(call, cx).await;
        let name = record.name().clone();
        let outcome = dispatch::caught(&name, self.enqueue(&mut record, args, cx)).await;
        let id = outcome.as_ref().ok().copied();
        let result = self.end(record, outcome.map(durable::accepted)).await;
        id.ok_or_else(|| Box::new(result))
    }

    async fn enqueue(
        &self,
        record: &mut CallRecord,
        args: Map<String, Value>,
        cx: &CallContext,
    ) -> Result<CallId, ToolError> {
        let tool = self.find(record, cx).await?;
        durable::takes(tool.spec(), cx.idempotency_key.is_some())?;
        let args = self.admit(&tool, args, record, cx).await?;
        dispatch::enqueue(tool, args, cx, record, &self.slots).await
    }

    async fn end(
        &self,
        mut record: CallRecord,
        outcome: Result<ToolOutput, ToolError>,
    ) -> ToolResult {
        record.ended();
        let result = normalise::shape(&record, outcome, &*self.artifacts).await;
        record.close(&result).await; // closes itself as cancelled where the caller walks away before this
        result
    }

    async fn open(&self, mut call: ToolCall, cx: &CallContext) -> (CallRecord, Map<String, Value>) {
        self.tools.fix(&call.name, &mut call.args);
        CallRecord::open(&self.sinks, &self.tools, self.config.load_full(), call, cx).await
    }

    /// Ends a call that cannot even be tried, shaped and recorded like any other.
    pub async fn refuse(&self, call: ToolCall, error: ToolError, cx: &CallContext) -> ToolResult {
        let (record, _) = self.open(call, cx).await;
        self.end(record, Err(error)).await
    }

    /// Shapes what came of a call that was queued here and ran elsewhere: bounded as any other result. It is written
    /// down where it ran, and here when it was queued.
    pub async fn shape(&self, ran: RanElsewhere) -> ToolResult {
        let RanElsewhere { id, tool, server, caller, elapsed, outcome } = ran;
        let spec = self.tools.lookup(&tool).ok();
        let own = spec.and_then(|tool| tool.spec().settings.max_output);
        let most = self.config.load().max_output.0;
        let limit = own.unwrap_or(usize::try_from(most).unwrap_or(usize::MAX));
        let source = Source { tool: tool.clone(), caller };
        let about = normalise::About {
            call_id: id,
            tool_call_id: String::new(),
            tool_name: tool,
            server,
            elapsed,
            waited: Duration::ZERO,
            reused: None,
            source,
        };
        normalise::bound(about, outcome, limit, &*self.artifacts).await
    }

    /// Runs the tool `name` with `args` for nobody in particular.
    pub async fn call(&self, name: &str, args: Value) -> ToolResult {
        let cx = CallContext::default();
        match args {
            Value::Object(args) => self.execute(ToolCall::new(name, args), &cx).await,
            other => {
                let got = validate::type_name(&other);
                let error = ToolError::invalid(format_args!("arguments must be object, got {got}"));
                self.refuse(ToolCall::new(name, Map::new()), error, &cx).await
            }
        }
    }

    /// The tools that can be called.
    pub fn tools(&self) -> &Arc<ToolManager> {
        &self.tools
    }

    /// How many calls wait for a slot now (EX-8).
    pub fn waiting(&self) -> usize {
        self.slots.waiting()
    }

    /// The latest calls.
    pub fn history(&self) -> &Arc<dyn CallHistory> {
        &self.sinks.history
    }

    /// Who gives work its context in a trace; without one, tools get the caller's own.
    pub fn tracer(&self) -> Option<&Arc<dyn Tracer>> {
        self.sinks.tracer.as_ref()
    }

    /// Where whole results and binaries are kept.
    pub fn artifacts(&self) -> &Arc<dyn ArtifactStore> {
        &self.artifacts
    }

    /// How calls are run.
    pub fn config(&self) -> Arc<Config> {
        self.config.load_full()
    }

    /// Uses other settings for calls that come from now on. How many may run and wait, `strict` and the separator stay
    /// as they were built.
    pub fn reconfigure(&self, config: Config) {
        self.config.store(Arc::new(config));
    }

    /// Starts an executor that differs from the default.
    pub fn builder() -> ExecutorBuilder {
        ExecutorBuilder::default()
    }
}

impl Default for ToolExecutor {
    fn default() -> Self {
        Self::builder().build()
    }
}

/// What came of a call that ran elsewhere.
#[derive(Debug)]
pub struct RanElsewhere {
    /// The id under which it was queued.
    pub id: CallId,
    /// The tool's full name.
    pub tool: Arc<str>,
    /// The server, or group of workers, that the tool belongs to.
    pub server: Option<Arc<str>>,
    /// Who asked for it.
    pub caller: Option<Arc<str>>,
    /// How long it took.
    pub elapsed: Duration,
    /// The answer, whole, or what went wrong.
    pub outcome: Result<ToolOutput, ToolError>,
}

/// Puts an executor together; what is left out is the default.
#[derive(Default)]
pub struct ExecutorBuilder {
    config: Config,
    policy: Option<Arc<dyn Policy>>,
    approver: Option<Arc<dyn Approver>>,
    recorder: Option<Arc<dyn Recorder>>,
    history: Option<Arc<dyn CallHistory>>,
    idempotency: Option<Arc<dyn IdempotencyStore>>,
    observers: Vec<Arc<dyn CallObserver>>,
    tracer: Option<Arc<dyn Tracer>>,
    artifacts: Option<Arc<dyn ArtifactStore>>,
    wrap: Option<Wrap>,
}

impl ExecutorBuilder {
    /// Uses these settings.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Asks this policy before each call.
    #[must_use]
    pub fn policy(mut self, policy: impl Policy + 'static) -> Self {
        self.policy = Some(Arc::new(policy));
        self
    }

    /// Asks there about calls that the policy leaves to a person.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Records calls there. Without [`history`](Self::history) they are not read back.
    #[must_use]
    pub fn recorder(mut self, recorder: Arc<dyn Recorder>) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Records calls, reads them back and remembers idempotency keys there.
    #[must_use]
    pub fn store<S>(self, store: Arc<S>) -> Self
    where
        S: Recorder + CallHistory + IdempotencyStore + 'static,
    {
        self.recorder(store.clone()).history(store.clone()).idempotency(store)
    }

    /// Reads recorded calls there.
    #[must_use]
    pub fn history(mut self, history: Arc<dyn CallHistory>) -> Self {
        self.history = Some(history);
        self
    }

    /// Remembers idempotency keys there too, beyond this process.
    #[must_use]
    pub fn idempotency(mut self, store: Arc<dyn IdempotencyStore>) -> Self {
        self.idempotency = Some(store);
        self
    }

    /// Tells `observer` of calls too.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn CallObserver>) -> Self {
        self.observers.push(observer);
        self
    }

    /// Asks there for the context of calls in a trace.
    #[must_use]
    pub fn tracer(mut self, tracer: Arc<dyn Tracer>) -> Self {
        self.tracer = Some(tracer);
        self
    }

    /// Keeps whole results and binaries there.
    #[must_use]
    pub fn artifacts(mut self, artifacts: Arc<dyn ArtifactStore>) -> Self {
        self.artifacts = Some(artifacts);
        self
    }

    /// Calls what `wrap` makes of each tool instead of the tool.
    #[must_use]
    pub fn wrap_tools(mut self, wrap: Wrap) -> Self {
        self.wrap = Some(wrap);
        self
    }

    /// The executor, without tools yet.
    pub fn build(self) -> ToolExecutor {
        let config = self.config;
        let policy = self.policy.unwrap_or_else(|| Arc::new(RulePolicy::default()));
        ToolExecutor {
            tools: Arc::new(ToolManager::new(&config).wrapped(self.wrap).under(policy.clone())),
            policy,
            approver: self.approver.unwrap_or_else(|| Arc::new(Nobody::default())),
            sinks: Arc::new(CallSinks {
                idempotency: self.idempotency,
                observers: self.observers,
                tracer: self.tracer,
                ..CallSinks::new(self.recorder, self.history)
            }),
            artifacts: self.artifacts.unwrap_or_else(|| Arc::new(MemoryArtifacts::default())),
            slots: Slots::new(config.max_concurrent, config.max_queue),
            flights: Arc::default(),
            config: Arc::new(ArcSwap::from_pointee(config)),
        }
    }
}
