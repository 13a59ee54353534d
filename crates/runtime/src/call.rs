//! The steps of a tool call, on one screen.

use std::sync::Arc;

use arc_swap::ArcSwap;
use serde_json::{Map, Value};
use switchboard_toolcall::{CallContext, CallId, ToolCall, ToolError, ToolOutput, ToolResult};

use crate::{
    approval::Approver,
    artifacts::ArtifactStore,
    builder::ExecutorBuilder,
    config::Config,
    dispatch::{self, Slots},
    durable, normalise,
    policy::{self, Policy},
    record::{CallHistory, CallRecord, CallSinks, ModelTurn, Tracer},
    reuse::Flights,
    tools::{RegisteredTool, ToolManager},
    validate,
};

/// Runs tool calls. Cheap to clone; must be used within a tokio runtime.
#[derive(Clone)]
pub struct ToolExecutor {
    pub(crate) tools: Arc<ToolManager>,
    pub(crate) policy: Arc<dyn Policy>,
    pub(crate) approver: Arc<dyn Approver>,
    pub(crate) sinks: Arc<CallSinks>,
    pub(crate) artifacts: Arc<dyn ArtifactStore>,
    pub(crate) slots: Slots,
    pub(crate) flights: Arc<Flights>,
    pub(crate) config: Arc<ArcSwap<Config>>,
}

impl ToolExecutor {
    /// Runs one call and returns its result. Never fails, never panics, leaves one record.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call; its record says so.
    pub async fn execute(&self, call: ToolCall, cx: &CallContext) -> ToolResult {
        let (mut record, args) = self.open(call, cx).await; // written down before we act
        let name = record.name().clone();
        let outcome = dispatch::caught(&name, self.run(&mut record, args, cx)).await;
        self.end(record, outcome, cx).await
    }

    /// Every early return is here, so that `execute` always normalises and records.
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
        policy::check_tool(&*self.policy, &tool, cx)?;
        Ok(tool)
    }

    /// Returns the arguments that the tool gets, if the call may run.
    async fn admit(
        &self,
        tool: &Arc<RegisteredTool>,
        args: Map<String, Value>,
        record: &mut CallRecord,
        cx: &CallContext,
    ) -> Result<Value, ToolError> {
        let args = validate::args(tool, args, cx, record).await?;
        policy::check(&*self.policy, &*self.approver, tool, &args, cx, record).await?;
        record.permits(tool, cx)?;
        record.checked();
        Ok(args)
    }

    /// Queues one call instead of running it, after the same steps. Returns the id to ask for the result: the id of an
    /// earlier call if the idempotency key was used for the same call before.
    ///
    /// # Errors
    /// The result of a call that could not be queued.
    pub async fn submit(
        &self,
        call: ToolCall,
        cx: &CallContext,
    ) -> Result<CallId, Box<ToolResult>> {
        let (mut record, args) = self.open(call, cx).await;
        let name = record.name().clone();
        let outcome = dispatch::caught(&name, self.enqueue(&mut record, args, cx)).await;
        let id = outcome.as_ref().ok().copied();
        let result = self.end(record, outcome.map(durable::accepted), cx).await;
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
        cx: &CallContext,
    ) -> ToolResult {
        record.ended();
        let result = normalise::shape(&record, outcome, &*self.artifacts).await;
        cx.before_close.notify(&result).await;
        record.close(&result).await; // closes itself as cancelled where the caller walks away before this
        result
    }

    async fn open(&self, mut call: ToolCall, cx: &CallContext) -> (CallRecord, Map<String, Value>) {
        self.tools.fix(&call.name, &mut call.args, &cx.visibility);
        CallRecord::open(&self.sinks, &self.tools, self.config.load_full(), call, cx).await
    }

    /// Ends a call that cannot be tried, normalised and recorded like any other.
    pub async fn refuse(&self, call: ToolCall, error: ToolError, cx: &CallContext) -> ToolResult {
        let (record, _) = self.open(call, cx).await;
        self.end(record, Err(error), cx).await
    }

    /// Does something that is no call of a tool and is recorded like one, such as a person's decision about tools.
    pub async fn record_action(
        &self,
        action: ToolCall,
        cx: &CallContext,
        act: impl Future<Output = Result<ToolOutput, ToolError>>,
    ) -> ToolResult {
        let (mut record, _) = self.open(action, cx).await;
        let outcome = match record.opened() {
            Ok(()) => act.await,
            Err(error) => Err(error),
        };
        self.end(record, outcome, cx).await
    }

    /// Runs the tool `name` with `args`, without a caller.
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

    /// Returns the tools that can be called.
    pub fn tools(&self) -> &Arc<ToolManager> {
        &self.tools
    }

    /// Returns how many calls wait for a slot now (EX-8).
    pub fn waiting(&self) -> usize {
        self.slots.waiting()
    }

    /// Returns the recorded calls.
    pub fn history(&self) -> &Arc<dyn CallHistory> {
        &self.sinks.history
    }

    /// Returns what creates trace contexts. Without it, tools get the caller's.
    pub fn tracer(&self) -> Option<&Arc<dyn Tracer>> {
        self.sinks.tracer.as_ref()
    }

    /// Tells the observers of calls of a turn between them.
    pub fn turn_ended(&self, turn: &ModelTurn<'_>) {
        self.sinks.observe(|observer| observer.turn_ended(turn));
    }

    /// Returns the store for whole results and binaries.
    pub fn artifacts(&self) -> &Arc<dyn ArtifactStore> {
        &self.artifacts
    }

    /// Returns the settings.
    pub fn config(&self) -> Arc<Config> {
        self.config.load_full()
    }

    /// Uses other settings for calls from now on. The limits of running and waiting calls, `strict` and the separator
    /// stay as built.
    pub fn reconfigure(&self, config: Config) {
        self.config.store(Arc::new(config));
    }

    /// Returns a builder, to change the defaults.
    pub fn builder() -> ExecutorBuilder {
        ExecutorBuilder::default()
    }
}

impl Default for ToolExecutor {
    fn default() -> Self {
        Self::builder().build()
    }
}
